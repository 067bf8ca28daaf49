"""`python -m benchmarks.event_readers`: what ten readers of events cost captures, and with `--seconds 60` whether any
of them misses a request; with `--team`, too, on two nodes of a team's store.

For the cost, two programs run at once, one with readers; they are loaded in turn, and pairs that lie close together in
time are compared. For the other, one writer sends 500 requests a second, some with bodies that take long. Ten
readers of events break off and continue again and again, on any node, and two wait for the requests of one endpoint,
one at a time.
Then what each got is compared with what was acknowledged.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import select
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import cycle, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp

from app.core.settings import STORE_VARIABLE
from benchmarks.lines import Line, exit_status
from benchmarks.programs import ROOT, BenchError, Running, cli, fresh_folder, make_endpoint, run_load, running
from tests.postgres import PostgresServer

READERS, WAITERS = 10, 2
TEAM = 2
"""Nodes."""
COST_BAR = 0.90
RATE, SENDERS = 500, 16
WAITED_EACH = 25
"""Of so many requests one is for the endpoint of those that wait."""
LONG_EACH_S, LONG_BODY, LONG_PIECES = 0.5, 3_000_000, 6
CATCH_UP_S = 60.0


# -- what readers cost -------------------------------------------------------------------------------------------------


def cost(folder: Path, rounds: int, seconds: float) -> list[Line]:
    """Captures a second with readers, as a share of those without; and the latency at a steady rate."""
    with ExitStack() as stack:
        urls = {}
        for name in ("alone", "followed"):
            data = folder / name
            data.mkdir()
            slug = make_endpoint(data)
            program = stack.enter_context(running(data, folder / f"{name}.log", "-m", "hookline", "serve"))
            urls[name] = f"{program.capture_url}/catch/{slug}"
            if name == "followed":
                drains = stack.enter_context(_drains(program))
        captured = {name: int(run_load(url, connections=32, seconds=1.0)["requests"]) for name, url in urls.items()}
        full: dict[str, list[dict[str, float]]] = {name: [] for name in urls}
        steady: dict[str, list[dict[str, float]]] = {name: [] for name in urls}
        for number in range(rounds):
            for name in sorted(urls, reverse=bool(number % 2)):
                full[name].append(run_load(urls[name], connections=32, seconds=seconds))
                steady[name].append(run_load(urls[name], connections=32, seconds=seconds, rate=RATE))
                captured[name] += int(full[name][-1]["requests"] + steady[name][-1]["requests"])
        _require_all(drains, captured["followed"])
    pairs = zip(full["followed"], full["alone"], strict=True)
    ratio = median(followed["rate"] / alone["rate"] for followed, alone in pairs)
    return [
        Line("captures a second without readers of events", median(one["rate"] for one in full["alone"]), "/s"),
        Line(f"  with {READERS} readers", median(one["rate"] for one in full["followed"]), "/s"),
        Line("  share", ratio, "x", COST_BAR, least=True),
        Line(
            f"p50 at {RATE} captures a second without readers", median(one["p50_ms"] for one in steady["alone"]), "ms"
        ),
        Line(f"  with {READERS} readers", median(one["p50_ms"] for one in steady["followed"]), "ms"),
        Line(
            f"p99 at {RATE} captures a second without readers", median(one["p99_ms"] for one in steady["alone"]), "ms"
        ),
        Line(f"  with {READERS} readers", median(one["p99_ms"] for one in steady["followed"]), "ms"),
    ]


def _require_all(drains: subprocess.Popen[str], captured: int) -> None:
    """BenchError unless each reader has got an event for each captured request."""
    assert drains.stdin is not None
    assert drains.stdout is not None
    drains.stdin.write(f"{captured}\n")
    drains.stdin.flush()
    ready, _, _ = select.select([drains.stdout], [], [], CATCH_UP_S)
    if not ready or (told := drains.stdout.readline().strip()) != "complete":
        raise BenchError(f"{captured} requests were captured, and a reader got {told if ready else 'fewer'} events")


@contextlib.contextmanager
def _drains(program: Running) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "benchmarks.event_drains", "--readers", str(READERS)]
    process = subprocess.Popen(
        [*command, "--", program.api_url, program.token],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if process.stdout.readline() != "reading\n":
            raise BenchError("the readers of events did not start")
        yield process
        if process.poll() is not None:
            raise BenchError("a reader of events was dropped")
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


# -- whether any reader misses one -------------------------------------------------------------------------------------


class Check:
    """One run against programs with one store: what was acknowledged, and what each reader got, in order."""

    def __init__(self, programs: Sequence[Running], slug: str, waited_slug: str, seconds: float) -> None:
        self._seconds, self._slug, self._waited_slug = seconds, slug, waited_slug
        self._programs = cycle(programs)
        self.acknowledged: set[str] = set()
        self.waited: set[str] = set()
        """Those of the endpoint of those that wait."""
        self.got: dict[str, list[str]] = {}
        self.disordered: list[str] = []
        self.reconnects = self._sent = 0
        self._written = asyncio.Event()

    async def run(self) -> None:
        """Raises TimeoutError if a reader does not get as many as were acknowledged."""
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            async with session.get(**self._call("requests/wait?timeout=0")) as response:
                start = response.headers["Hookline-Position"]
            async with asyncio.timeout(self._seconds + CATCH_UP_S), asyncio.TaskGroup() as group:
                for number in range(READERS):
                    group.create_task(self._read(session, f"events {number}", start, random.Random(number)))
                for number in range(WAITERS):
                    group.create_task(self._wait(session, f"wait {number}", start))
                await self._write(session)
                self._written.set()

    def _call(self, path: str, **headers: str) -> dict[str, Any]:
        """A call of the next program, whichever that is."""
        program = next(self._programs)
        return {
            "url": f"{program.api_url}/api/v1/{path}",
            "headers": {"Authorization": f"Bearer {program.token}", **headers},
        }

    def _is_complete(self, got: Sequence[str], expected: set[str]) -> bool:
        return self._written.is_set() and len(got) >= len(expected)

    async def _write(self, session: aiohttp.ClientSession) -> None:
        end = time.monotonic() + self._seconds
        async with asyncio.TaskGroup() as group:
            for number in range(SENDERS):
                group.create_task(self._send(session, end, number / RATE))
            while time.monotonic() < end:
                group.create_task(self._post(session, self._slug, _slow_body()))
                await asyncio.sleep(LONG_EACH_S)

    async def _send(self, session: aiohttp.ClientSession, end: float, delay_s: float) -> None:
        due = time.monotonic() + delay_s
        while (now := time.monotonic()) < end:
            await asyncio.sleep(max(0.0, due - now))
            due += SENDERS / RATE
            self._sent += 1
            slug = self._slug if self._sent % WAITED_EACH else self._waited_slug
            await self._post(session, slug, b'{"event":"order.paid"}')

    async def _post(self, session: aiohttp.ClientSession, slug: str, body: Any) -> None:
        async with session.post(f"{next(self._programs).capture_url}/catch/{slug}", data=body) as response:
            capture_id = (await response.json())["id"]
        self.acknowledged.add(capture_id)
        if slug == self._waited_slug:
            self.waited.add(capture_id)

    async def _read(self, session: aiohttp.ClientSession, name: str, last: str, chance: random.Random) -> None:
        got = self.got.setdefault(name, [])
        positions: list[int] = []
        while not self._is_complete(got, self.acknowledged):
            until = time.monotonic() + chance.uniform(0.1, 3.0)
            call = self._call("events?types=captured", **{"Last-Event-ID": last})
            async with session.get(**call) as response:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(asyncio.get_running_loop().time() + until - time.monotonic()):
                        async for event_id, kind, data in _events(response):
                            last = event_id or last
                            if kind == "captured":
                                got.append(json.loads(data)["id"])
                                positions.append(int(event_id.split("-")[2]))
                            elif kind == "gap":
                                self.disordered.append(f"{name}: gap")
                response.close()
            self.reconnects += 1
        if not all(one < other for one, other in pairwise(positions)):
            self.disordered.append(name)

    async def _wait(self, session: aiohttp.ClientSession, name: str, after: str) -> None:
        got = self.got.setdefault(name, [])
        while not self._is_complete(got, self.waited):
            params = {"endpoint": self._waited_slug, "after": after, "timeout": "1"}
            async with session.get(**self._call("requests/wait"), params=params) as response:
                after = response.headers["Hookline-Position"]
                if response.status == 200:
                    got.append((await response.json())["id"])

    def lines(self) -> list[Line]:
        order = self.got["events 0"]
        expected = {name: self.acknowledged if name.startswith("events") else self.waited for name in self.got}
        missing = sum(len(expected[name] - set(got)) for name, got in self.got.items())
        doubled = sum(len(got) - len(set(got)) for got in self.got.values())
        disordered = len(self.disordered)
        for name, got in self.got.items():
            disordered += got != [one for one in order if one in expected[name]]
        return [
            Line(f"requests in {self._seconds:.0f} s", len(self.acknowledged)),
            Line(f"  of them for {WAITERS} that wait", len(self.waited)),
            Line(f"reconnects of {READERS} readers of events", self.reconnects),
            Line("  missing", missing, "", 0),
            Line("  doubled", doubled, "", 0),
            Line("  readers out of order", disordered, "", 0),
        ]


async def _slow_body() -> AsyncIterator[bytes]:
    for _ in range(LONG_PIECES):
        yield bytes(LONG_BODY // LONG_PIECES)
        await asyncio.sleep(0.1)


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, str, bytes]]:
    buffer = b""
    async for piece in response.content.iter_any():
        *blocks, buffer = (buffer + piece).split(b"\n\n")
        for block in blocks:
            fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if not line.startswith(b":"))
            yield fields.get(b"id", b"").decode(), fields.get(b"event", b"").decode(), fields.get(b"data", b"")


def check(folder: Path, seconds: float, *, team: bool) -> list[Line]:
    with ExitStack() as stack:
        if team:
            server = stack.enter_context(closing(PostgresServer(fsync=True)))
            os.environ[STORE_VARIABLE] = server.url(server.create())
        programs = []
        for number in range(TEAM if team else 1):
            data = folder / f"checked{number}"
            data.mkdir()
            if not number:
                slug, waited = make_endpoint(data), str(cli(data, "endpoint", "add", "waited")["slug"])
            log = folder / f"checked{number}.log"
            programs.append(stack.enter_context(running(data, log, "-m", "hookline", "serve")))
        made = Check(programs, slug, waited, seconds)
        try:
            asyncio.run(made.run())
        except TimeoutError as error:
            counts = ", ".join(f"{name} {len(got)}" for name, got in made.got.items())
            raise BenchError(f"of {len(made.acknowledged)} requests, readers got: {counts}") from error
    return made.lines()


def main(arguments: Sequence[str] | None = None) -> int:
    """1 when a bar is missed, something broke, or a reader missed a request."""
    parser = argparse.ArgumentParser(prog="benchmarks.event_readers", description=__doc__)
    parser.add_argument("--seconds", type=float, help="check for so long that no reader misses a request")
    parser.add_argument("--team", action="store_true", help=f"check {TEAM} nodes of a team's store")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of measuring the cost")
    options = parser.parse_args(arguments)
    try:
        with fresh_folder("hookline-events-") as folder:
            if options.seconds is None:
                lines = cost(folder, options.rounds, 1.5)
            else:
                lines = check(folder, options.seconds, team=options.team)
    except BenchError as error:
        print(f"benchmark broke: {error}", file=sys.stderr)
        return 1
    print("\n".join(map(str, lines)))
    return exit_status(lines)


if __name__ == "__main__":
    raise SystemExit(main())
