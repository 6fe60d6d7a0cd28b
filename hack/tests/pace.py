#!/usr/bin/env python3
"""Prints how slow the machine is: the time of a fixed work by that of the machine that budget.toml was written on, 1 at least.
Others that use the CPUs make it slow, too."""

import time

USUAL = 0.11  # seconds


def work():
    began = time.monotonic()
    total = 0
    for i in range(4_000_000):
        total ^= i
    return time.monotonic() - began


def pace():
    return max(1, min(work() for _ in range(3)) / USUAL)


if __name__ == "__main__":
    print(f"{pace():.2f}")
