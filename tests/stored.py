"""Stores requests as the capture server does."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from msgspec.structs import replace

from app.core.model import PART_SIZE, Capture
from app.core.target import Target
from app.db.captures import Captures
from app.db.store import Store


async def store_request(
    captures: Captures,
    capture: Capture,
    body: bytes,
    targets: Sequence[Target] = (),
    *,
    part_size: int = PART_SIZE,
) -> Capture:
    """The request as it is stored. A long body comes part by part."""
    key, at = None, 0
    while len(body) - at > part_size:
        part = body[at : at + part_size]
        key = await captures.add_part(key, at, part, endpoint_id=capture.endpoint_id)
        at += len(part)
    return replace(capture, seq=await captures.add(capture, body[at:], key, targets))


def store_with(store: Store, **parts: object) -> Store:
    """The same store for whoever is handed it, with these parts in the place of its own."""
    changed = copy(store)
    for name, part in parts.items():
        setattr(changed, name, part)
    return changed
