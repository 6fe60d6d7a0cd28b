#!/usr/bin/env python3
"""Usage: mesontest.py TALLY BUILD [SUITE…]

Runs the engine's suites in a build directory, all or those named. A suite that failed is run once more, alone: see fates.py. Adds
a line for every suite to the tally, and one for each test that a suite skipped itself. Exits with 1 without a failed suite in the
tally if meson itself ended badly."""

import json
import os
import re
import subprocess
import sys

from fates import Failure, Fate, repeat, write

SKIPPED = re.compile(r"^\[  SKIPPED \] ([a-z_0-9]+)$", re.MULTILINE)


def run(build, *args):
    """Runs suites (all without args). Returns meson's exit code and what its log says of each suite, by name."""
    log = os.path.join(build, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.remove(log)
    code = subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs", *args], check=False).returncode
    if not os.path.exists(log):
        return code, {}
    with open(log) as lines:
        return code, {test["name"]: test for test in map(json.loads, lines)}


def said(test):
    return (test.get("stdout") or "") + (test.get("stderr") or "")


def passed(test):
    return test.get("result") in ("OK", "EXPECTEDFAIL")


def main(tally, build, *names_of_suites):
    code, suites = run(build, *names_of_suites)
    fates, failures, names = [], [], {}
    for name, suite in suites.items():
        full = f"{build} {name}"
        names[full] = name
        if passed(suite):
            fates.append(Fate("pass", full, seconds=str(suite.get("duration", ""))))
        elif suite["result"] == "SKIP":
            fates.append(Fate("skip", full, "meson: see its log"))
        else:
            failures.append(Failure(full, said(suite), final=suite.get("returncode", 0) < 0 and suite["result"] != "TIMEOUT"))
        fates += [Fate("skip", f"{build} {test}", "the engine's test skips itself: see its code") for test in SKIPPED.findall(said(suite))]

    def passes_alone(full):
        _, again = run(build, names[full])
        suite = again.get(names[full], {})
        return passed(suite), said(suite)

    again = repeat(failures, passes_alone)
    write(tally, fates + again)
    return not suites or (code != 0 and not again) or any(fate.fate == "fail" for fate in again)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
