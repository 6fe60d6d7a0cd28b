#!/usr/bin/env python3
"""Usage: gotest.py TALLY [--all] [FLAG…] -- PACKAGE…

Runs `go test` with flags on packages. Prints what it prints, plus the number of tests and why each skipped one was skipped;
--all prints every line of every test. A test that failed is run once more, alone: see fates.py. Adds a line for every test to
the tally. Exits with 1 without a failed test in the tally if `go test` itself ended badly."""

import json
import re
import subprocess
import sys

from fates import Failure, Fate, repeat, write

PLACE = re.compile(r"^\s+\S+\.go:\d+: ", re.MULTILINE)  # before what a test logs


def reason(lines):
    """What a skipped test said last, without the place in the code."""
    said = [l.strip() for l in lines if l.strip() and not l.lstrip().startswith(("===", "---"))]
    return said[-1].split(": ", 1)[-1] if said else "no reason given"


class Run:
    """One run of `go test`."""

    def __init__(self, show, show_all=False):
        self.show = show  # prints text
        self.show_all = show_all
        self.fates = {}  # (package, test) -> pass, skip, fail, or "" while it runs
        self.packages = {}  # the same of packages
        self.seconds = {}  # of the same; test None: of the package
        self.output = {}  # (package, test) -> lines; test None: of the package, or of the build

    def go(self, *args):
        with subprocess.Popen(["go", "test", "-json", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as p:
            for line in p.stdout:
                self.line(line)
        self.code = p.returncode
        return self

    def line(self, line):
        try:
            e = json.loads(line)
        except json.JSONDecodeError:
            e = None
        if not isinstance(e, dict) or "Action" not in e:
            self.show(line)
            return
        package, test = key = (e.get("Package", e.get("ImportPath")), e.get("Test"))
        if "Elapsed" in e:
            self.seconds[key] = str(e["Elapsed"])
        match e["Action"]:
            case "output" | "build-output":
                self.output.setdefault(key, []).append(e["Output"])
                if self.show_all or e["Action"] == "build-output":
                    self.show(e["Output"])
            case "start":
                self.packages[package] = ""
            case "run":
                self.fates[key] = ""
            case "pass" | "skip" | "fail" as fate if test:
                self.fates[key] = fate
                if fate == "fail" and not self.show_all:
                    self.show("".join(self.said(*key)))
                if fate == "skip" and not self.show_all:
                    self.show(f"skip  {package}.{test}: {reason(self.said(*key))}\n")
            case "pass" | "skip" | "fail" as fate:
                self.packages[package] = fate
                self.show_package(package, fate)

    def show_package(self, package, fate):
        lines = self.said(package, None)
        fates = [f for (p, _), f in self.fates.items() if p == package]
        if fate == "fail" and not self.show_all:
            self.show("".join(l for (p, t), lines in self.output.items() if p == package and not (t and self.fates.get((p, t))) for l in lines))
        elif fate == "pass":
            last = lines[-1].rstrip() if lines else ""
            skipped = f", {fates.count('skip')} skipped" if "skip" in fates else ""
            self.show(f"{last}\t{fates.count('pass')} tests{skipped}\n")

    def said(self, package, test):
        return self.output.get((package, test), [])

    def failures(self):
        """What is to be run again, or failed for good. A test fails with its subtests; it is run again itself if it logged
        something, which may say that it failed by itself, too. A test without an end, or a package that fails without a failed
        test, was ended by something else than a check."""
        failed = [key for key, fate in self.fates.items() if fate == "fail"]
        found = {}
        for package, test in failed:
            if not self.within(failed, package, test) or PLACE.search("".join(self.said(package, test))):
                found[package, test] = Failure(f"{package}.{test}", "".join(self.said(package, test) + self.said(package, None)))
        for package, test in list(found):  # a test contains its subtests
            for inner in self.within(list(found), package, test):
                found.pop(inner, None)
        for (package, test), fate in self.fates.items():
            if not fate and not self.within([k for k, f in self.fates.items() if not f], package, test):
                found[package, test] = Failure(f"{package}.{test}", "", final=True)
        for package, fate in self.packages.items():
            if (fate == "fail" or not fate) and not any(p == package for p, _ in found):
                found[package, None] = Failure(package, "", final=True)
        return found

    @staticmethod
    def within(keys, package, test):
        """Subtests of a test."""
        return [k for k in keys if k[0] == package and k[1] and k[1].startswith(test + "/")]


def pattern(test):
    """Of a test alone, for -run."""
    return "/".join(f"^{re.escape(part)}$" for part in test.split("/"))


def main(tally, *args):
    show_all, args = "--all" in args, [a for a in args if a != "--all"]
    flags, packages = args[: args.index("--")], args[args.index("--") + 1 :]
    first = Run(lambda text: print(text, end="", flush=True), show_all).go(*flags, *packages)
    found = first.failures()
    keys = {failure.name: key for key, failure in found.items()}

    def passes_alone(name):
        package, test = keys[name]
        said = []
        again = Run(said.append, show_all=True).go(*flags, "-count=1", "-run", pattern(test), package)
        # What contains the test may fail as it counts on its other parts.
        broken = any(failure.final for failure in again.failures().values())
        return not broken and again.fates.get((package, test)) == "pass", "".join(said)

    fates = [
        Fate(fate, f"{package}.{test}", reason(first.said(package, test)) if fate == "skip" else "", first.seconds.get((package, test), ""))
        for (package, test), fate in first.fates.items()
        if fate in ("pass", "skip")
    ]
    fates += [Fate("package", package, seconds=first.seconds[package, None]) for package in first.packages if (package, None) in first.seconds]
    again = repeat(list(found.values()), passes_alone)
    write(tally, fates + again)
    return first.code not in (0, 1) or (first.code == 1 and not again) or any(fate.fate == "fail" for fate in again)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
