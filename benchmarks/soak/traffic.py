"""The steady mix: captures of many kinds, and through the local API all that is done with them."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import socket
import struct
import time
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random

import httpx

from app.core.model import EndpointDraft
from benchmarks.load import LENGTH
from benchmarks.programs import Running
from benchmarks.soak import purges
from benchmarks.soak.ledger import Ledger
from benchmarks.soak.target import Target

STEADY, CLEARED, FORWARDED, CHANGED = "soak-steady", "soak-cleared", "soak-forwarded", "soak-changed"
ENDPOINTS = (
    EndpointDraft(name="Steady", slug=STEADY),
    EndpointDraft(name="Cleared", slug=CLEARED),
    EndpointDraft(name="Forwarded", slug=FORWARDED),
    EndpointDraft(name="Changed", slug=CHANGED),
    purges.DRAFT,
)
SENDERS, EACH_S = 6, 0.1
"""Connections that capture, and the seconds between two captures of each."""
KEPT = {STEADY: 1_000, FORWARDED: 150}
"""How many requests an endpoint keeps: the oldest beyond are deleted one by one."""
DELETED_AT_ONCE = 5
CLEAR_S, LARGE = 20.0, 5 * 1024 * 1024
LATE_S = 10.0
MOST_PROBLEMS = 50
QUERIES = (
    "method:POST",
    "soak",
    '"number": 17',
    "json:number>9000",
    "size:>100k",
    "is:starred",
    "nowhere-to-be-found",
    "header:x-soak=7 -is:read",
    "status:2xx since:1m",
)


class Wire:
    """One keep-alive connection to the capture port."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, target: str, body: bytes, headers: str = "", pause_s: float = 0.0) -> tuple[int, str]:
        """Status and the id of what is stored now; the body in pieces with pauses if `pause_s` is given."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        head = f"POST {target} HTTP/1.1\r\nHost: soak\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode())
        for at in range(0, len(body), max(1, len(body) // 20 if pause_s else len(body))):
            writer.write(body[at : at + max(1, len(body) // 20)] if pause_s else body)
            await writer.drain()
            await asyncio.sleep(pause_s)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = LENGTH.search(answer)
        told = json.loads(await reader.readexactly(int(length[1])) if length else b"{}")
        if b"\r\nconnection: close" in answer.lower():
            self.close()
        return int(answer.split(b" ", 2)[1]), str(told.get("id", ""))

    def close(self) -> None:
        """The next request opens another connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Traffic:
    """Everything that is done to the program until `stop` is set. `problems` are answers that should not be."""

    def __init__(self, program: Running, target: Target, ledger: Ledger, seed: int, seconds: float) -> None:
        self._program, self._target, self._ledger = program, target, ledger
        self._random = Random(seed)
        self._seconds = seconds
        headers = {"Authorization": f"Bearer {program.token}"}
        self._api = httpx.AsyncClient(base_url=program.api_url, headers=headers, timeout=30, trust_env=False)
        self._wires = [Wire(program.address) for _ in range(SENDERS)]
        self._slow = Wire(program.address)
        self._numbers = 0
        self._kept: dict[str, deque[str]] = {slug: deque() for slug in KEPT}
        self._most = {slug: min(most, max(1, int(seconds * 5))) for slug, most in KEPT.items()}
        self._forwarded: dict[str, str] = {}
        self._purges = 0
        self.stop = asyncio.Event()
        self.problems: list[str] = []
        self.latencies: list[float] = []
        self.captures = 0
        self.done: dict[str, int] = {}
        """How often each thing was done."""

    async def run(self, forward_url: str) -> None:
        """Until told to stop; what is in hand is brought to its end."""
        await self._patch(FORWARDED, forward_url=forward_url)
        clear_s = min(CLEAR_S, self._seconds / 3)
        purge_s = max(self._seconds / (purges.STEPS + 1), 0.5)
        jobs: list[tuple[str, float, Callable[[], Awaitable[None]]]] = [
            ("large", 4.0, self._large),
            ("slow", 0.5, self._trickle),
            ("broken off", 1.0, self._break_off),
            ("search", 0.7, self._search),
            ("read", 0.5, self._read),
            ("mark", 0.9, self._mark),
            ("delete", 0.02, self._delete),
            ("delete", 0.02, self._delete),
            ("clear", clear_s, self._clear),
            ("change", 1.3, self._change),
            ("status", 5.0, self._status),
            ("purge", purge_s, self._purge),
        ]
        try:
            async with asyncio.TaskGroup() as group:
                for wire in self._wires:
                    group.create_task(self._every("capture", EACH_S, partial(self._capture, wire)))
                for name, pause, action in jobs:
                    group.create_task(self._every(name, pause, action))
            await self._wait_for_deliveries()
        finally:
            for wire in (*self._wires, self._slow):
                wire.close()
            await self._api.aclose()

    async def _every(self, name: str, pause_s: float, action: Callable[[], Awaitable[None]]) -> None:
        """Do it at this pace, or as fast as it can be done; the first time after one pause."""
        while not await self._stopped(pause_s):
            try:
                async with asyncio.timeout(60):
                    await action()
            except (OSError, EOFError, TimeoutError, ValueError, httpx.HTTPError) as error:
                self._problem(f"{name}: {error!r}")
            if name != "delete":  # which looks whether there is something to delete
                self.done[name] = self.done.get(name, 0) + 1

    async def _stopped(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self.stop.wait()
        except TimeoutError:
            return False

    def _problem(self, text: str) -> None:
        self.problems.append(text)
        if len(self.problems) >= MOST_PROBLEMS:
            self.stop.set()

    # -- what senders do ------------------------------------------------------------------------------------------

    def _body(self) -> tuple[bytes, str]:
        """A body of one of the usual kinds, and its headers."""
        number = self._numbers = self._numbers + 1
        record = {"soak": True, "number": number, "note": "x" * 300}
        kind = self._random.random()
        if kind < 0.70:
            return json.dumps(record).encode(), f"Content-Type: application/json\r\nX-Soak: {number % 10}\r\n"
        if kind < 0.85:
            return b"a line of text, and another\n" * 300, "Content-Type: text/plain\r\n"
        if kind < 0.95:
            body = gzip.compress(json.dumps([record] * 20).encode())
            return body, "Content-Type: application/json\r\nContent-Encoding: gzip\r\n"
        return self._random.randbytes(2_000) * 100, "Content-Type: application/octet-stream\r\n"

    async def _capture(self, wire: Wire) -> None:
        slug = self._random.choices((STEADY, CLEARED, FORWARDED, CHANGED), (45, 40, 7, 8))[0]
        if len(self._kept.get(slug, ())) > 1.2 * self._most.get(slug, 0):
            slug = CLEARED  # deleting one by one does not keep up: the store is to stay of one size
        body, headers = self._body()
        number = self._numbers
        begun = time.monotonic()
        try:
            status, capture_id = await wire.post(f"/catch/{slug}/{number}", body, headers)
        except BaseException:
            wire.close()
            raise
        self.latencies.append(time.monotonic() - begun)
        self._account(slug, status, capture_id, body if len(body) < 1_000 else None, begun)
        if slug == FORWARDED and status == 200:
            self._forwarded[capture_id] = str(number)

    def _account(self, slug: str, status: int, capture_id: str, body: bytes | None, begun: float) -> None:
        if status == 503 and slug == CHANGED:
            return  # it is switched off now and then
        if status != 200 or not capture_id:
            self._problem(f"a request to {slug} was answered {status}")
            return
        self.captures += 1
        self._ledger.acknowledged(slug, capture_id, body, begun)
        if slug in self._kept:
            self._kept[slug].append(capture_id)

    async def _large(self) -> None:
        await self._alone(CLEARED, Wire(self._program.address), self._random.randbytes(1_024) * (LARGE // 1_024), 0.0)

    async def _trickle(self) -> None:
        await self._alone(STEADY, self._slow, b"slow and steady " * 25, 0.05)

    async def _alone(self, slug: str, wire: Wire, body: bytes, pause_s: float) -> None:
        begun = time.monotonic()
        try:
            status, capture_id = await wire.post(f"/catch/{slug}/alone", body, pause_s=pause_s)
        except BaseException:
            wire.close()
            raise
        if wire is not self._slow:
            wire.close()
        self._account(slug, status, capture_id, None, begun)

    async def _break_off(self) -> None:
        """In the middle of a body, by a close or a reset."""
        _, writer = await asyncio.open_connection(*self._program.address)
        writer.write(f"POST /catch/{CLEARED}/broken HTTP/1.1\r\nHost: soak\r\nContent-Length: 9000\r\n\r\n".encode())
        writer.write(b"x" * self._random.randrange(8_000))
        await writer.drain()
        if self._random.random() < 0.5:
            connection: socket.socket = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()

    # -- what is done over the local API --------------------------------------------------------------------------

    async def _ask(self, method: str, path: str, *right: int, **given: object) -> httpx.Response:
        response = await self._api.request(method, f"/api/v1{path}", **given)  # type: ignore[arg-type]
        if response.status_code not in (right or (200,)):
            self._problem(f"{method} {path} was answered {response.status_code}: {response.text[:200]}")
        return response

    async def _patch(self, slug: str, **fields: object) -> None:
        await self._ask("PATCH", f"/endpoints/{slug}", json=fields)

    async def _search(self) -> None:
        query = self._random.choice(QUERIES)
        await self._ask("GET", "/requests", params={"q": query, "limit": "20"})

    def _some_request(self) -> str | None:
        kept = self._kept[STEADY]
        return self._random.choice(kept) if kept else None

    async def _read(self) -> None:
        """A request and its body, whose bytes are those of the hash it was stored with."""
        capture_id = self._some_request()
        if capture_id is None:
            return
        response = await self._ask("GET", f"/requests/{capture_id}", 200, 404)
        body = await self._ask("GET", f"/requests/{capture_id}/body", 200, 404)
        both = response.status_code == body.status_code == 200
        if both and hashlib.sha256(body.content).hexdigest() != response.json()["sha256"]:
            self._problem(f"the body of {capture_id} is not the one that was stored")

    async def _mark(self) -> None:
        capture_id = self._some_request()
        if capture_id is not None:
            fields = {"starred": self._random.random() < 0.5, "note": self._random.choice(("", "a note"))}
            await self._ask("PATCH", f"/requests/{capture_id}", 200, 404, json=fields)

    async def _delete(self) -> None:
        """The oldest of those that are more than an endpoint keeps; a forwarded one only once it was delivered."""
        for slug in [slug for slug in self._kept for _ in range(DELETED_AT_ONCE)]:
            kept = self._kept[slug]
            if len(kept) > self._most[slug] and self._delivered(kept[0]):
                capture_id = kept.popleft()
                self._ledger.delete_begins(capture_id)
                response = await self._ask("DELETE", f"/requests/{capture_id}", 204)
                if response.status_code == 204:
                    self._ledger.deleted(capture_id)
                    self.done["delete"] = self.done.get("delete", 0) + 1

    def _delivered(self, capture_id: str) -> bool:
        number = self._forwarded.get(capture_id)
        return number is None or number in self._target.received

    async def _clear(self) -> None:
        for slug in (CLEARED, CHANGED):
            self._ledger.clear_begins(slug)
            response = await self._ask("DELETE", f"/endpoints/{slug}/requests", 204)
            if response.status_code == 204:
                self._ledger.cleared(slug)

    async def _change(self) -> None:
        """Switch an endpoint off and on, and change how it answers."""
        await self._patch(CHANGED, active=False)
        text = f"changed at {time.monotonic():.0f}"
        await self._patch(CHANGED, active=True, description=text, response={"delay_ms": self._random.choice((0, 5))})

    async def _status(self) -> None:
        told = (await self._ask("GET", "/status")).json()
        if told.get("storage") != "ok":
            self._problem(f"/status says that storing fails: {told.get('storage')}")
        await self._ask("GET", "/refused", params={"limit": "20"})

    async def _purge(self) -> None:
        """Shorten the retention of what was stored long ago, and see that just the right part of it goes."""
        if self._purges < purges.STEPS:
            step = self._purges
            self._purges += 1
            await self._patch(purges.SLUG, retention_days=purges.retention_of(step))
            wrong = await purges.purged(self._program.data, step)
            if wrong:
                self._problem(wrong)

    async def _wait_for_deliveries(self) -> None:
        """Each request to be forwarded has reached its target, whatever that answered."""
        end = time.monotonic() + LATE_S
        while missing := set(self._forwarded.values()) - self._target.received:
            if time.monotonic() > end:
                self._problem(f"{len(missing)} requests were not forwarded {LATE_S:.0f} s after the last")
                return
            await asyncio.sleep(0.05)
