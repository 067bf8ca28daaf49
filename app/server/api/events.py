"""Calls that wait for what happens: the stream of Server-Sent Events, and the next request that is captured. Their
callers wake up for new events, when they leave, and when the API stops."""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from aiohttp import web

from app.core.errors import StorageUnavailableError
from app.core.model import Summary
from app.server.api.event_log import POSITION_PATTERN, EventLog, Position, parse_position, stored_position
from app.server.api.event_texts import EVENT_TYPES, EventFilter, EventTexts, event_text, id_line
from app.server.api.parameters import ENDPOINT, REDACTED, SEARCH, Parameter, several, text
from app.server.api.problems import Problem, parameter_problem
from app.server.api.protocol import ApiProtocol
from app.server.api.requests import BATCH, BODY, CaptureFilter, FilteringCalls, full_request
from app.server.api.routes import Returns, can_fail, json_response, route
from app.server.api.server import ApiServices
from hookline import records

if TYPE_CHECKING:
    from app.db.captures import Captures

FIRST_BATCH = 8
"""Small, because a caller that is behind often wants only the next capture."""


class NewCaptures:
    """Captures after `position`, which moves on with each batch: in the order of storing, none left out and none twice,
    first those stored since, then as they come."""

    def __init__(self, log: EventLog, captures: Captures, start: Position) -> None:
        self._log, self._captures, self.position = log, captures, start
        self._batch = FIRST_BATCH

    async def next(self) -> Sequence[tuple[Position, Summary]]:
        """The next batch, each with its position; empty while there are no new ones."""
        newest = self._log.newest()
        if self._log.holds(self.position):
            return self._from_log()
        while self.position.capture < newest.capture:
            batch = await self._captures.between(self.position.capture, newest.capture, self._batch)
            found = [(stored_position(summary.seq), summary) for summary in batch]
            self.position = found[-1][0] if len(batch) == self._batch else newest
            self._batch = min(4 * self._batch, BATCH)
            if found:
                return found
        self.position = newest
        # What came while the store was read may have pushed this position out of the log: the store has it next time.
        return self._from_log() if self._log.holds(newest) else ()

    def _from_log(self) -> Sequence[tuple[Position, Summary]]:
        while events := self._log.since(self.position.number, self._batch, shown=False):
            self.position = self._log.position_of(events[-1])
            self._batch = min(4 * self._batch, BATCH)
            found = [(self._log.position_of(event), event.what) for event in events if isinstance(event.what, Summary)]
            if found:
                return found
        return ()


FOLLOWERS_MAX = 500
STALL_S = 20.0
"""A caller that reads nothing for so long is dropped."""


class Follower:
    """What keeps it apart from the log is its caller's own place; it holds no events."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._writing = False
        self.wake = asyncio.Event()
        self.left = False
        """The caller has left."""
        self.stopping = False
        """The API is about to stop."""

    @property
    def ended(self) -> bool:
        return self.left or self.stopping

    def leave(self) -> None:
        self.left = True
        self.wake.set()

    def stop(self) -> None:
        self.stopping = True
        self.wake.set()
        if self._writing:
            self._abort()

    async def sleep(self, seconds: float) -> None:
        """Until something happens, or for so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        self.wake.clear()

    async def write(self, response: web.StreamResponse, data: bytes) -> None:
        """ConnectionError when the caller has left, or reads nothing."""
        self._writing = True
        try:
            async with asyncio.timeout(STALL_S):
                await response.write(data)
        except TimeoutError:
            self._abort()
            raise ConnectionResetError("The caller reads nothing.") from None
        finally:
            self._writing = False

    def _abort(self) -> None:
        if self._request.transport is not None:
            self._request.transport.abort()


