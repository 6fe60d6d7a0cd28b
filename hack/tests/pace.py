#!/usr/bin/env python3
"""Prints how slow the machine is: the time of a fixed work by that of the machine that budget.toml was written on, 1 at least.
Others that use the CPUs make it slow, too: all of them work at once, as tests do. A virtual machine may compute as fast as ever while
its host has no memory for it: so one work computes, the other takes memory, and the slower counts."""

import mmap
import multiprocessing
import os
import time


def compute(_):
    began = time.monotonic()
    total = 0
    for i in range(4_000_000):
        total ^= i
    return time.monotonic() - began


def take(_):
    began = time.monotonic()
    with mmap.mmap(-1, 128 << 20) as memory:
        for page in range(0, len(memory), mmap.PAGESIZE):
            memory[page] = 1
    return time.monotonic() - began


USUAL = {compute: 0.11, take: 0.1}  # seconds


def pace():
    cpus = os.cpu_count()
    with multiprocessing.Pool(cpus) as pool:
        return max(1, *(min(sum(pool.map(work, range(cpus))) / cpus for _ in range(3)) / usual for work, usual in USUAL.items()))


if __name__ == "__main__":
    print(f"{pace():.2f}")
