#!/usr/bin/env python3
"""Usage: demotest.py TALLY

Runs the README's first command. Each check of its summary counts as a test. If some failed, the demo is run once more: see
fates.py. Exits with 1 without a failed check in the tally if the demo itself ended badly."""

import re
import subprocess
import sys
from functools import cache

from fates import Failure, Fate, repeat, write

CHECK = re.compile(r"^  (ok|FAIL) +(.*?)(?:  \(.*\))?$", re.MULTILINE)


def run():
    """Returns the exit code, the result of each check ("ok" or "FAIL") by its name, and all that was printed."""
    printed = []
    command = ["make", "--no-print-directory", "demo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as p:
        for line in p.stdout:
            print(line, end="", flush=True)
            printed.append(line)
    text = "".join(printed)
    summary = text.partition("── Summary")[2]
    return p.returncode, {name: result for result, name in CHECK.findall(summary)}, text


@cache
def run_again():
    return run()


def main(tally):
    code, checks, text = run()
    failures = [Failure(f"demo: {name}", text) for name, result in checks.items() if result == "FAIL"]

    def passes_alone(name):
        _, checks, text = run_again()
        return checks.get(name.removeprefix("demo: ")) == "ok", text

    again = repeat(failures, passes_alone)
    write(tally, [Fate("pass", f"demo: {name}") for name, result in checks.items() if result == "ok"] + again)
    return not checks or (code != 0 and not again) or any(fate.fate == "fail" for fate in again)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
