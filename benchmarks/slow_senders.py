"""Senders that hold connections: how long a new sender waits behind 1,000 slow ones, and what 500 unfinished bodies
take in memory.

`python -m benchmarks.slow_senders URL PID` measures the program PID that captures at URL, and prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import selectors
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

from benchmarks.load import post

SLOW, SLOW_PAUSE_S = 1_000, 2.0
"""Half of them send a byte of a head, half a byte of a body, after each pause; who is cut off comes again then."""
NEW_EVERY_S, PATIENCE_S = 0.02, 5.0
BODIES, BODY_SIZE = 500, 1_000_000
SETTLE_S = 3.0
_RSS = re.compile(r"VmRSS:\s+(\d+) kB")


@dataclass(frozen=True)
class Waiting:
    """What new senders met while slow ones held their connections."""

    senders: int
    refused: int
    """Answered other than 200, cut off, or not answered at all."""
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Memory:
    """Resident MiB above what the program took before: while all bodies lacked their last byte, and afterwards."""

    held_mib: float
    after_mib: float
    captured: int


def behind_slow_senders(url: str, seconds: float) -> Waiting:
    """Send one request after the other, each on a connection of its own, while slow senders hold theirs."""
    stop, ready = Event(), Event()
    slow = Thread(target=_hold, args=(url, stop, ready), name="slow senders")
    slow.start()
    times, refused = [], 0
    try:
        ready.wait(30)
        end = time.monotonic() + seconds
        while (began := time.monotonic()) < end:
            good = _ask(url)
            took = time.monotonic() - began
            times.append(took if good else PATIENCE_S)
            refused += not good
            time.sleep(max(0.0, NEW_EVERY_S - took))
    finally:
        stop.set()
        slow.join()
    times.sort()
    p50, p99 = (round(times[min(len(times) - 1, int(share * len(times)))] * 1000, 2) for share in (0.5, 0.99))
    return Waiting(len(times), refused, p50, p99)


def _ask(url: str) -> bool:
    """Whether a request on a new connection is answered with 200."""
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE_S) as sender:
            sender.sendall(post(url))
            return sender.recv(65_536).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def _hold(url: str, stop: Event, ready: Event) -> None:
    parts = urlsplit(url)
    heads = (f"POST {parts.path} HTTP/1.1\r\nX-Slow: ".encode(), post(url, bytes(100_000))[:-99_000])
    due: deque[tuple[float, bytes, socket.socket | None]] = deque(
        (time.monotonic() + SLOW_PAUSE_S * number / SLOW, heads[number % 2], None) for number in range(SLOW)
    )
    connected = 0
    while not stop.is_set():
        at, head, sender = due.popleft()
        stop.wait(max(0.0, at - time.monotonic()))
        due.append((at + SLOW_PAUSE_S, head, _trickle(sender) or _connect(parts.hostname, parts.port, head)))
        connected += 1
        if connected == 2 * SLOW:
            ready.set()
    for _, _, sender in due:
        if sender is not None:
            sender.close()


def _connect(host: str | None, port: int | None, head: bytes) -> socket.socket | None:
    sender = None
    try:
        sender = socket.create_connection((host, port), timeout=PATIENCE_S)
        sender.sendall(head)
    except OSError:
        if sender is not None:
            sender.close()
        return None
    return sender


def _trickle(sender: socket.socket | None) -> socket.socket | None:
    """The connection, one byte later; None when it is no more."""
    if sender is None:
        return None
    try:
        sender.sendall(b"x")
        sender.setblocking(False)
        with suppress(BlockingIOError):
            sender.recv(4096)
            sender.close()
            return None
        sender.settimeout(PATIENCE_S)
    except OSError:
        sender.close()
        return None
    return sender


def unfinished_bodies(url: str, pid: int) -> Memory:
    """Send all of each body but its last byte, look at the program's memory, then send the last bytes."""
    parts = urlsplit(url)
    before = _resident(pid)
    whole = post(url, b"x" * BODY_SIZE)
    with ExitStack() as stack:
        senders = [
            stack.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=60.0))
            for _ in range(BODIES)
        ]
        held = max(_send_all(senders, whole[:-1], pid), _most_resident(pid, SETTLE_S))
        captured = 0
        for sender in senders:
            with suppress(OSError):
                sender.sendall(whole[-1:])
        for sender in senders:
            with suppress(OSError):
                captured += sender.recv(65_536).startswith(b"HTTP/1.1 200 ")
    time.sleep(SETTLE_S)
    return Memory(round((held - before) / 1024, 1), round((_resident(pid) - before) / 1024, 1), captured)


def _send_all(senders: list[socket.socket], data: bytes, pid: int) -> int:
    """Send `data` on all of them side by side, as fast as it is taken; the most kB resident meanwhile."""
    left = dict.fromkeys(senders, memoryview(data))
    most = _resident(pid)
    end = time.monotonic() + 120
    with selectors.DefaultSelector() as selector:
        for sender in senders:
            sender.setblocking(False)
            selector.register(sender, selectors.EVENT_WRITE)
        while left and time.monotonic() < end:
            for key, _ in selector.select(1.0):
                ready = key.fileobj
                assert isinstance(ready, socket.socket)
                with suppress(BlockingIOError):
                    left[ready] = left[ready][ready.send(left[ready][:65_536]) :]
                if not left[ready]:
                    del left[ready]
                    selector.unregister(ready)
            most = max(most, _resident(pid))
    for sender in senders:
        sender.settimeout(60.0)
    return most


def _most_resident(pid: int, seconds: float) -> int:
    end, most = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        most = max(most, _resident(pid))
        time.sleep(0.02)
    return most


def _resident(pid: int) -> int:
    """Memory of a process in kB, as Linux counts it."""
    found = _RSS.search(Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both measurements as one JSON line."""
    parser = argparse.ArgumentParser(prog="benchmarks.slow_senders", description="Hold connections to URL.")
    parser.add_argument("url")
    parser.add_argument("pid", type=int)
    parser.add_argument("--seconds", type=float, default=8.0)
    options = parser.parse_args(arguments)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    memory = unfinished_bodies(options.url, options.pid)
    waiting = behind_slow_senders(options.url, options.seconds)
    print(json.dumps({"waiting": asdict(waiting), "memory": asdict(memory)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
