"""`python -m benchmarks.strangers`: what others can do without a login, and what honest senders notice of it.

Once 480 senders send complete requests as fast as they are taken and read no response. Once 1,140 connections to the
API's port say nothing, while the program may open 1,024 files.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import selectors
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.lines import Line, exit_status
from benchmarks.load import post
from benchmarks.process_stats import stats_of
from benchmarks.programs import BenchError, Running, fresh_folder, make_endpoint, running

UNREAD, SILENT, FILES = 480, 1_140, 1_024
NEW_EVERY_S, PATIENCE_S, SETTLE_S = 0.02, 5.0, 5.0
AGAIN_S = 0.5
"""Silent connections that were closed are opened again after this time."""
MEMORY_BAR_MIB, AFTER_BAR_MIB, P99_BAR_MS, LOG_BAR_KIB = 96.0, 64.0, 250.0, 64.0
_LIMITED = """
import resource, runpy
resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))
runpy.run_module("app", run_name="__main__", alter_sys=True)
"""


def unread_responses(folder: Path, seconds: float) -> list[Line]:
    """480 senders that read nothing."""
    with _program(folder, "-m", "hookline") as (program, url):
        before = stats_of(program.process.pid).resident_mib
        with _attack(_send_and_read_nothing, url):
            times, refused, most = _honest(url, program.process.pid, seconds)
        time.sleep(SETTLE_S)
        after = stats_of(program.process.pid).resident_mib
    name = f"{UNREAD} senders that read no response"
    return [
        Line(f"{name}: memory", most - before, "MiB", MEMORY_BAR_MIB),
        Line(f"  {SETTLE_S:.0f} s after they left", after - before, "MiB", AFTER_BAR_MIB),
        *_of_honest(times, refused),
    ]


def silent_connections(folder: Path, seconds: float) -> list[Line]:
    """1,140 connections to the API's port that say nothing."""
    with _program(folder, "-c", _LIMITED.format(files=FILES)) as (program, url):
        with _attack(_say_nothing, program.api_url):
            times, refused, _ = _honest(url, program.process.pid, seconds)
        log = program.log.stat().st_size / 1024
    return [
        Line(f"{SILENT:,} silent connections to the API: what the program printed", log, "KiB", LOG_BAR_KIB),
        *_of_honest(times, refused),
    ]


def _of_honest(times: list[float], refused: int) -> list[Line]:
    times.sort()
    p50, p99 = (times[min(len(times) - 1, int(share * len(times)))] * 1000 for share in (0.5, 0.99))
    return [
        Line("  honest senders: p50", p50, "ms"),
        Line("  honest senders: p99", p99, "ms", P99_BAR_MS),
        Line("  honest senders without a 200", refused, "", 0),
        Line("  honest senders", len(times), "", 10, least=True),
    ]


@contextmanager
def _program(folder: Path, *command: str) -> Iterator[tuple[Running, str]]:
    folder.mkdir()
    data = folder / "data"
    slug = make_endpoint(data)
    with running(data, folder / "program.log", *command, "serve") as program:
        url = f"{program.capture_url}/catch/{slug}"
        for _ in range(20):
            _ask(url)
        yield program, url


@contextmanager
def _attack(attack: Callable[[str, Event, Event], None], url: str) -> Iterator[None]:
    """Run it in a process of its own, from when it is under way."""
    begun, stop = multiprocessing.Event(), multiprocessing.Event()
    process = multiprocessing.Process(target=attack, args=(url, begun, stop), daemon=True)
    process.start()
    try:
        if not begun.wait(60):
            raise BenchError("the attack did not begin")
        yield
    finally:
        stop.set()
        process.join(10)
        process.kill()


def _send_and_read_nothing(url: str, begun: Event, stop: Event) -> None:
    parts = urlsplit(url)
    data = memoryview(post(url) * 100)
    with selectors.DefaultSelector() as selector:
        for _ in range(UNREAD):
            opened = socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE_S)
            opened.setblocking(False)
            selector.register(opened, selectors.EVENT_WRITE, data)
        begun.set()
        while not stop.is_set():
            ready = selector.select(0.1)
            for key, _ in ready:
                sender = key.fileobj
                assert isinstance(sender, socket.socket)
                try:
                    left = key.data[sender.send(key.data) :]
                    selector.modify(sender, selectors.EVENT_WRITE, left or data)
                except BlockingIOError:
                    continue
                except OSError:  # cut off
                    selector.unregister(sender)
                    sender.close()


def _say_nothing(url: str, begun: Event, stop: Event) -> None:
    parts = urlsplit(url)
    held: list[socket.socket] = []
    while not stop.is_set():
        held = [one for one in held if _is_open(one)]
        while len(held) < SILENT and not stop.is_set():
            try:
                one = socket.create_connection((parts.hostname, parts.port), timeout=0.5)
            except OSError:
                break
            one.setblocking(False)
            held.append(one)
        begun.set()
        stop.wait(AGAIN_S)


def _is_open(connection: socket.socket) -> bool:
    try:
        connection.recv(4096)
    except BlockingIOError:
        return True
    except ConnectionError:
        pass
    connection.close()
    return False


def _honest(url: str, pid: int, seconds: float) -> tuple[list[float], int, float]:
    """The seconds of each request, how many were not answered with 200, and the most memory (MiB) meanwhile."""
    times, refused, most = [], 0, 0.0
    end = time.monotonic() + seconds
    while (began := time.monotonic()) < end:
        good = _ask(url)
        took = time.monotonic() - began
        times.append(took if good else PATIENCE_S)
        refused += not good
        most = max(most, stats_of(pid).resident_mib)
        time.sleep(max(0.0, NEW_EVERY_S - took))
    return times, refused, most


def _ask(url: str) -> bool:
    """Whether a request on a new connection is answered with 200."""
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE_S) as sender:
            sender.sendall(post(url))
            return sender.recv(65_536).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def main(arguments: Sequence[str] | None = None) -> int:
    """1 when a bar was missed, or something broke."""
    parser = argparse.ArgumentParser(prog="benchmarks.strangers", description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0, help="length of each attack")
    options = parser.parse_args(arguments)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    lines: list[Line] = []
    try:
        with fresh_folder("hookline-strangers-") as folder:
            for attack in (unread_responses, silent_connections):
                found = attack(folder / attack.__name__, options.seconds)
                print(*found, sep="\n", flush=True)
                lines += found
    except BenchError as error:
        print(f"benchmark broke: {error}", file=sys.stderr)
        return 1
    return exit_status(lines)


if __name__ == "__main__":
    sys.exit(main())
