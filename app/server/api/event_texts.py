"""Writes events as Server-Sent Events: `id`, `event`, and `data` as one line of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import msgspec

from app.core.events import DeliveryChanged, EndpointRemoved, EndpointSaved, Event, Refused, ReplayChanged
from app.core.model import Endpoint, Summary
from app.core.raw_request import slug_of
from app.server.api.event_log import EventText, LoggedEvent, Position
from app.server.api.event_schemas import EndpointChangeOut, EventType
from app.server.api.replay_specs import replay_out
from app.server.api.serializers import delivery_summary_out, refusal_out, summary_out
from app.server.api.services import ApiServices

EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
_TYPE_OF: dict[type, EventType] = {
    Summary: "captured",
    DeliveryChanged: "delivered",
    EndpointSaved: "endpoint",
    EndpointRemoved: "endpoint",
    Refused: "refused",
    ReplayChanged: "replay",
}
_NOTHING = EventText(endpoint=None, text=b"")
CHUNK_BYTES = 256 * 1024
_encode = msgspec.json.Encoder().encode


class EventFilter(NamedTuple):
    """Which events a caller wants: of these types, of one endpoint (a slug) or all, and of captures only those with
    these ids or all."""

    types: tuple[EventType, ...]
    endpoint: str | None
    ids: frozenset[str] | None


class EventChunk(NamedTuple):
    """Events as they are sent, and the last one that was looked at."""

    text: bytes
    last: LoggedEvent


def id_line(position: Position) -> bytes:
    return f"id: {position}\n".encode()


def event_text(type_: str, data: msgspec.Struct) -> bytes:
    """An event without its id."""
    return b"event: %s\ndata: %s\n\n" % (type_.encode(), _encode(data))


class EventTexts:
    """Writes each event once for all callers."""

    def __init__(self, services: ApiServices) -> None:
        self._services = services
        self._range = (0, 0)
        self._chunks: dict[EventFilter, EventChunk] = {}
        """Of the events last asked for, by filter: callers that keep up ask for the same ones."""

    def chunk(self, events: Sequence[LoggedEvent], wanted: EventFilter) -> EventChunk:
        """Those of `events` that pass the filter, up to about `CHUNK_BYTES`."""
        span = (events[0].number, events[-1].number)
        if span != self._range:
            self._range = span
            self._chunks.clear()
        if wanted not in self._chunks:
            self._chunks[wanted] = self._joined(events, wanted)
        return self._chunks[wanted]

    def _joined(self, events: Sequence[LoggedEvent], wanted: EventFilter) -> EventChunk:
        parts: list[bytes] = []
        size = 0
        for event in events:
            if _TYPE_OF[type(event.what)] not in wanted.types:
                continue
            if wanted.ids is not None and isinstance(event.what, Summary) and event.what.id not in wanted.ids:
                continue
            slug, text = self._of(event)
            if wanted.endpoint in (None, slug):
                parts.append(text)
                size += len(text)
            if size > CHUNK_BYTES:
                break
        return EventChunk(b"".join(parts), event)

    def _of(self, event: LoggedEvent) -> EventText:
        """Its text is empty if its endpoint was deleted before it was written."""
        if event.text is None:
            slug, text = self._written(event.what)
            line = b"id: %s-%d-%d\n" % (self._services.events.run, event.number, event.position)
            event.text = EventText(slug, line + text if text else b"")
        return event.text

    def captured(self, summary: Summary) -> EventText:
        endpoint = self._services.endpoints.by_id(summary.endpoint_id)
        if endpoint is None:
            return _NOTHING
        slug = endpoint.slug
        return EventText(slug, b"event: captured\ndata: %s\n\n" % _encode(summary_out(summary, slug)))

    def _written(self, what: Event | Summary) -> EventText:
        match what:
            case Summary():
                return self.captured(what)
            case DeliveryChanged(delivery=delivery):
                endpoint = self._services.endpoints.by_id(delivery.endpoint_id)
                if endpoint is None:
                    return _NOTHING
                shape = delivery_summary_out(delivery, endpoint)
                return EventText(endpoint.slug, event_text("delivered", shape))
            case EndpointSaved(endpoint=endpoint, created=created):
                return self._endpoint(endpoint, "created" if created else "changed")
            case EndpointRemoved(endpoint=endpoint):
                return self._endpoint(endpoint, "deleted")
            case Refused(refusal=refusal):
                slug = slug_of(refusal.target)
                known = slug if slug and self._services.endpoints.by_slug(slug) is not None else None
                return EventText(known, event_text("refused", refusal_out(refusal, known)))
            case ReplayChanged(replay=replay):
                replayed = replay_out(replay, self._services.endpoints)
                return EventText(replayed.endpoint, event_text("replay", replayed))
        raise AssertionError(f"{type(what).__name__} is not logged")

    def _endpoint(self, endpoint: Endpoint, change: Literal["created", "changed", "deleted"]) -> EventText:
        shape = EndpointChangeOut(
            change=change,
            slug=endpoint.slug,
            url=self._services.endpoint_url(endpoint),
            name=endpoint.name,
            active=endpoint.active,
        )
        return EventText(endpoint.slug, event_text("endpoint", shape))
