#!/usr/bin/env python3
"""Resets the guest of hack/sriov when its boot hangs: watchdog.py FOLDER-OF-ITS-STATE

One boot in some twenty, the idle emulated processor misses its timer, and the kernel waits for it, for seconds or for ever.
Then the console says nothing more, and there is no login prompt. Ends with QEMU.
"""

import json
import os
import socket
import sys
import time

PATIENCE = 25  # seconds; a boot on a busy machine is silent for up to 10


def is_booting(console):
    """Whether the kernel that started last has not come to its login prompt."""
    start = console.rfind(b"Linux version")
    return start >= 0 and b"login:" not in console[start:]


def reset(path):
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.settimeout(PATIENCE)
        monitor.connect(path)
        answers = monitor.makefile()
        answers.readline()  # the greeting
        for command in "qmp_capabilities", "system_reset":
            monitor.sendall(json.dumps({"execute": command}).encode())
            while not {"return", "error"} & json.loads(answers.readline()).keys():
                pass  # an event


def main(state):
    with open(f"{state}/qemu.pid") as f:
        qemu = f"/proc/{int(f.read())}"
    size, since = 0, time.monotonic()
    while os.path.exists(qemu):
        time.sleep(1)
        try:
            with open(f"{state}/console.log", "rb") as f:
                console = f.read()
        except FileNotFoundError:  # not yet, or no more
            continue
        if len(console) != size or not is_booting(console):
            size, since = len(console), time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            print(f"the console is silent for {PATIENCE} s in the midst of a boot: the guest is reset", flush=True)
            reset(f"{state}/qmp.sock")
            since = time.monotonic()


main(sys.argv[1])
