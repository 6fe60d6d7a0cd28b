#!/usr/bin/env python3
"""hardened.py ENGINE: whether the engine was built with what makes a defect harder to use against its host: code at a random place, addresses of
functions that nobody can change, no code on the stack, and checks of the stack and of buffers whose size is known."""

import re
import subprocess
import sys


def readelf(*args):
    return subprocess.run(["readelf", "--wide", *args, sys.argv[1]], check=True, capture_output=True, text=True).stdout


def functions(elf):
    code = subprocess.run(["objdump", "--disassemble", "--no-show-raw-insn", "--section=.text", sys.argv[1]], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^[0-9a-f]+ <(sn_[a-z0-9_]+)>:\n\s*[0-9a-f]+:\t(\S+)", code, re.MULTILINE)


elf = readelf("--file-header", "--program-headers", "--dynamic")
imported = readelf("--dyn-syms")
begin = functions(elf)
wrong = [what for what, ok in {
    "it is no PIE": re.search(r"Type:\s+DYN", elf),
    "it has no GNU_RELRO": "GNU_RELRO" in elf,
    "it binds symbols when they are first called, not at start (BIND_NOW)": re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW", elf),
    "its stack is executable": re.search(r"GNU_STACK.* RW +0x", elf),
    "no function checks its stack (__stack_chk_fail)": "__stack_chk_fail" in imported,
    "no buffer is checked (_FORTIFY_SOURCE)": re.search(r"__(mem|str|v?s?n?printf|fprintf)\w*_chk", imported),
    "no function begins with endbr64 (-fcf-protection)": any(first == "endbr64" for _, first in begin),
}.items() if not ok]
for what in wrong:
    print(f"{sys.argv[1]}: {what}", file=sys.stderr)
sys.exit(bool(wrong))
