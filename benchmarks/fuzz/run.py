"""Sends cases over many connections at once, and checks what is stored of them batch by batch."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from benchmarks.fuzz.cases import Case, Ending, Packet, make_case
from benchmarks.fuzz.invariants import violations, wrong_responses
from benchmarks.fuzz.sender import LIMIT_S, Finish, Outcome, Sender
from benchmarks.fuzz.stored_requests import StoredRequest, read_stored
from benchmarks.fuzz.valid_requests import PLAIN, Fate, HttpRequest, ValidRequest, stripped

CONNECTIONS = 96
ALIVE_EVERY_S, ALIVE_S = 0.5, 5.0
LATE_S = 60.0
_SHOWN = 4_000


@dataclass(eq=False)
class Sent:
    """A case that was sent at `at` (monotonic seconds), and what became of it."""

    case: Case
    outcome: Outcome
    stored: list[StoredRequest] = field(default_factory=list)
    at: float = field(default_factory=time.monotonic)
    emptied: bool = False
    """Whether the store was emptied before its requests were looked at."""


@dataclass(frozen=True)
class Violation:
    """What does not hold. `sent` is None when no single case is to blame."""

    texts: tuple[str, ...]
    sent: Sent | None = None

    def __str__(self) -> str:
        case = f"case {self.sent.case.number}: " if self.sent is not None else ""
        return case + "; ".join(self.texts)

    def report(self, seed: int) -> str:
        """All that is known of it, as JSON."""
        told: dict[str, object] = {"seed": seed, "violations": self.texts}
        if self.sent is not None:
            case, outcome = self.sent.case, self.sent.outcome
            told |= {
                "case": case.number,
                "valid": bool(case.requests),
                "ending": case.ending.value,
                "packets": [{"pause_s": packet.pause_s, "bytes": packet.data.hex()} for packet in case.packets],
                "text": case.sent[:_SHOWN].decode("latin-1"),
                "finish": outcome.finish.value,
                "waited_s": round(outcome.waited_s, 3),
                "received": outcome.received[:_SHOWN].decode("latin-1"),
                "stored": [row.head for row in self.sent.stored],
            }
        return json.dumps(told, indent=1)


@dataclass
class Totals:
    """What was sent, and what came of it."""

    requests: int = 0
    connections: int = 0
    statuses: dict[int, int] = field(default_factory=dict)
    stored: int = 0
    acknowledged: int = 0
    reset: int = 0
    late: int = 0
    """Cases of which something was stored long after their sender had left."""
    longest_wait_s: float = 0.0
    longest_alive_s: float = 0.0

    def add(self, sent: Sent) -> None:
        """Count one case."""
        self.requests += sent.case.weight
        self.connections += 1
        self.stored += len(sent.stored)
        self.reset += sent.outcome.finish is Finish.RESET
        self.longest_wait_s = max(self.longest_wait_s, sent.outcome.waited_s)
        for response in sent.outcome.responses.found:
            self.statuses[response.status] = self.statuses.get(response.status, 0) + 1
            self.acknowledged += response.acknowledges


class Fuzz:
    """Cases of one seed, sent to the capture port at `address` of the program that stores in `folder`."""

    def __init__(
        self,
        seed: int,
        folder: Path,
        address: tuple[str, int],
        *,
        connections: int = CONNECTIONS,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._seed, self._folder = seed, folder
        self._free = asyncio.Semaphore(connections)
        self.limit_s = limit_s
        self._sender = Sender(address, limit_s)
        self._numbers = count()
        self._newest = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: dict[tuple[str, int], Sent] = {}
        self._done: list[Sent] = []
        self._left: deque[Sent] = deque()
        self.totals = Totals()

    @property
    def open_connections(self) -> int:
        """Connections whose senders are not done."""
        return len(self._open)

    async def batch(self, requests: int, stop: Callable[[], bool] = bool) -> list[Violation]:
        """Send about so many requests, fewer when told to `stop`; what does not hold of those that are done by then."""
        self._sender.next_batch()
        troubles: list[Violation] = []
        alive = asyncio.create_task(self._stay_alive(troubles), name="alive")
        try:
            while requests > 0 and not stop() and not troubles:
                await self._free.acquire()
                case = make_case(self._seed, next(self._numbers))
                requests -= case.weight
                task = asyncio.create_task(self._work(case, troubles), name=f"case {case.number}")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        finally:
            alive.cancel()
            await asyncio.wait((alive,))
        return [*troubles, *await self._check()]

    async def settle(self, seconds: float) -> list[Violation]:
        """Give open connections so many seconds to end; what does not hold of those that do."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        return await self._check()

    def emptied(self) -> None:
        """All requests were deleted just now: of connections that are open nobody knows what was stored."""
        for sent in (*self._open.values(), *self._done):
            sent.emptied = True

    async def one(self, number: int) -> tuple[Sent, list[Violation]]:
        """One case alone."""
        sent = await self._send(make_case(self._seed, number))
        return sent, await self._check()

    async def _work(self, case: Case, troubles: list[Violation]) -> None:
        try:
            await self._send(case)
        except OSError as error:
            troubles.append(Violation((f"case {case.number} got no connection: {error}",)))
        finally:
            self._free.release()

    async def _send(self, case: Case) -> Sent:
        begun: list[Sent] = []

        def connected(outcome: Outcome) -> None:
            begun.append(Sent(case, outcome))
            self._open[outcome.source] = begun[0]

        outcome = await self._sender.send(case, connected)
        self._done.append(self._open.pop(outcome.source))
        return begun[0]

    async def _stay_alive(self, troubles: list[Violation]) -> None:
        """Post a plain request now and then, whatever else goes on."""
        while True:
            await asyncio.sleep(ALIVE_EVERY_S)
            trouble = await self._post_plain()
            if trouble:
                troubles.append(trouble)

    async def _post_plain(self) -> Violation | None:
        begun = time.monotonic()
        try:
            async with asyncio.timeout(ALIVE_S):
                sent = await self._send(plain_case())
        except (OSError, TimeoutError) as error:
            return Violation((f"a plain request was not answered within {ALIVE_S:.0f} s: {error!r}",))
        self.totals.longest_alive_s = max(self.totals.longest_alive_s, time.monotonic() - begun)
        responses = sent.outcome.responses.found
        if not responses or responses[0].status != 200:
            return Violation((f"a plain request was answered {responses[0].status if responses else 'nothing'}",), sent)
        return None

    async def _check(self) -> list[Violation]:
        """Two more requests have the store commit whatever came before them."""
        done, self._done = self._done, []
        troubles = [trouble for trouble in [await self._post_plain(), await self._post_plain()] if trouble]
        done += self._done
        self._done = []
        late = self._sort_stored(done, troubles)
        self._remember_left(done)
        for sent in done:
            self.totals.add(sent)
        for sent in [*done, *late]:
            sent.stored.sort(key=lambda row: row.seq)
            whole = not sent.emptied
            texts = (
                violations(sent.case, sent.outcome, sent.stored) if whole else wrong_responses(sent.case, sent.outcome)
            )
            if texts:
                troubles.append(Violation(tuple(texts), sent))
        return troubles

    def _remember_left(self, done: list[Sent]) -> None:
        """What a sender began before it left may be stored only after the time that a body may pause."""
        now = time.monotonic()
        self._left.extend(sent for sent in done if sent.outcome.finish in (Finish.LEFT, Finish.RESET))
        while self._left and now - self._left[0].at > LATE_S:
            self._left.popleft()

    def _sort_stored(self, done: list[Sent], troubles: list[Violation]) -> list[Sent]:
        """Give each stored request to the case it came from; those of them that were looked at before."""
        of_source: dict[tuple[str, int], list[Sent]] = {}
        for one in (*self._left, *done, *self._open.values()):
            of_source.setdefault(one.outcome.source, []).append(one)
        now = {id(one) for one in (*done, *self._open.values())}
        late: dict[int, Sent] = {}
        for row in read_stored(self._folder, self._newest):
            self._newest = row.seq
            of_row = of_source.get(row.source)
            if not of_row:
                source = f"{row.source[0]}:{row.source[1]}"
                troubles.append(Violation((f"{row.head}: stored, though nothing was sent from {source}",)))
                continue
            # A port comes again: the newest of those that sent this target.
            sent = next((one for one in reversed(of_row) if row.target in one.case.sent), of_row[-1])
            sent.stored.append(row)
            if id(sent) not in now:
                late[id(sent)] = sent
        self.totals.late += len(late)
        return list(late.values())


def plain_case() -> Case:
    """A small valid request that waits for its response."""
    body = b'{"plain":true}'
    headers = [(b"Host", b"x"), (b"Content-Length", b"%d" % len(body))]
    target = f"/catch/{PLAIN}/alive".encode()
    head = b"POST %b HTTP/1.1\r\n%b\r\n" % (target, b"".join(b"%b: %b\r\n" % header for header in headers))
    request = HttpRequest(b"POST", target, b"1.1", stripped(headers), body)
    valid = ValidRequest(request, head + body, Fate.STORED)
    return Case(-1, (Packet(valid.wire),), Ending.WAIT, (valid,))
