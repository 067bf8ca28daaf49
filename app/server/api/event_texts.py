"""Writes events as Server-Sent Events: `id`, `event`, and `data` as one line of JSON."""

from __future__ import annotations

from typing import Literal, get_args

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


def type_of(event: LoggedEvent) -> EventType:
    return _TYPE_OF[type(event.what)]


def id_line(position: Position) -> bytes:
    return f"id: {position}\n".encode()


def event_text(type_: str, data: msgspec.Struct) -> bytes:
    """An event without its id."""
    return b"event: %s\ndata: %s\n\n" % (type_.encode(), msgspec.json.encode(data))


class EventTexts:
    """Writes each event once for all callers."""

    def __init__(self, services: ApiServices) -> None:
        self._services = services

    def of(self, event: LoggedEvent) -> EventText:
        """Its text is empty if its endpoint was deleted before it was written."""
        if event.text is None:
            event.text = self._written(event.what)
        return event.text

    def captured(self, summary: Summary) -> EventText:
        endpoint = self._services.endpoints.by_id(summary.endpoint_id)
        if endpoint is None:
            return _NOTHING
        return EventText(endpoint.slug, event_text("captured", summary_out(summary, endpoint.slug)))

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
