"""Events as they happen: Server-Sent Events, read again from the last one when the connection breaks."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from hookline.calls import Params, decoded, query_of
from hookline.errors import ApiError, ProblemError, UnreachableError
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


class ServerEvent(NamedTuple):
    """`id` is that of the last event that had one, `data` its JSON."""

    id: str
    type: str
    data: bytes


class EventParser:
    """Reads one stream after the other. `last_id` continues after what was read."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self._rest = b""
        self._fields: dict[bytes, bytes] = {}

    def feed(self, data: bytes) -> list[ServerEvent]:
        """The events that are now complete."""
        # Only line feeds end a line: JSON may contain what str.splitlines takes for one, such as U+2028.
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [event for line in lines if (event := self._line(line)) is not None]

    def restart(self) -> None:
        """Another stream begins."""
        self._rest = b""
        self._fields = {}

    def _line(self, line: bytes) -> ServerEvent | None:
        if line:
            name, _, value = line.partition(b": ")
            self._fields[name] = value
            return None
        fields, self._fields = self._fields, {}
        self.last_id = fields.get(b"id", self.last_id.encode()).decode()
        if b"data" not in fields:  # a comment
            return None
        return ServerEvent(self.last_id, fields.get(b"event", b"").decode(), fields[b"data"])


EventData = Summary | DeliverySummary | EndpointChange | Refusal | Replay | TunnelChange | Gap

PATH = "/events"
TIMEOUT_S = 45.0
"""Hookline writes something every 15 s."""
UNAVAILABLE = 503
"""It is stopping, or too many callers follow events."""
ENDED = "Hookline ended the stream of events. Is it still running?"
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


class EventReader:
    """Reads one stream after the other, each from where the last one broke off."""

    def __init__(self, after: str | None, patience: float) -> None:
        self._parser = EventParser(after or "")
        self._patience = patience
        self._until: float | None = None

    def begin(self) -> dict[str, str]:
        """The headers that ask for what follows."""
        self._parser.restart()
        return {"Last-Event-ID": self._parser.last_id} if self._parser.last_id else {}

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events that are now complete, without positions and what only a newer program sends."""
        self._until = None
        for id_, type_, content in self._parser.feed(data):
            if type_ in KINDS:
                yield Event(id=id_, type=type_, data=decoded(content, KINDS[type_]))  # type: ignore[arg-type]  # one of KINDS

    def pause_after(self, error: ApiError) -> float:
        """Seconds until the next try; raises `error` if that is in vain, or it has been tried long enough."""
        if isinstance(error, ProblemError):
            if error.status != UNAVAILABLE:
                raise error
            error = UnreachableError(str(error))
        elif not isinstance(error, UnreachableError):
            raise error
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._patience
        if now >= self._until:
            raise error
        return min(PAUSE_S, self._until - now)


def event_filter(endpoint: str | None, q: str, types: Collection[EventType]) -> Params:
    """The query parameters that select events."""
    return query_of(endpoint=endpoint, q=q, types=",".join(types))


def follow(transport: Transport, params: Params, after: str | None, patience: float) -> Iterator[Event]:
    """See `Client.events`."""
    reader = EventReader(after, patience)
    while True:
        error: ApiError = UnreachableError(ENDED)
        try:
            with transport.stream(PATH, params, timeout_s=TIMEOUT_S, headers=reader.begin()) as pieces:
                for data in pieces:
                    yield from reader.feed(data)
        except ApiError as broken:
            error = broken
        time.sleep(reader.pause_after(error))


async def async_follow(
    transport: AsyncTransport, params: Params, after: str | None, patience: float
) -> AsyncIterator[Event]:
    """See `AsyncClient.events`."""
    import asyncio  # start-up time: the blocking client needs none of it

    reader = EventReader(after, patience)
    while True:
        error: ApiError = UnreachableError(ENDED)
        try:
            async with transport.stream(PATH, params, timeout_s=TIMEOUT_S, headers=reader.begin()) as pieces:
                async for data in pieces:
                    for event in reader.feed(data):
                        yield event
        except ApiError as broken:
            error = broken
        await asyncio.sleep(reader.pause_after(error))
