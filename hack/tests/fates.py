"""What became of tests. A fate is a line of a tally file: "pass", "fail", "skip" or "flaky", the test's name, why (the reason
for a skipped test, the first output, as JSON, for a flaky one), and the seconds that it took, if they are known; separated by
tabs. "package" and "stage" instead say how long all tests of one took together, "memory" how many MiB a stage used at most, in the
place of the reason (see memory.py), "pace" how slow the machine was (see pace.py), "alone" how long one took that was run again for
that (see alone.py)."""

import json
import re
from typing import NamedTuple

# A failure of another kind than a check that did not hold. It shows a defect even if it does not happen again.
NEVER_FLAKY = re.compile(
    r"WARNING: DATA RACE"
    r"|WARNING: ThreadSanitizer"
    r"|ERROR: (?:Address|Leak)Sanitizer"
    r"|: runtime error: "  # UBSan; also Go's panics of this kind
    r"|^(?:panic: |fatal error: |SIG[A-Z]+: )"  # Go
    r"|failed with exception:",  # cmocka, for a signal
    re.MULTILINE,
)

# Chance does not fail many tests of one stage. The time for more runs is not spent.
MOST_REPEATED = 6


class Fate(NamedTuple):
    fate: str
    name: str
    why: str = ""
    seconds: str = ""


class Failure(NamedTuple):
    name: str
    output: str
    final: bool = False  # it does not get a second run


def read(tallies):
    """All fates in tally files."""
    for tally in tallies:
        with open(tally) as lines:
            for line in lines:
                yield Fate(*(line.rstrip("\n").split("\t") + ["", "", ""])[:4])


def write(tally, fates):
    """Adds fates to a tally file."""
    with open(tally, "a") as f:
        for fate in fates:
            print(*fate, sep="\t", file=f)


def repeat(failures, passes_alone):
    """Runs failed tests once more, alone. passes_alone(name) does it, and returns whether the test passed and what it printed.
    Returns a fate for each failure: flaky if it passed then and both outputs show a failed check at most, else fail."""
    fates = []
    too_many = len(failures) > MOST_REPEATED
    if too_many:
        print(f"{len(failures)} tests failed, more than {MOST_REPEATED}: none is run again", flush=True)
    for failure in failures:
        if too_many or failure.final or NEVER_FLAKY.search(failure.output):
            fates.append(Fate("fail", failure.name))
            continue
        print(f"again, alone: {failure.name}", flush=True)
        passed, output = passes_alone(failure.name)
        if passed and not NEVER_FLAKY.search(output):
            print(f"flaky {failure.name}: failed, then passed alone", flush=True)
            fates.append(Fate("flaky", failure.name, json.dumps(failure.output)))
        else:
            print(output, end="", flush=True)
            fates.append(Fate("fail", failure.name))
    return fates
