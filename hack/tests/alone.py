#!/usr/bin/env python3
"""Usage: alone.py BUDGET FLAGS TALLY…

Runs what took longer than its budget (see budget.toml) once more, alone, and prints a line for the tally with the seconds that it
took then: beside others, or on a machine that others use too, a test takes longer by chance. FLAGS are those of `go test`, one
word; what the tests print goes to standard error."""

import os
import re
import shlex
import subprocess
import sys
import tempfile

from budget import Budget
from fates import Fate, read
from gotest import pattern
from pace import pace

HERE = os.path.dirname(__file__)
GO_TEST = re.compile(r"(?P<package>.+?)\.(?P<test>(?:Test|Example|Fuzz).*)")


def command(kind, name, flags):
    """The program and its arguments, without the tally, that run a package, a Go test or a suite of the engine."""
    golang = ["gotest.py", "-vet=off", "-count=1", *flags]
    if kind == "package":
        return [*golang, "--", name]
    if test := GO_TEST.fullmatch(name):
        return [*golang, "-run", pattern(test["test"]), "--", test["package"]]
    return ["mesontest.py", *name.split(" ")]


def run(kind, name, flags):
    """What became of the tests that ran, and how slow the machine was meanwhile."""
    program, *args = command(kind, name, flags)
    with tempfile.NamedTemporaryFile() as tally:
        before = pace()
        subprocess.run([os.path.join(HERE, program), tally.name, *args], stdout=sys.stderr, check=False)
        return list(read([tally.name])), max(before, pace())


def main(budget, flags, *tallies):
    known = set()
    for slow in Budget(budget).exceeded(list(read(tallies))):
        if slow.name in known:
            continue
        print(f"beyond its budget, again, alone: {slow.name}", file=sys.stderr, flush=True)
        fates, slowness = run(slow.kind, slow.name, shlex.split(flags))
        for f in fates:
            if f.fate in ("pass", "package") and f.seconds:
                known.add(f.name)
                print(*Fate("alone", f.name, seconds=f"{float(f.seconds) / slowness:.2f}"), sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
