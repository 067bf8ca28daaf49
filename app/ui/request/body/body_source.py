"""A body to be shown, wherever it is kept: what is known of it, and how to read a stretch of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.core.model import PART_SIZE, Capture, Delivery, Headers
from app.core.repositories import CaptureRepository, DeliveryRepository


@dataclass(frozen=True)
class BodySource:
    """`read(offset, length)` gives the bytes as they were sent. A saved file would be called `file_name`, or `name`
    with the ending of its type where there is none."""

    size: int
    headers: Headers
    content_type: str
    name: str
    read: Callable[[int, int], Awaitable[bytes]]
    file_name: str | None = None


def of_capture(capture: Capture, captures: CaptureRepository) -> BodySource:
    """The body of a request. One of a single part is read once: deleted meanwhile it can still be shown and copied."""
    kept: list[bytes] = []

    async def read(offset: int, length: int) -> bytes:
        if capture.size > PART_SIZE:
            return await captures.body(capture.id, offset, length)
        if not kept:
            kept.append(await captures.body(capture.id))
        return kept[0][offset : offset + length]

    return BodySource(capture.size, capture.headers, capture.content_type, f"request-{capture.id[:13]}", read)


def of_delivery(delivery: Delivery, deliveries: DeliveryRepository) -> BodySource:
    """The body of a mirror's answer, at most `PART_SIZE` of it; read once."""
    kept: list[bytes] = []

    async def read(offset: int, length: int) -> bytes:
        if not kept:
            kept.append(await deliveries.response_body(delivery.id))
        return kept[0][offset : offset + length]

    found = (value for name, value in delivery.response_headers if name.lower() == "content-type")
    return BodySource(
        delivery.response_size, delivery.response_headers, next(found, ""), f"answer-{delivery.id[:13]}", read
    )
