#!/usr/bin/env python3
"""Usage: run.py [--check] [WORD…]

Puts the defects of list.toml into a copy of the checkout, one at a time, all or those whose name has one of the words, and runs the
tests that each names. They must pass without it, and fail with it. Ends with "N killed, N survived"; 1 if one survived, or if tests
fail without it.

With --check nothing is run: each defect must still find its place in the code, and what it names must be there."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import tomllib

ROOT = pathlib.Path(__file__).parents[2]
ENGINE = "dataplane/engine"
SLOW = "40m"  # tests that go on for longer have failed


def text(*command, cwd=ROOT):
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def ran(log, cwd, *command):
    """Whether a command passes; what it prints goes into the log."""
    log.write(f"$ {' '.join(command)}\n".encode())
    log.flush()
    return subprocess.run(command, cwd=cwd, stdout=log, stderr=subprocess.STDOUT, check=False).returncode == 0


def mutated(mutant, root):
    """The file of a mutant with the defect."""
    code = (root / mutant["file"]).read_text()
    if (places := code.count(mutant["find"])) != 1:
        raise SystemExit(f"{mutant['name']}: {mutant['file']} has {places} places like {mutant['find']!r}, want one")
    return code.replace(mutant["find"], mutant["replace"])


def check(mutants):
    for mutant in mutants:
        mutated(mutant, ROOT)
        for package in mutant.get("packages", []):
            if not any((ROOT / package.removesuffix("/...")).glob("**/*.go" if package.endswith("...") else "*.go")):
                raise SystemExit(f"{mutant['name']}: there is no package {package}")
        for suite in mutant.get("suites", []):
            if not any((ROOT / "dataplane").rglob(f"test/test_{suite}.c")):
                raise SystemExit(f"{mutant['name']}: there is no suite {suite}")
        if not mutant.get("packages") and not mutant.get("suites"):
            raise SystemExit(f"{mutant['name']}: no test is named")


class Checkout:
    """A copy of what is tracked, as it is now, in which code is changed."""

    def __init__(self, root, log):
        self.root, self.log = root, log
        for name in text("git", "ls-files", "-co", "--exclude-standard", "-z").split("\0"):
            if name and (ROOT / name).exists():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes((ROOT / name).read_bytes())
                (root / name).chmod((ROOT / name).stat().st_mode)

    def builds(self):
        return ran(self.log, self.root, "make", "--no-print-directory", "build")

    def suite(self, name):
        return ran(self.log, self.root, "meson", "test", "-C", f"{ENGINE}/build", "--no-rebuild", "--print-errorlogs", name)

    def package(self, name, tests):
        return ran(self.log, self.root, "go", "test", "-vet=off", "-short", "-count=1", "-failfast", "-timeout", SLOW, "-run", tests, name)


def tests_of(mutant, checkout):
    """The tests of a mutant, those of the engine first, which take seconds."""
    for suite in mutant.get("suites", []):
        yield f"suite {suite}", lambda suite=suite: checkout.suite(suite)
    tests = mutant.get("run", ".")
    for package in mutant.get("packages", []):
        yield f"{package} {tests}".removesuffix(" ."), lambda package=package: checkout.package(package, tests)


def killer(mutant, checkout):
    """The test that finds a defect; None: there is none."""
    path = checkout.root / mutant["file"]
    whole = path.read_text()
    path.write_text(mutated(mutant, checkout.root))
    try:
        if not checkout.builds():
            raise SystemExit(f"{mutant['name']}: it does not build, see {checkout.log.name}")
        return next((name for name, passes in tests_of(mutant, checkout) if not passes()), None)
    finally:
        path.write_text(whole)


def run(mutants, checkout):
    passed = set()  # without a mutant
    survived = 0
    for mutant in mutants:
        began = time.monotonic()
        found = killer(mutant, checkout)
        if found and found not in passed:
            if not checkout.builds() or not dict(tests_of(mutant, checkout))[found]():
                raise SystemExit(f"{found} fails without any mutant, see {checkout.log.name}")
            passed.add(found)
        survived += found is None
        how = f"killed by {found}" if found else "SURVIVED"
        print(f"{how}, {time.monotonic() - began:.0f} s: {mutant['name']}", flush=True)
    print(f"{len(mutants) - survived} killed, {survived} survived")
    return survived > 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    mutants = tomllib.loads((ROOT / "hack/mutants/list.toml").read_text())["mutant"]
    mutants = [m for m in mutants if not args.words or any(word in m["name"] for word in args.words)]
    check(mutants)
    if args.check:
        return 0
    os.environ["KUBEBUILDER_ASSETS"] = text("hack/envtest.sh").strip()
    os.environ["PATH"] = f"{ROOT}/bin:{ROOT}/.deps/go/bin:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as root, open(ROOT / "bin" / "mutants.log", "wb") as log:
        return run(mutants, Checkout(pathlib.Path(root), log))


if __name__ == "__main__":
    sys.exit(main())
