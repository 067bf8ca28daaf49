"""A run of requests with planned faults through `hookline serve` to a target that is a process of its own."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.e2e import faulty_target
from tests.e2e.faulty_target import BUSY, BUSY_FOR_A_SECOND, CLOSE, ERROR, HANG, LONG, OK, RESET, SLOW, behaviour
from tests.e2e.program import Program, api
from tests.e2e.senders import read_answer

RETRIES = 3
RETRY = {
    "retries": RETRIES,
    "on": ["connection", "timeout", "5xx"],
    "first_delay_ms": 10,
    "longest_delay_ms": 40,
    "total_ms": 600_000,
}
Result = tuple[int | None, str | None]
RESULTS: dict[str, Result] = {
    ERROR: (500, "status"),
    BUSY: (503, "status"),
    BUSY_FOR_A_SECOND: (503, "status"),
    HANG: (None, "timeout"),
    RESET: (None, "connection"),
    CLOSE: (None, "connection"),
    SLOW: (200, None),
    LONG: (200, None),
    OK: (200, None),
}
"""Status and failure of the attempt that met each behaviour."""


def random_plan(rng: random.Random, *, hangs: bool) -> str:
    """Seven of ten requests succeed at once, some of them slowly; of the others one in six never does."""
    if rng.random() < 0.7:
        return SLOW if rng.random() < 0.1 else OK
    if rng.random() < 1 / 6:
        return ERROR + "*"
    kinds = [ERROR] * 8 + [BUSY] * 8 + [RESET] * 8 + [CLOSE] * 8 + ([HANG, BUSY_FOR_A_SECOND] if hangs else [])
    return "".join(rng.choice(kinds) for _ in range(rng.randint(1, RETRIES)))


INTERRUPTED: Result = (None, "interrupted")


@dataclass
class Totals:
    """What came of a run."""

    delivered: int = 0
    failed: int = 0
    attempts: int = 0
    interrupted: int = 0
    resent: int = 0

    def count(self, delivery: dict[str, Any], interrupted: int) -> None:
        self.delivered += delivery["state"] == "delivered"
        self.failed += delivery["state"] == "failed"
        self.attempts += len(delivery["attempts"])
        self.interrupted += interrupted
        self.resent += sum(one["trigger"] == "resent" for one in delivery["attempts"])


@dataclass(frozen=True)
class Logged:
    """A request as the target received it."""

    name: str
    does: str
    body: bytes


@dataclass
class FaultyProcess:
    """The target's process."""

    log: Path
    url: str

    def received(self) -> list[Logged]:
        entries = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [Logged(entry["name"], entry["does"], b64decode(entry["body"])) for entry in entries]


