#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The libraries are as README.md says: each sees the headers of those that it uses, and no others.

layout.py <folder of the engine> <build directory>
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

engine, build = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
modules = engine.parent / "module"


def rooms(library):
    """What modules have of a library of the engine: `module` is their state, a part of `operation` their operations."""
    return sorted({name for p in modules.glob("*/engine/*.c") if (name := library_of(p)).startswith(f"{library}/")})


def table():
    """The libraries in the README's order, and what each uses. Those of modules use what the row of their library says, and a
    module's operations its own state."""
    rows = re.findall(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)*) *\| ", (engine / "README.md").read_text(), re.M)
    uses = {}
    for name, used in rows:
        used = [library for library in re.findall(r"\w+", used) if library != "module"]
        if name != "module":
            uses[name] = used
        for room in rooms(name):
            own = room.replace("operation/", "module/")
            uses[room] = used + [own for own in {own} & uses.keys()]
    return uses


def below(name, uses):
    """A library and all that it uses."""
    return {name}.union(*(below(used, uses) for used in uses[name]))


def commands():
    """Of each library how one of its files is compiled: the compiler and its options."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        library = library_of(path)
        if f"libsinter-{library.replace('/', '-')}.a.p" not in entry["output"]:
            continue
        args, kept = iter(shlex.split(entry["command"])), []
        for arg in args:
            if arg in ("-o", "-c", "-MF", "-MQ"):
                next(args)
            elif arg != "-MD":
                kept.append(arg)
        found[library] = kept
    return found


def sources():
    """Of the engine and of modules, but tests."""
    folders = [p for p in engine.iterdir() if not p.name.startswith("build")] + sorted(modules.glob("*/engine"))
    return sorted(p for folder in folders for p in folder.rglob("*.[ch]") if "test" not in p.relative_to(engine.parent).parts)


def library_of(path):
    """The library, or other folder of the engine, that a source file is of: folders below are the same library's."""
    if path.is_relative_to(modules):
        return f"{'operation' if path.name.startswith('sn_op_') else 'module'}/{path.relative_to(modules).parts[0]}"
    return path.relative_to(build if path.is_relative_to(build) else engine).parts[0]


def headers_of(library):
    return sorted(p.name for p in sources() if p.suffix == ".h" and library_of(p) == library)


def calls():
    """Of each source file of a library those that define what it names."""
    names, wants, defines = {}, {}, {}
    for path in build.glob("*/libsinter-*.a.p/*.o"):
        name = f"{path.parent.parent.name}/{path.name.removesuffix('.o')}"
        out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        wants[name] = set(re.findall(r" U (\w+)$", out, re.M))
        defines.update(dict.fromkeys(re.findall(r" [TDBR] (\w+)$", out, re.M), name))
    for name, symbols in wants.items():
        names[name] = {defines[s] for s in symbols if s in defines} - {name}
    return names


class Layout(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.uses = table()
        cls.commands = commands()
        cls.headers = {name: headers_of(name) for name in cls.uses}
        cls.headers["schema"] = sorted(f"{p.stem}.pb-c.h" for p in (engine / "../program").glob("*.proto"))
        cls.headers.update({f"schema_{p.stem}": [f"{p.stem}.pb-c.h"] for p in (engine / "../control").glob("*.proto")})

    def run_compiler(self, library, text, *options):
        return subprocess.run([*self.commands[library], *options, "-x", "c", "-"], input=text, cwd=build, text=True,
                              capture_output=True, check=False)

    def test_the_readme_has_every_library_and_only_those_above_it_use_it(self):
        self.assertEqual(set(self.uses), set(self.commands))
        seen = []
        for name, uses in self.uses.items():
            self.assertLessEqual(set(uses), set(seen), f"{name} uses a library that is not above it in the table")
            seen.append(name)

    def test_a_library_sees_the_headers_of_those_that_it_uses_and_no_others(self):
        text = "".join(f'#if __has_include("{h}")\nfound {name} {h};\n#endif\n'
                       for name, headers in self.headers.items() for h in headers)
        for library in self.uses:
            out = self.run_compiler(library, text, "-E")
            self.assertEqual(out.returncode, 0, out.stderr)
            expected = {(name, h) for name in below(library, self.uses) for h in self.headers[name]}
            self.assertEqual(set(re.findall(r"^found (\S+) (\S+);$", out.stdout, re.M)), expected, library)

    def test_what_modules_keep_every_operation_and_every_suite_is_compiled(self):
        entries = json.loads((build / "compile_commands.json").read_text())
        compiled = {(pathlib.Path(e["directory"]) / e["file"]).resolve() for e in entries}
        wanted = [p for p in sources() if p.suffix == ".c" and library_of(p).split("/")[0] in ("module", "operation")]
        suites = [p for folder in (engine, modules) for p in folder.rglob("test/test_*.c") if build not in p.parents]
        self.assertGreater(len(suites), 60)
        left = [str(p) for p in wanted + suites if p not in compiled]
        self.assertEqual(left, [], f"run `meson setup --reconfigure {build} {engine}`")

    def test_a_wrong_include_does_not_compile(self):
        for library in self.uses:
            used = below(library, self.uses)
            right = self.run_compiler(library, f'#include "{self.headers[sorted(used)[0]][0]}"\n', "-fsyntax-only")
            self.assertEqual(right.returncode, 0, right.stderr)
            if above := sorted(name for name in set(self.uses) - used if self.headers[name]):
                header = self.headers[above[0]][0]
                wrong = self.run_compiler(library, f'#include "{header}"\n', "-fsyntax-only")
                self.assertNotEqual(wrong.returncode, 0, f"{library} includes {header} of {above[0]}")
                self.assertRegex(wrong.stderr, f"{header}.*(No such file|file not found)")

    def test_files_call_one_way(self):
        left = calls()
        self.assertGreater(len(left), 50)
        while True:
            circle = {name: used & left.keys() for name, used in left.items()}
            circle = {name: used for name, used in circle.items() if used and any(name in u for u in circle.values())}
            if circle == left:
                break
            left = circle
        self.assertEqual(left, {}, "these call in a circle")

    def test_no_module_has_a_name_in_what_is_below_modules(self):
        words = {p.stem.split("_")[1] for p in modules.glob("*/engine/sn_*.h")} | {p.parent.name for p in modules.glob("*/engine")}
        self.assertLessEqual({"balancer", "inspect", "meter", "monitor", "napt", "track"}, words)
        words.remove("stop")  # stops are the engine's, as outputs are; their module keeps state about them
        named = re.compile(r"\bsn_(?:" + "|".join(words) + r")_?\w*", re.I)
        for path in sources():
            if library_of(path) in self.uses and "/" not in library_of(path) and library_of(path) != "tools":
                self.assertEqual(named.findall(path.read_text()), [], path)

    def test_only_its_own_library_sees_what_a_worker_is_built_from(self):
        seen = {library_of(p) for p in sources() if '#include "sn_worker_private.h"' in p.read_text()}
        self.assertEqual(seen, {"worker"})

    def test_no_library_includes_a_header_by_its_folder(self):
        for path in sources():
            if library_of(path) in self.uses:
                self.assertEqual(re.findall(r'#include ".*/.*"', path.read_text()), [], path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
