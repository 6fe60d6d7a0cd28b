#!/usr/bin/env python3
"""Usage: tally.py TALLY

Sums up what became of tests (see fates.py): what was skipped and why, by reason; what was flaky, with its first output; then
"flaky: N" and "N passed, N failed, N skipped". A flaky test counts as passed, but more than two of a run have failed. A test
that one stage skips and another runs is not skipped. Fails if something failed, or nothing passed."""

import json
import sys

MOST_FLAKY = 2
FIRST_LINES, LAST_LINES = 20, 60  # of an output that is long


def shortened(lines):
    if len(lines) <= FIRST_LINES + LAST_LINES:
        return lines
    left_out = len(lines) - FIRST_LINES - LAST_LINES
    return lines[:FIRST_LINES] + [f"… {left_out} lines …"] + lines[-LAST_LINES:]


def main(tally):
    with open(tally) as lines:
        fates = [(line.rstrip("\n").split("\t") + ["", ""])[:3] for line in lines]
    ran = {name for fate, name, _ in fates if fate != "skip"}
    passed, failed = (sum(fate == one for fate, _, _ in fates) for one in ("pass", "fail"))
    flaky = [(name, why) for fate, name, why in fates if fate == "flaky"]

    by_reason = {}
    for name, reason in {name: why for fate, name, why in fates if fate == "skip" and name not in ran}.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        print(f"skipped: {reason}")
        for name in names:
            print(f"  {name}")
    for name, output in flaky:
        print(f"flaky: {name} failed, then passed alone. What it printed first:")
        for line in shortened(json.loads(output).splitlines()):
            print(f"    {line}")

    if len(flaky) > MOST_FLAKY:
        print(f"flaky: {len(flaky)}, more than {MOST_FLAKY}: they count as failed")
        failed += len(flaky)
    else:
        print(f"flaky: {len(flaky)}")
        passed += len(flaky)
    print(f"{passed} passed, {failed} failed, {sum(map(len, by_reason.values()))} skipped")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
