#!/usr/bin/env python3
"""Counts what a path loses: numbered UDP datagrams there and back.

stream.py echo PORT                  sends back what comes
stream.py send HOST PORT RATE SECONDS   prints "sent N, back N, lost N, twice N"
"""

import socket
import sys
import threading
import time


def echo(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    s.bind(("", port))
    while True:
        data, peer = s.recvfrom(2048)
        s.sendto(data, peer)


def send(host, port, rate, seconds):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    s.connect((host, port))
    s.settimeout(2)
    seen, twice, done = set(), [], threading.Event()

    def receive():
        while True:
            try:
                n = int.from_bytes(s.recv(2048)[:8], "big")
            except TimeoutError:
                if done.is_set():
                    return
                continue
            twice.append(n) if n in seen else seen.add(n)

    receiver = threading.Thread(target=receive)
    receiver.start()
    total, began = int(rate * seconds), time.monotonic()
    for n in range(total):
        wait = began + n / rate - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        s.send(n.to_bytes(8, "big") + bytes(56))
    done.set()
    receiver.join()
    print(f"sent {total}, back {len(seen)}, lost {total - len(seen)}, twice {len(twice)}")
    sys.exit(len(seen) != total or len(twice) > 0)


if sys.argv[1] == "echo":
    echo(int(sys.argv[2]))
else:
    send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
