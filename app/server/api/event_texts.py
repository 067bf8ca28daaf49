"""Writes events as Server-Sent Events: `id`, `event`, and `data` as one line of JSON."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

import msgspec

from app.core.delivery import Delivery
from app.core.events import (
    DeliveryChanged,
    EndpointRemoved,
    EndpointSaved,
    Event,
    Refused,
    ReplayChanged,
    TunnelChanged,
)
from app.core.model import Endpoint, Summary
from app.server.api.event_log import LoggedEvent, Position
from app.server.api.replays import replay_out
from app.server.api.serializers import delivery_summary_out, made, refusal_out, summary_out
from app.server.api.server import ApiServices
from hookline import records

EVENT_TYPES: tuple[records.EventType, ...] = get_args(records.EventType)
_TYPE_OF: dict[type, records.EventType] = {
    Summary: "captured",
    DeliveryChanged: "delivered",
    EndpointSaved: "endpoint",
    EndpointRemoved: "endpoint",
    Refused: "refused",
    ReplayChanged: "replay",
    TunnelChanged: "tunnel",
}
_NOTHING = (None, None)
BATCH = 500
"""Events looked at for one chunk."""
CHUNK_BYTES = 256 * 1024
CHUNKS = 16
"""Kept, for callers that ask for the same events."""
_encode = msgspec.json.Encoder().encode


class EventFilter(NamedTuple):
    """Which events a caller wants: of these types, of one endpoint (a slug) or all. The tunnel is every endpoint's."""

    types: tuple[records.EventType, ...]
    endpoint: str | None


class EventChunk(NamedTuple):
    """Events as they are sent, and the position of the last one that was looked at."""

    text: bytes
    last: Position


def id_line(position: Position) -> bytes:
    return f"id: {position}\n".encode()


def event_text(type_: str, data: msgspec.Struct, id_: bytes = b"") -> bytes:
    """`id_` is its `id_line`, if it has one."""
    return b"%sevent: %s\ndata: %s\n\n" % (id_, type_.encode(), _encode(data))


class EventTexts:
    """Writes each event once for all callers."""

    def __init__(self, services: ApiServices) -> None:
        self._services, self._log = services, services.events
        self._shown = 0
        self._chunks: dict[tuple[int, EventFilter], EventChunk] = {}
        """Those made since new events were last shown: callers that keep up ask for the same ones."""
        self._streamed: Counter[records.EventType] = Counter()
        """The types of events that callers stream, of all endpoints."""

    @contextlib.contextmanager
    def streaming(self, wanted: EventFilter) -> Iterator[None]:
        """While a caller streams these events. Those of all endpoints are written soon after they happened, a few at a
        time and with their data still in the processor's cache: hundreds at once, when they are shown, take twice as
        long and hold captures up."""
        types = wanted.types if wanted.endpoint is None else ()
        self._streamed.update(types)
        self._log.on_recorded = self._write_streamed if self._streamed.total() else None
        try:
            yield
        finally:
            self._streamed.subtract(types)
            self._log.on_recorded = self._write_streamed if self._streamed.total() else None

    def after(self, number: int, wanted: EventFilter) -> EventChunk | None:
        """Of the events after `number`, which the log holds, those that pass the filter; None if there are no events
        after it."""
        if self._shown != self._log.shown or len(self._chunks) >= CHUNKS:
            self._shown = self._log.shown
            self._chunks.clear()
        chunk = self._chunks.get((number, wanted))
        if chunk is None and (events := self._log.since(number, BATCH)):
            chunk = self._chunks[number, wanted] = self.chunk(events, wanted)
        return chunk

    def chunk(
        self, events: Sequence[LoggedEvent], wanted: EventFilter, ids: Collection[str] | None = None
    ) -> EventChunk:
        """Those of `events` that pass the filter, and of captures only those with these `ids` or all, up to about
        `CHUNK_BYTES`."""
        types, endpoint = wanted
        parts: list[bytes] = []
        size = 0
        for event in events:
            what, type_ = event.what, _TYPE_OF[type(event.what)]
            if type_ not in types:
                continue
            if ids is not None and isinstance(what, Summary) and what.id not in ids:
                continue
            text = event.text
            if text is None:
                if endpoint is not None and self._is_foreign(what, endpoint):
                    continue
                text = self._write(event)
            if endpoint is None or endpoint == event.endpoint or type_ == "tunnel":
                parts.append(text)
                size += len(text)
                if size > CHUNK_BYTES:
                    break
        return EventChunk(b"".join(parts), self._log.position_of(event))

    def captured(self, summary: Summary, position: Position) -> bytes:
        """Empty if its endpoint was deleted."""
        _, data = self._data(summary)
        return event_text("captured", data, id_line(position)) if data else b""

    def _is_foreign(self, what: Event | Summary, slug: str) -> bool:
        """Whether it is of another endpoint, as far as that is known without writing it: of the frequent events."""
        match what:
            case Summary(endpoint_id=endpoint_id) | DeliveryChanged(delivery=Delivery(endpoint_id=endpoint_id)):
                endpoint = self._services.store.endpoints.by_id(endpoint_id)
                return endpoint is None or endpoint.slug != slug
        return False

    def _write_streamed(self, events: Sequence[LoggedEvent]) -> None:
        for event in events:
            if event.text is None and self._streamed[_TYPE_OF[type(event.what)]]:
                self._write(event)

    def _write(self, event: LoggedEvent) -> bytes:
        """Empty if its endpoint was deleted."""
        event.endpoint, data = self._data(event.what)
        type_, id_ = _TYPE_OF[type(event.what)], b"id: %s-%d-%d\n" % (self._log.run, event.number, event.capture)
        event.text = event_text(type_, data, id_) if data else b""
        return event.text

    def _data(self, what: Event | Summary) -> tuple[str | None, msgspec.Struct | None]:
        """The slug of the endpoint it is about, and its data; no data if that endpoint was deleted."""
        match what:
            case Summary():
                endpoint = self._services.store.endpoints.by_id(what.endpoint_id)
                return (endpoint.slug, summary_out(what, endpoint.slug)) if endpoint else _NOTHING
            case DeliveryChanged(delivery=delivery):
                endpoint = self._services.store.endpoints.by_id(delivery.endpoint_id)
                return (endpoint.slug, delivery_summary_out(delivery, endpoint)) if endpoint else _NOTHING
            case EndpointSaved(endpoint=endpoint, created=created):
                return self._endpoint(endpoint, "created" if created else "changed")
            case EndpointRemoved(endpoint=endpoint):
                return self._endpoint(endpoint, "deleted")
            case Refused(refusal=refusal):
                refused = refusal_out(refusal, self._services.store.endpoints)
                return refused.endpoint, refused
            case ReplayChanged(replay=replay):
                replayed = replay_out(replay, self._services.store.endpoints)
                return replayed.endpoint, replayed
            case TunnelChanged(tunnel=tunnel):
                return None, made(records.TunnelChange, tunnel)
        raise AssertionError(f"{type(what).__name__} is not logged")

    def _endpoint(
        self, endpoint: Endpoint, change: Literal["created", "changed", "deleted"]
    ) -> tuple[str, records.EndpointChange]:
        url, tunnel = self._services.addresses.capture_url(endpoint), self._services.tunnels.url_state
        return endpoint.slug, made(records.EndpointChange, endpoint, change=change, url=url, tunnel=tunnel)
