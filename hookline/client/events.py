"""Events as they happen: Server-Sent Events, read again from the last one when the connection breaks."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from hookline.calls import Params, decoded, query_of
from hookline.client.event_stream import EventParser, ServerEvent
from hookline.errors import ProblemError, UnreachableError
from hookline.records import (
    DeliverySummary,
    EndpointChange,
    EventType,
    Gap,
    Record,
    Refusal,
    Replay,
    Summary,
    TunnelChange,
)
from hookline.transport import Transport

if TYPE_CHECKING:
    from hookline.client.async_transport import AsyncTransport

EventData = Summary | DeliverySummary | EndpointChange | Refusal | Replay | TunnelChange | Gap

PATH = "/events"
TIMEOUT_S = 45.0
"""Hookline writes something every 15 s."""
UNAVAILABLE = 503
"""It is stopping, or too many callers follow events."""
PAUSE_S = 1.0
"""Before it connects again."""

KINDS: dict[str, type[EventData]] = {
    "captured": Summary,
    "delivered": DeliverySummary,
    "endpoint": EndpointChange,
    "refused": Refusal,
    "replay": Replay,
    "tunnel": TunnelChange,
    "gap": Gap,
}


class Event(Record, frozen=True):
    """What happened. `id` continues after it; `gap` says that events of some types may be missing here."""

    id: str
    type: Literal["captured", "delivered", "endpoint", "refused", "replay", "tunnel", "gap"]
    data: EventData


def decoded_events(events: Iterable[ServerEvent]) -> Iterator[Event]:
    """Without positions, and what only a newer program sends."""
    for id_, type_, data in events:
        if type_ in KINDS:
            yield Event(id=id_, type=type_, data=decoded(data, KINDS[type_]))  # type: ignore[arg-type]  # one of KINDS


class Patience:
    """Bounds how long one tries to connect again."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: float | None = None

    def connected(self) -> None:
        self._until = None

    def next_pause(self, error: UnreachableError) -> float:
        """Seconds until the next try; raises `error` if it has been tried long enough."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._seconds
        if now >= self._until:
            raise error
        return min(PAUSE_S, self._until - now)


def event_filter(endpoint: str | None, q: str, types: Collection[EventType]) -> Params:
    """The query parameters that select events."""
    return query_of(endpoint=endpoint, q=q, types=",".join(types))


def follow(transport: Transport, params: Params, after: str | None, patience: float) -> Iterator[Event]:
    """See `Client.events`."""
    parser, tries = EventParser(after or ""), Patience(patience)
    while True:
        parser.restart()
        try:
            with transport.stream(PATH, params, timeout_s=TIMEOUT_S, headers=_headers(parser)) as pieces:
                for data in pieces:
                    tries.connected()
                    yield from decoded_events(parser.feed(data))
            error = UnreachableError("Hookline ended the stream of events. Is it still running?")
        except UnreachableError as broken:
            error = broken
        except ProblemError as problem:
            if problem.status != UNAVAILABLE:
                raise
            error = UnreachableError(str(problem))
        time.sleep(tries.next_pause(error))


async def async_follow(
    transport: AsyncTransport, params: Params, after: str | None, patience: float
) -> AsyncIterator[Event]:
    """See `AsyncClient.events`."""
    import asyncio  # start-up time: the blocking client needs none of it

    parser, tries = EventParser(after or ""), Patience(patience)
    while True:
        parser.restart()
        try:
            opened = transport.stream(PATH, params, timeout_s=TIMEOUT_S, headers=_headers(parser))
            async with opened as pieces:
                async for data in pieces:
                    tries.connected()
                    for event in decoded_events(parser.feed(data)):
                        yield event
            error = UnreachableError("Hookline ended the stream of events. Is it still running?")
        except UnreachableError as broken:
            error = broken
        except ProblemError as problem:
            if problem.status != UNAVAILABLE:
                raise
            error = UnreachableError(str(problem))
        await asyncio.sleep(tries.next_pause(error))


def _headers(parser: EventParser) -> dict[str, str]:
    return {"Last-Event-ID": parser.last_id} if parser.last_id else {}
