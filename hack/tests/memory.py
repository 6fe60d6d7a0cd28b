#!/usr/bin/env python3
"""Usage: memory.py FOLDER

Watches how much memory the stages of hack/test.sh use, until it is ended. Then writes memory.tally into the folder: a line for each
stage, and one for all at one time. The environment says which stage a process belongs to: SINTER_STAGE is the stage's tally, in the
same folder. Counted is what a process has for itself: memory without a file behind it, shared memory, and huge pages."""

import os
import re
import signal
import sys
import time

from fates import Fate, write

PAUSE = 0.5  # seconds between two looks
COUNTED = re.compile(rb"^(?:RssAnon|RssShmem|HugetlbPages):\s+(\d+) kB", re.MULTILINE)


def read(pid, name):
    """A file of a process, empty if that has ended."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as f:
            return f.read()
    except OSError:
        return b""


def used(stage):
    """The MiB of each stage now. stage finds a stage's name in an environment."""
    stages = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if found := stage.search(read(pid, "environ")):
            name, kib = found[1].decode(), sum(map(int, COUNTED.findall(read(pid, "status"))))
            stages[name] = stages.get(name, 0) + kib / 1024
    return stages


def main(folder):
    stage = re.compile(rb"(?:^|\0)SINTER_STAGE=" + re.escape(os.fsencode(folder)) + rb"/([^/\0]+)\.tally\0")
    most = {}
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    while not ended:
        now = used(stage)
        for name, mib in (*now.items(), ("all", sum(now.values()))):
            most[name] = max(most.get(name, 0), mib)
        time.sleep(PAUSE)
    write(os.path.join(folder, "memory.tally"), [Fate("memory", name, f"{mib:.0f}") for name, mib in most.items()])


if __name__ == "__main__":
    main(*sys.argv[1:])
