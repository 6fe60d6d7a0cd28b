#!/usr/bin/env python3
"""Prints how slow the machine is: the time of a fixed work by that of the machine that budget.toml was written on, 1 at least.
Others that use the CPUs make it slow, too: all of them work at once, as tests do."""

import multiprocessing
import os
import time

USUAL = 0.11  # seconds


def work(_):
    began = time.monotonic()
    total = 0
    for i in range(4_000_000):
        total ^= i
    return time.monotonic() - began


def pace():
    cpus = os.cpu_count()
    with multiprocessing.Pool(cpus) as pool:
        return max(1, min(sum(pool.map(work, range(cpus))) / cpus for _ in range(3)) / USUAL)


if __name__ == "__main__":
    print(f"{pace():.2f}")
