#!/usr/bin/env python3
"""Sums up a file of "pass|fail|skip <tab> name <tab> reason" lines: what was skipped and why, by reason, then "N passed, N failed,
N skipped". A test that one stage skips and another runs is not skipped. Fails if something failed, or nothing passed."""

import sys

passed = failed = 0
ran, skipped = set(), {}
with open(sys.argv[1]) as lines:
    for line in lines:
        fate, name, reason = (line.rstrip("\n").split("\t") + ["", ""])[:3]
        passed += fate == "pass"
        failed += fate == "fail"
        if fate == "skip":
            skipped[name] = reason
        else:
            ran.add(name)

by_reason = {}
for name, reason in skipped.items():
    if name not in ran:
        by_reason.setdefault(reason, []).append(name)
for reason, names in by_reason.items():
    print(f"skipped: {reason}")
    for name in names:
        print(f"  {name}")
print(f"{passed} passed, {failed} failed, {sum(map(len, by_reason.values()))} skipped")
sys.exit(failed > 0 or passed == 0)