class Followers:
    """Those of one API listener."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._followers: set[Follower] = set()

    def __len__(self) -> int:
        return len(self._followers)

    @contextlib.contextmanager
    def follow(self, request: web.Request) -> Iterator[Follower]:
        """A Problem when there are too many."""
        if len(self._followers) >= FOLLOWERS_MAX:
            detail = f"{FOLLOWERS_MAX} callers follow events or wait for requests already; end some of them."
            raise Problem("too-many-followers", detail)
        follower, protocol = Follower(request), request.protocol
        assert isinstance(protocol, ApiProtocol)
        protocol.on_lost = follower.leave
        if request.transport is None:  # it left before
            follower.leave()
        self._followers.add(follower)
        self._log.followers.add(follower.wake)
        try:
            yield follower
        finally:
            self._log.followers.discard(follower.wake)
            self._followers.discard(follower)
            protocol.on_lost = None

    async def stop(self, _: web.Application) -> None:
        """The API stops: end all of them."""
        for follower in self._followers:
            follower.stop()


HEARTBEAT_S = 15.0
RETRY_MS = 1_000
"""How long a caller should wait before it connects again."""
LAST_ID = "Last-Event-ID"
_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


TYPES = several(
    "types", "Only events of these types, with commas.", EVENT_TYPES, f"of {', '.join(EVENT_TYPES)}, with commas"
)


_ID_PATTERN = "[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
AFTER = text(
    "after",
    "Only what is newer: a position as events and Hookline-Position have it, or a request's ID.",
    pattern=f"^({POSITION_PATTERN}|{_ID_PATTERN})$",
)


class EventStream:
    """What one caller gets."""

    def __init__(
        self,
        services: ApiServices,
        texts: EventTexts,
        captures: CaptureFilter,
        types: tuple[records.EventType, ...],
    ) -> None:
        self._services, self._log, self._texts = services, services.events, texts
        self._captures = captures
        self._wanted = EventFilter(types, None if captures.endpoint is None else captures.endpoint.slug)
        self._position: Position

    async def run(self, follower: Follower, response: web.StreamResponse, start: Position | None) -> None:
        """Write events until the caller leaves or the API stops; ConnectionError if the caller is too slow."""
        self._position = self._log.newest() if start is None else start
        opening = event_text("position", records.Position(position=str(self._position)))
        await follower.write(response, b"retry: %d\n%s%s" % (RETRY_MS, id_line(self._position), opening))
        await self._catch_up(follower, response)
        with contextlib.nullcontext() if self._captures.query is not None else self._texts.streaming(self._wanted):
            await self._follow(follower, response)

    async def _follow(self, follower: Follower, response: web.StreamResponse) -> None:
        loop = asyncio.get_running_loop()
        quiet_since = loop.time()
        while not follower.ended:
            if not self._log.holds(self._position):
                raise ConnectionResetError("The caller reads too slowly.")
            text = await self._next_text()
            if text:
                await follower.write(response, text)
                quiet_since = loop.time()
            elif loop.time() - quiet_since >= HEARTBEAT_S:
                # The id spares a caller whose filters let nothing pass a long search when it connects again.
                await follower.write(response, b": nothing new\n%s\n" % id_line(self._position))
                quiet_since = loop.time()
            if text is None:
                await follower.sleep(HEARTBEAT_S)
            else:
                await asyncio.sleep(0)  # captures go on between chunks

    async def _catch_up(self, follower: Follower, response: web.StreamResponse) -> None:
        """Send what the log does not hold any more: captured requests, from the store."""
        start, newest = self._position, self._log.newest()
        if self._log.holds(start):
            return
        if start.capture > newest.capture and await self._services.store.nodes.catch_up():
            newest = self._log.newest()  # the caller was connected to another node
        if start.capture > newest.capture:
            gap = records.Gap(types=self._wanted.types, reason="The last event ID comes from another database.")
            await follower.write(response, event_text("gap", gap))
        else:
            if lost := tuple(kind for kind in self._wanted.types if kind != "captured"):
                gap = records.Gap(types=lost, reason="These events are kept for a short time, and while Hookline runs.")
                await follower.write(response, event_text("gap", gap))
            if "captured" in self._wanted.types:
                await self._send_stored(follower, response, newest.capture)
        self._position = newest

    async def _send_stored(self, follower: Follower, response: web.StreamResponse, upto: int) -> None:
        while self._position.capture < upto and not follower.ended:
            batch = await self._services.store.captures.between(self._position.capture, upto, BATCH)
            wanted = await self._captures.wanted(batch)
            parts: list[bytes] = []
            for summary in batch:
                self._position = stored_position(summary.seq)
                if summary.id in wanted:
                    parts.append(self._texts.captured(summary, self._position))
            await follower.write(response, b"".join(parts))
            if len(batch) < BATCH:
                return

    async def _next_text(self) -> bytes | None:
        """What the caller wants of the next events, at most a chunk; None if there are none. Moves on."""
        if self._captures.query is not None:
            events = self._log.since(self._position.number, BATCH)
            ids = await self._captures.wanted([event.what for event in events if isinstance(event.what, Summary)])
            chunk = self._texts.chunk(events, self._wanted, ids) if events else None
        else:
            chunk = self._texts.after(self._position.number, self._wanted)
        if chunk is None:
            return None
        self._position = chunk.last
        return chunk.text


async def start_of(services: ApiServices, name: str, given: str) -> Position:
    """The position that the parameter or header `name` has; a Problem for another text, or an unknown request."""
    if (position := parse_position(given)) is not None:
        return position
    try:
        capture_id = str(UUID(given))
    except ValueError:
        detail = f"{name} must be a position as events and the header Hookline-Position have it, or a request's ID."
        raise parameter_problem(name, detail) from None
    stored = await services.store.captures.seq_of(capture_id)
    if stored is None:
        detail = f"No request has the ID {given!r}, so it is not known what is newer. A position stays known."
        raise Problem("not-found", detail)
    return stored_position(stored)


TIMEOUT_DEFAULT_S, TIMEOUT_MAX_S = 30.0, 300.0
POSITION_HEADER = "Hookline-Position"


_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")


def _seconds(given: str) -> float | None:
    seconds = float(given) if _NUMBER.fullmatch(given) else math.nan
    return seconds if 0 <= seconds <= TIMEOUT_MAX_S else None


TIMEOUT = Parameter(
    "timeout",
    "How many seconds to wait.",
    {"type": "number", "minimum": 0, "maximum": TIMEOUT_MAX_S, "default": TIMEOUT_DEFAULT_S},
    f"a number from 0 to {TIMEOUT_MAX_S:.0f}",
    _seconds,
)


STREAM = Returns(media_type="text/event-stream")
POSITIONED = ((POSITION_HEADER, "Where to go on: the next call's `after`."),)


class FollowingCalls(FilteringCalls):
    """Handlers of `/requests/wait` and `/events`."""

    def __init__(self, services: ApiServices, followers: Followers) -> None:
        super().__init__(services)
        self._followers, self._texts = followers, EventTexts(services)

    @route(
        "GET",
        "/requests/wait",
        "Wait for a request",
        (ENDPOINT, SEARCH, REDACTED, BODY, AFTER, TIMEOUT),
        returns=(Returns(records.RequestHead, headers=POSITIONED), Returns(status=204, headers=POSITIONED)),
    )
    @can_fail("invalid-query", "not-found", "position-unknown", "stopping", "too-many-followers")
    async def wait(self, request: web.Request) -> web.Response:
        """The oldest matching request that was stored after `after`, in full; 204 if there is none within `timeout`
        seconds. Both have the header Hookline-Position: given as the next call's `after`, nothing is left out and
        nothing comes twice."""
        services, wanted, timeout_s = self._services, self._filter(request), TIMEOUT.of(request)
        after, body = AFTER.of(request), BODY.of(request) or False
        newest = services.events.newest()
        start = newest if after is None else await start_of(services, "after", after)
        if start.capture > newest.capture:
            detail = "after is newer than all stored requests, so it comes from another database. Wait without it."
            raise Problem("position-unknown", detail)
        until = asyncio.get_running_loop().time() + (TIMEOUT_DEFAULT_S if timeout_s is None else timeout_s)
        with self._followers.follow(request) as follower:
            captures = NewCaptures(services.events, services.store.captures, start)
            found = await self._first(follower, captures, wanted, newest=newest.capture, until=until, body=body)
        shown = await wanted.described([] if found is None else [found])
        response = json_response(shown[0]) if shown else web.Response(status=204)
        response.headers[POSITION_HEADER] = str(captures.position)
        return response

    async def _first(
        self,
        follower: Follower,
        captures: NewCaptures,
        wanted: CaptureFilter,
        *,
        newest: int,
        until: float,
        body: bool,
    ) -> records.RequestHead | None:
        """The first that is wanted, and `captures` at its position; None if the caller has left, or after `until`, when
        what was `newest` is examined too."""
        clock = asyncio.get_running_loop().time
        while not follower.left:
            batch = await captures.next()
            ids = await wanted.wanted([summary for _, summary in batch])
            for position, summary in batch:
                if summary.id not in ids:
                    continue
                found = await full_request(self._services, summary.id, body=body)
                if found is not None:
                    captures.position = position
                    return found
            left_s = until - clock()
            if left_s <= 0 and captures.position.capture >= newest:
                break
            if follower.stopping:
                detail = "Hookline is stopping; wait again when it runs."
                raise Problem("stopping", detail)
            endpoint = wanted.endpoint
            if endpoint is not None and self._store.endpoints.by_id(endpoint.id) is None:
                raise Problem("not-found", f"The endpoint {endpoint.slug!r} was deleted.")
            if not batch:
                await follower.sleep(max(left_s, 0))
        return None

    @route("GET", "/events", "Stream events", (ENDPOINT, SEARCH, TYPES, AFTER), returns=STREAM)
    @can_fail("invalid-query", "not-found", "too-many-followers")
    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Events as they happen, of all endpoints or one; of the `types` given, and of captured requests only those
        that match `q`. The header Last-Event-ID, or `after`, continues after an event. Types: `captured` (data: a
        request, as lists have it), `delivered` (a delivery), `endpoint` (`change`: created, changed or deleted; `slug`,
        `url`, `name`, `active`), `refused` (a refused request), `replay` (a replay), and `tunnel` (`state`, `program`,
        `url` and `problem`, as `GET /tunnel` has them), which also comes with `endpoint`. An event `gap` names `types`
        of which some may be missing here, and the `reason`."""
        captures, start = self._filter(request), None
        types = TYPES.of(request) or (EVENT_TYPES if captures.query is None else ("captured",))
        for name, given in ((LAST_ID, request.headers.get(LAST_ID)), ("after", AFTER.of(request))):
            if given and start is None:
                start = await start_of(self._services, name, given)
        response = web.StreamResponse(headers=_HEADERS)
        with self._followers.follow(request) as follower:
            await response.prepare(request)
            if request.method == "HEAD":
                return response
            stream = EventStream(self._services, self._texts, captures, types)
            # The caller left or was dropped, or the store is closed: it connects again, and continues where it was.
            with contextlib.suppress(ConnectionError, StorageUnavailableError):
                await stream.run(follower, response, start)
        return response
