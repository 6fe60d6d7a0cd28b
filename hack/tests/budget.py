"""How long tests may take: a file of limits (see budget.toml), on a machine of a pace (see pace.py)."""

import tomllib


class Budget:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.limits = tomllib.load(f)

    def limit(self, kind, name):
        """The seconds that a package or test may take, by the longest name in the list that its own ends with."""
        listed = self.limits.get(kind, {})
        ends = [end for end in listed if name == end or name.endswith("/" + end)]
        return listed[max(ends, key=len)]["seconds"] if ends else self.limits[f"{kind}_seconds"]

    def exceeded(self, packages, tests, pace):
        """A line for each that took longer. Both are lists of seconds and names."""
        lines = []
        for kind, all_of in (("package", packages), ("test", tests)):
            for seconds, name in all_of:
                if seconds > (limit := self.limit(kind, name) * pace):
                    lines.append(f"{kind} {name} took {seconds:.0f} s, may take {limit:.0f}: make it faster, or list it in hack/tests/budget.toml with a reason")
        return lines
