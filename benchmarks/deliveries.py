"""`python -m benchmarks.deliveries`: deliveries a second to a fast local target, and what forwarding costs captures.

The rates are those at which requests arrive at the target: from Hookline, which has them all queued and stores each
attempt, and from bare loops of two HTTP clients. All run in turn, round after round. Takes about a minute and a half.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import median
from urllib.request import Request, urlopen

from benchmarks.lines import Line, exit_status
from benchmarks.load import BadAnswerError, load
from benchmarks.programs import ROOT, BenchError, Running, delivery_target, fresh_folder, running
from hookline.client import ApiError, Client

REQUESTS, HTTPX_SHARE = {None: 2_000, 1: 2_000, 8: 6_000}, 5
"""How many deliveries of one round, by how many are sent at once, None: in order; httpx sends a fifth of that."""
RATIO_BAR = 0.6
RATE, CAPTURE_S, P99_RATIO_BAR = 300, 5.0, 3.0
SETTLE_S, PATIENCE_S = 0.001, 120.0


class Sender:
    """Hookline with one target, whose queue is filled while it is paused."""

    def __init__(self, program: Running, api: Client, target_url: str, parallel: int | None) -> None:
        self.program, self._api = program, api
        self.slug = api.endpoints.create(f"parallel-{parallel}").slug
        self.url = f"{program.capture_url}/catch/{self.slug}"
        self.target = api.targets.create(self.slug, f"{target_url}/hook", parallel=parallel).id

    def send(self, requests: int) -> None:
        """Queue so many requests, then let them go; returns when the last one's attempt is stored."""
        self.queue(requests)
        time.sleep(requests * SETTLE_S)  # until they are in the search index too
        before = self.deliveries("delivered")
        self._api.targets.resume(self.slug, self.target)
        self.wait()
        if (delivered := self.deliveries("delivered") - before) != requests:
            raise BenchError(f"{delivered} of {requests} queued requests were delivered")

    def queue(self, requests: int) -> None:
        """Capture so many while the target is paused."""
        self._api.targets.pause(self.slug, self.target)
        before = self.deliveries("queued")
        load(self.url, seconds=PATIENCE_S, requests=requests)
        if (queued := self.deliveries("queued") - before) != requests:
            raise BenchError(f"{queued} of {requests} requests were queued")

    def wait(self) -> None:
        """Until nothing is queued."""
        end = time.monotonic() + PATIENCE_S
        while left := self.deliveries("queued"):
            if time.monotonic() > end:
                raise BenchError(f"{left} deliveries were still queued after {PATIENCE_S:.0f} s")
            time.sleep(0.1)

    def deliveries(self, state: str) -> int:
        """How many there are in this state, for all targets."""
        with closing(sqlite3.connect(f"file:{self.program.data / 'hookline.db'}?mode=ro", uri=True)) as connection:
            query = "SELECT count(*) FROM delivery WHERE state = ?"
            return int(connection.execute(query, (state,)).fetchone()[0])


def rates(program: Running, api: Client, target_url: str, rounds: int, share: float) -> list[Line]:
    """Hookline's deliveries a second against the better of the two bare loops."""
    lines = []
    for parallel, of_round in REQUESTS.items():
        requests = max(100, int(of_round * share))
        sender = Sender(program, api, target_url, parallel)
        found: dict[str, list[float]] = {"aiohttp": [], "httpx": [], "Hookline": []}
        _rate(target_url, 200, sender.send)  # a warm-up
        for _ in range(rounds):
            for client, number in (("aiohttp", requests), ("httpx", requests // HTTPX_SHARE)):
                found[client].append(_rate(target_url, number, partial(_bare, target_url, client, parallel or 1)))
            found["Hookline"].append(_rate(target_url, requests, sender.send))
        order = "in order" if parallel is None else f"{parallel} in parallel"
        lines += [Line(f"{name}, {order}", median(of_name), "/s") for name, of_name in found.items()]
        pairs = zip(found["Hookline"], found["aiohttp"], found["httpx"], strict=True)
        ratio = median(own / max(others) for own, *others in pairs)
        # In order each result is on disk before the next is sent: that has a price, and no bar.
        bar = None if parallel is None else RATIO_BAR
        lines.append(Line(f"  of the better loop, {order}", ratio, "x", bar, least=True))
    return lines


def captures(program: Running, api: Client, target_url: str, rounds: int, seconds: float) -> list[Line]:
    """What captures take while each is forwarded, against captures that are not."""
    plain = api.endpoints.create("not forwarded").slug
    forwarded = Sender(program, api, target_url, None)
    urls = {"off": f"{program.capture_url}/catch/{plain}", "on": forwarded.url}
    found: dict[str, list[float]] = {name: [] for name in urls}
    for _ in range(rounds):
        for name, url in urls.items():
            found[name].append(load(url, seconds=seconds, rate=RATE).p99_ms)
            forwarded.wait()
    ratio = median(on / off for on, off in zip(found["on"], found["off"], strict=True))
    return [
        *(
            Line(f"captures at {RATE}/s, forwarding {name}: p99", median(of_name), "ms")
            for name, of_name in found.items()
        ),
        Line("  on against off", ratio, "x", P99_RATIO_BAR),
    ]


def _rate(target_url: str, requests: int, send: Callable[[int], None]) -> float:
    """Requests a second as the target saw them, once `send` has sent so many."""
    urlopen(Request(f"{target_url}/count", method="DELETE")).close()
    send(requests)
    with urlopen(f"{target_url}/count") as answer:
        told = json.load(answer)
    if told["arrived"] != requests:
        raise BenchError(f"{told['arrived']} of {requests} requests arrived at the target")
    return float((told["arrived"] - 1) / told["seconds"])


def _bare(target_url: str, client: str, parallel: int, requests: int) -> None:
    command = [sys.executable, "-m", "benchmarks.bare_sender", f"{target_url}/hook", "--client", client]
    command += ["--requests", str(requests), "--parallel", str(parallel)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode:
        raise BenchError(f"{client}: {done.stderr.strip()}")


def measure(folder: Path, rounds: int, share: float, seconds: float) -> list[Line]:
    """All lines."""
    with ExitStack() as stack:
        url = stack.enter_context(delivery_target(folder))
        program = stack.enter_context(running(folder / "data", folder / "program.log", "-m", "hookline", "serve"))
        api = stack.enter_context(Client(program.api_url, program.token))
        return [*rates(program, api, url, rounds, share), *captures(program, api, url, rounds, seconds)]


def main(arguments: Sequence[str] | None = None) -> int:
    """1 when a bar is missed, or something broke."""
    parser = argparse.ArgumentParser(prog="benchmarks.deliveries", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, choices=range(1, 10), help="rounds for each sender")
    parser.add_argument("--share", type=float, default=1.0, help="part of the deliveries to send")
    parser.add_argument("--seconds", type=float, default=CAPTURE_S, help="length of one round of captures")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    try:
        with fresh_folder("hookline-bench-") as folder:
            lines = measure(folder, options.rounds, options.share, options.seconds)
    except (BenchError, BadAnswerError, ApiError, OSError) as error:
        print(f"benchmark broke: {error}", file=sys.stderr)
        return 1
    print(json.dumps([asdict(line) for line in lines], indent=2) if options.json else "\n".join(map(str, lines)))
    return exit_status(lines)


if __name__ == "__main__":
    raise SystemExit(main())
