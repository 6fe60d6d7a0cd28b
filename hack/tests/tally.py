#!/usr/bin/env python3
"""Usage: tally.py [--budget FILE] TALLY…

Sums up what became of tests (see fates.py): what took longest; how much memory was used; what was skipped and why, by reason; what
was flaky, with its first output; then "flaky: N" and "N passed, N failed, N skipped". A flaky test counts as passed, but more than
two of a run have failed. A test that one stage skips and another runs is not skipped. With a budget, what took longer
than it allows is shown, and what took twice as long, or used more memory, has failed, too. Fails if something failed, or nothing passed."""

import argparse
import json
import sys

from budget import Budget
from fates import read

MOST_FLAKY = 2
FIRST_LINES, LAST_LINES = 20, 60  # of an output that is long
SLOWEST = 10  # tests that are named


def shortened(lines):
    if len(lines) <= FIRST_LINES + LAST_LINES:
        return lines
    left_out = len(lines) - FIRST_LINES - LAST_LINES
    return lines[:FIRST_LINES] + [f"… {left_out} lines …"] + lines[-LAST_LINES:]


def took(fates, *kinds):
    """What is of a kind and how long it took, the longest first."""
    return sorted(((float(f.seconds), f.name) for f in fates if f.fate in kinds and f.seconds), reverse=True)


def show_times(fates):
    if stages := took(fates, "stage"):
        print("seconds of stages:", ", ".join(f"{name} {seconds:.0f}" for seconds, name in stages))
    tests = took(fates, "pass")[:SLOWEST]
    if tests and tests[0][0] >= 1:
        print("slowest tests:")
        for seconds, name in tests:
            print(f"  {seconds:5.1f} s  {name}")


def show_memory(fates):
    if used := sorted((f.name != "all", -int(f.why), f.name) for f in fates if f.fate == "memory"):
        print("MiB of memory that stages used at most:", ", ".join(f"{name} {-mib}" for _, mib, name in used))


def main(budget, tallies):
    fates = list(read(tallies))
    show_times(fates)
    show_memory(fates)
    ran = {f.name for f in fates if f.fate in ("pass", "fail", "flaky")}
    passed, failed = (sum(f.fate == kind for f in fates) for kind in ("pass", "fail"))
    flaky = [f for f in fates if f.fate == "flaky"]

    by_reason = {}
    for name, reason in {f.name: f.why for f in fates if f.fate == "skip" and f.name not in ran}.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        print(f"skipped: {reason}")
        for name in names:
            print(f"  {name}")
    for f in flaky:
        print(f"flaky: {f.name} failed, then passed alone. What it printed first:")
        for line in shortened(json.loads(f.why).splitlines()):
            print(f"    {line}")

    if budget:
        limits = Budget(budget)
        slow, large = limits.exceeded(fates), limits.too_large(fates)
        for line in slow + large:
            print(line)
        failed += sum(s.fails for s in slow) + len(large)
    if len(flaky) > MOST_FLAKY:
        print(f"flaky: {len(flaky)}, more than {MOST_FLAKY}: they count as failed")
        failed += len(flaky)
    else:
        print(f"flaky: {len(flaky)}")
        passed += len(flaky)
    print(f"{passed} passed, {failed} failed, {sum(map(len, by_reason.values()))} skipped")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--budget")
    parser.add_argument("tallies", nargs="+")
    args = parser.parse_args()
    sys.exit(main(args.budget, args.tallies))