@contextmanager
def faulty_process(folder: Path) -> Iterator[FaultyProcess]:
    """It runs until the block ends, however often Hookline does."""
    log = folder / "received.jsonl"
    command = [sys.executable, faulty_target.__file__, str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield FaultyProcess(log, f"http://127.0.0.1:{int(process.stdout.readline())}/")
        finally:
            process.kill()


@dataclass
class Sender:
    """Posts requests to an endpoint, one after the other, until all are posted or the server goes. `plans` are those
    that are left to be sent."""

    slug: str
    plans: dict[str, str]
    acknowledged: list[str] = field(default_factory=list)

    def run(self, port: int) -> None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                for name in list(self.plans):
                    path, body = f"/catch/{self.slug}/{name}/{self.plans.pop(name)}", body_of(name)
                    head = f"POST {path} HTTP/1.1\r\nHost: t\r\nContent-Length: {len(body)}\r\n\r\n"
                    connection.sendall(head.encode() + body)
                    if read_answer(connection).status == 200:
                        self.acknowledged.append(name)
        except OSError:
            return  # the server was killed


def body_of(name: str) -> bytes:
    """What is sent with a request: no two are equal."""
    return name.encode() + bytes(random.Random(name).randrange(256) for _ in range(64))


def create_endpoint(program: Program, slug: str, url: str, parallel: int | None) -> str:
    """An endpoint whose target retries soon and is never paused; the target's path in the API."""
    assert api(program, "POST", "/endpoints", {"name": slug, "slug": slug})[0] == 201
    target = {"url": url, "parallel": parallel, "pause_after": 0, "timeout_ms": 3_000, "retry": RETRY}
    status, told = api(program, "POST", f"/endpoints/{slug}/targets", target)
    assert status == 201, told
    return f"/endpoints/{slug}/targets/{told['id']}"


def none_queued(program: Program, *slugs: str) -> bool:
    return not any(api(program, "GET", f"/endpoints/{slug}/targets")[1]["items"][0]["queued"] for slug in slugs)


def deliveries(program: Program, slug: str) -> Iterator[dict[str, Any]]:
    """All deliveries of an endpoint, last queued first, each with its attempts."""
    cursor = ""
    while cursor is not None:
        page = api(program, "GET", f"/deliveries?endpoint={slug}&limit=500{cursor and '&cursor=' + cursor}")[1]
        for item in page["items"]:
            yield api(program, "GET", f"/deliveries/{item['id']}")[1]
        cursor = page["next"]


def check(given: list[dict[str, Any]], received: list[Logged], *, killed: bool = False) -> Totals:
    """Every delivery ended as its plan says, and its attempts are what the target received; after kills, but for those
    marked as interrupted, each of which the target may have received or not."""
    by_name = defaultdict(list)
    for one in received:
        by_name[one.name].append(one)
    totals = Totals()
    for delivery in given:
        name, plan = urlsplit(delivery["url"]).path.split("/")[-2:]
        seen = by_name.pop(name, [])
        assert [one.body for one in seen] == [body_of(name)] * len(seen)
        assert [one.does for one in seen] == [behaviour(plan, number) for number in range(1, len(seen) + 1)]
        attempts = delivery["attempts"]
        assert [one["number"] for one in attempts] == list(range(1, len(attempts) + 1))
        results = [(one["status"], one["failure"]) for one in attempts]
        interrupted = results.count(INTERRUPTED)
        assert killed or not interrupted
        told = (name, plan, results, seen)
        assert matches(results, [RESULTS[one.does] for one in seen]), told
        fails = plan.endswith("*")
        assert delivery["state"] == ("failed" if fails else "delivered"), told
        rule = 1 + RETRIES if fails else 1 + len(plan.rstrip(OK + SLOW + LONG))
        assert len(results) - interrupted == rule or (interrupted and len(results) - interrupted < rule), told
        totals.count(delivery, interrupted)
        check_times(attempts)
    assert not by_name, "the target received what was never delivered"
    return totals


def matches(results: list[Result], seen: list[Result]) -> bool:
    """Whether `results` without some of their interrupted ones are `seen`: an interrupted one may be any of them."""
    if not results:
        return not seen
    if results[0] == INTERRUPTED:
        return matches(results[1:], seen) or (bool(seen) and matches(results[1:], seen[1:]))
    return bool(seen) and results[0] == seen[0] and matches(results[1:], seen[1:])


def check_times(attempts: list[dict[str, Any]]) -> None:
    """None starts before the one before it has ended, nor sooner than `Retry-After` asks."""
    for before, after in pairwise(attempts):
        if before["failure"] == "interrupted":
            continue
        asked = dict(before["response_headers"]).get("Retry-After", "0")
        waited = datetime.fromisoformat(after["started_at"]) - datetime.fromisoformat(before["started_at"])
        assert waited.total_seconds() * 1_000 >= int(asked) * 1_000 + before["ms"] - 1


def order(received: list[Logged], slug: str) -> list[str]:
    """The names as they came first, each with its repetitions right behind it, or it is in the list again."""
    return [name for name, _ in groupby(one.name for one in received if one.name.startswith(slug))]
