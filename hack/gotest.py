#!/usr/bin/env python3
"""Reads `go test -json`, prints what `go test` prints plus the number of tests,
and adds "passed failed" to the file named first. --all prints every line of every test."""

import json
import sys

tally, show_all = sys.argv[1], "--all" in sys.argv[2:]
passed = failed = 0
in_package = {}  # package -> tests passed
output = {}  # (package, test) -> lines, kept until the test's fate is known

for line in sys.stdin:
    try:
        e = json.loads(line)
    except json.JSONDecodeError:
        e = None
    if not isinstance(e, dict) or "Action" not in e:
        print(line, end="")
        continue
    key = (e.get("Package", e.get("ImportPath")), e.get("Test"))
    match e["Action"]:
        case "output" | "build-output":
            if show_all or e["Action"] == "build-output":
                print(e["Output"], end="", flush=True)
            else:
                output.setdefault(key, []).append(e["Output"])
        case "pass" | "skip" | "fail" as action if key[1]:
            lines = output.pop(key, [])
            passed += action == "pass"
            failed += action == "fail"
            in_package[key[0]] = in_package.get(key[0], 0) + (action == "pass")
            if action == "fail":
                print("".join(lines), end="", flush=True)
        case "pass" | "skip" | "fail" as action:
            lines = output.pop(key, [])
            failed += action == "fail" and not failed  # a package may fail without a test
            last = lines[-1].rstrip() if lines else ""
            if action == "fail" and not show_all:
                print("".join(lines), end="")
            elif action == "pass":
                print(f"{last}\t{in_package.get(key[0], 0)} tests", flush=True)

with open(tally, "a") as f:
    print(passed, failed, file=f)
sys.exit(failed > 0)
