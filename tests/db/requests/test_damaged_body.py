"""A stored body that is not what was received is never taken for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import product

import pytest

from app.core.errors import DamagedBodyError
from app.core.model import PART_SIZE, Capture
from app.db.deliveries.deliveries import SHORT_BODY, TINY_BODY
from app.db.store import Store
from tests import damage, factories
from tests.db.helpers import Place, add
from tests.stored import store_request

Damage = Callable[[Place, str, int], None]


async def stored(store: Store, size: int) -> Capture:
    """A request with a body of that size, queued for its endpoint's target."""
    endpoint = await store.endpoints.create(factories.draft(forward_url="http://127.0.0.1:9/"))
    body = b"a" * size
    capture = factories.capture(body, endpoint_id=endpoint.id)
    return await store_request(store.captures, capture, body, endpoint.targets)


async def test_a_damaged_body_is_never_served_as_the_received_one(store: Store, place: Place) -> None:
    for (size, part), harm in product(
        (
            (10, 0),
            (TINY_BODY + 1, 0),
            (SHORT_BODY + 1, 0),
            (PART_SIZE, 0),
            (2 * PART_SIZE + 5, 1),
        ),
        (damage.change_body, damage.lose_body),
    ):
        capture = await stored(store, size)
        assert await store.captures.body(capture.id) == b"a" * size
        await store.captures.check_body(capture)
        harm(place, capture.id, part)
        with pytest.raises(DamagedBodyError, match="does not match the SHA-256"):
            await store.captures.body(capture.id)
        with pytest.raises(DamagedBodyError):
            await store.captures.check_body(capture)
        (target,) = store.endpoints.all()[-1].targets
        (queued,) = await store.deliveries.queued(target.id, 10)
        assert queued.body is None, "whoever sends it reads it then, and gets the error"
        assert (await store.deliveries.requests([capture.id]))[capture.id][1] is None


async def test_a_part_of_a_damaged_body_can_be_read(store: Store, place: Place) -> None:
    """So that the window can show it, with what is wrong."""
    capture = await stored(store, 10)
    damage.change_body(place, capture.id)
    assert await store.captures.body(capture.id, 0, 10) == b"a" * 9 + b"X"


async def test_the_other_bodies_are_served(store: Store, place: Place) -> None:
    capture = await stored(store, 10)
    other = await add(store, capture.endpoint_id, b"intact")
    damage.change_body(place, capture.id)
    assert await store.captures.body(other.id) == b"intact"
    empty = await add(store, capture.endpoint_id, b"")
    assert await store.captures.body(empty.id) == b""
    assert empty.sha256 == hashlib.sha256(b"").hexdigest()
    await store.captures.check_body(empty)
