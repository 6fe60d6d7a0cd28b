"""How long tests may take, on a machine of a pace (see pace.py), and how much memory a stage may use: a file of limits, see
budget.toml."""

import tomllib
from typing import NamedTuple

FAILS_AT = 2  # times the limit


class Slow(NamedTuple):
    kind: str  # package or test
    name: str
    seconds: float
    limit: float

    @property
    def fails(self):
        """How long something takes is partly the machine's doing, alone and by its pace, too. What takes twice its limit does not by
        chance; what takes a little longer is only shown, as nobody's change is refused by a second."""
        return self.seconds > FAILS_AT * self.limit

    def __str__(self):
        return f"{'FAIL ' if self.fails else 'slow:'} {self.kind} {self.name} took {self.seconds:.0f} s, may take {self.limit:.0f}: make it faster, or list it in hack/tests/budget.toml with a reason"


class Budget:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.limits = tomllib.load(f)

    def limit(self, kind, name):
        """The seconds that a package or test may take, by the longest name in the list that its own ends with."""
        listed = self.limits.get(kind, {})
        ends = [end for end in listed if name == end or name.endswith("/" + end)]
        return listed[max(ends, key=len)]["seconds"] if ends else self.limits[f"{kind}_seconds"]

    def exceeded(self, fates):
        """What took longer, packages before their tests. What ran again alone (see alone.py) counts as it ran then."""
        pace = max((float(f.name) for f in fates if f.fate == "pace"), default=1)
        alone = {f.name: float(f.seconds) for f in fates if f.fate == "alone"}
        slow = {}
        for kind, fate in (("package", "package"), ("test", "pass")):
            for f in fates:
                if f.fate != fate or not f.seconds:
                    continue
                seconds, limit = float(f.seconds), self.limit(kind, f.name) * pace
                if seconds > limit and f.name in alone:
                    seconds, limit = alone[f.name], self.limit(kind, f.name)
                if seconds > limit:
                    slow[f.name] = Slow(kind, f.name, seconds, limit)
        return list(slow.values())

    def too_large(self, fates):
        """Lines about stages that used more memory (see memory.py) than one may."""
        limit = self.limits["stage_mebibytes"]
        return [
            f"FAIL  stage {f.name} used {f.why} MiB of memory, may use {limit}: let less of it run at one time"
            for f in fates
            if f.fate == "memory" and f.name != "all" and int(f.why) > limit
        ]
