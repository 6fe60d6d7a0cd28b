#!/usr/bin/env python3
"""Reads `go test -json`, prints what `go test` prints plus the number of tests and why each skipped one was skipped, and
adds a line for every test to the file named first: "pass", "fail" or "skip", its name and, if it was skipped, the reason, by
tabs. --all prints every line of every test."""

import json
import sys

tally, show_all = sys.argv[1], "--all" in sys.argv[2:]
fates = []  # (fate, name, reason)
in_package = {}  # package -> tests by fate
output = {}  # (package, test) -> lines, kept until the test's fate is known


def reason(lines):
    """What a skipped test said last, without the place in the code."""
    said = [l.strip() for l in lines if l.strip() and not l.lstrip().startswith(("===", "---"))]
    return said[-1].split(": ", 1)[-1] if said else "no reason given"


def print_now(*text):
    print("".join(text), end="", flush=True)


for line in sys.stdin:
    try:
        e = json.loads(line)
    except json.JSONDecodeError:
        e = None
    if not isinstance(e, dict) or "Action" not in e:
        print(line, end="")
        continue
    package, test = key = (e.get("Package", e.get("ImportPath")), e.get("Test"))
    match e["Action"]:
        case "output" | "build-output":
            output.setdefault(key, []).append(e["Output"])
            if show_all or e["Action"] == "build-output":
                print_now(e["Output"])
        case "pass" | "skip" | "fail" as fate if test:
            lines = output.pop(key, [])
            fates.append((fate, f"{package}.{test}", reason(lines) if fate == "skip" else ""))
            counts = in_package.setdefault(package, {"pass": 0, "skip": 0, "fail": 0})
            counts[fate] += 1
            if fate == "fail" and not show_all:
                print_now(*lines)
            if fate == "skip" and not show_all:
                print_now(f"skip  {package}.{test}: {fates[-1][2]}\n")
        case "pass" | "skip" | "fail" as fate:
            lines = output.pop(key, [])
            counts = in_package.get(package, {"pass": 0, "skip": 0, "fail": 0})
            if fate == "fail" and not counts["fail"]:  # a package may fail without a test
                fates.append(("fail", package, ""))
            if fate == "fail" and not show_all:
                print_now(*lines)
            elif fate == "pass":
                last = lines[-1].rstrip() if lines else ""
                skipped = f", {counts['skip']} skipped" if counts["skip"] else ""
                print_now(f"{last}\t{counts['pass']} tests{skipped}\n")

with open(tally, "a") as f:
    for fate in fates:
        print(*fate, sep="\t", file=f)
sys.exit(any(fate == "fail" for fate, _, _ in fates))
