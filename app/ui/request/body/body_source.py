"""A body to show, wherever it is stored: its metadata, and a function that reads part of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.core.model import PART_SIZE, Capture, Delivery, Headers
from app.core.repositories import CaptureRepository, DeliveryRepository


@dataclass(frozen=True)
class BodySource:
    """`read(offset, length)` returns the bytes as they were sent. A saved file is called `file_name`, or `name` with
    the extension of its type if there is none.
    """

    size: int
    headers: Headers
    content_type: str
    name: str
    read: Callable[[int, int], Awaitable[bytes]]
    file_name: str | None = None


def of_capture(capture: Capture, captures: CaptureRepository) -> BodySource:
    """The body of a request. A body of a single part is read once: if it is deleted meanwhile it can still be shown and
    copied.
    """
    kept: list[bytes] = []

    async def read(offset: int, length: int) -> bytes:
        if capture.size > PART_SIZE:
            return await captures.body(capture.id, offset, length)
        if not kept:
            kept.append(await captures.body(capture.id))
        return kept[0][offset : offset + length]

    return BodySource(capture.size, capture.headers, capture.content_type, f"request-{capture.id[:13]}", read)


def of_delivery(delivery: Delivery, deliveries: DeliveryRepository) -> BodySource:
    """The body of a response to a delivery, at most `PART_SIZE` of it; read once."""
    kept: list[bytes] = []

    async def read(offset: int, length: int) -> bytes:
        if not kept:
            kept.append(await deliveries.response_body(delivery.id))
        return kept[0][offset : offset + length]

    found = (value for name, value in delivery.response_headers if name.lower() == "content-type")
    return BodySource(
        delivery.response_size, delivery.response_headers, next(found, ""), f"answer-{delivery.id[:13]}", read
    )
