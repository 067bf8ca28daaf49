"""What targets respond has a limit of its own: the oldest responses go, and nothing that senders sent."""

from __future__ import annotations

from pathlib import Path

from app.core.delivery import Attempt
from app.core.model import DeliveryState, Endpoint
from app.core.sizes import KIB, MIB
from app.db.store import Store
from tests import deliveries, factories
from tests.db.helpers import OpenStore, Place, kept_bytes, query, write
from tests.db.retention.test_storage_limits import calm, check, left, used

BREAK_SQLITE = ("CREATE TRIGGER broken BEFORE UPDATE ON attempt BEGIN SELECT RAISE(ABORT, 'no'); END",)
BREAK_POSTGRES = (
    "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION $$no$$; END'",
    "CREATE TRIGGER broken BEFORE UPDATE ON attempt FOR EACH ROW EXECUTE FUNCTION broken()",
)
LONG = bytes(200 * KIB)


async def forwarding(store: Store, limit: int | None = None) -> Endpoint:
    draft = factories.draft(forward_url=deliveries.URL, storage_limit=limit)
    return await store.endpoints.create(draft)


async def respond(store: Store, endpoint: Endpoint, number: int, body: bytes = LONG) -> list[str]:
    """Deliver so many requests to a target that responds with `body`; the deliveries' ids."""
    ids = []
    for _ in range(number):
        (one,) = await deliveries.queued(store, endpoint)
        made = deliveries.attempt(one, status=200, failure=None, error=None, response_headers=(("X-Long", "y" * 500),))
        await deliveries.finish(store, one, DeliveryState.DELIVERED, made, body=body)
        ids.append(one.id)
    return ids


async def attempts(store: Store, ids: list[str]) -> list[Attempt]:
    return [(await store.deliveries.attempts(one))[0] for one in ids]


async def test_a_target_that_responds_much_removes_no_request(store: Store, place: Place) -> None:
    endpoint = await forwarding(store, MIB)
    ids = await respond(store, endpoint, 20)
    await calm(store)
    assert len(await left(store, endpoint)) == 20
    assert used(store, endpoint) < 100 * KIB
    assert not any(one.response_removed for one in await attempts(store, ids))
    assert 20 * len(LONG) < store.limits.use_of_responses().used < 21 * len(LONG)
    await check(store, place)


async def test_above_their_limit_the_oldest_responses_go_and_the_attempts_stay(
    open_store: OpenStore, place: Place
) -> None:
    store = await open_store()
    store.limits.set_response_limit(MIB)
    endpoint = await forwarding(store)
    ids = await respond(store, endpoint, 12)
    await calm(store)
    assert MIB * 0.6 < store.limits.use_of_responses().used <= MIB
    assert not store.limits.use_of_responses().reached
    made = await attempts(store, ids)
    removed = [one.response_removed for one in made]
    assert removed == sorted(removed, reverse=True)
    assert 6 < sum(removed) < 12
    for delivery_id, one in zip(ids, made, strict=True):
        kept = await store.deliveries.response_body(delivery_id, 1)
        assert (one.status, one.size, one.headers[0]) == (200, len(deliveries.BODY), ("Host", "127.0.0.1:9"))
        assert (kept, one.response_size, one.response_truncated, len(one.response_headers)) == (
            (b"", 0, True, 0) if one.response_removed else (LONG, len(LONG), False, 1)
        )
    await check(store, place)
    await store.captures.clear(endpoint.id)
    await check(store, place)
    assert kept_bytes(place) == {-1: 0, 0: 0, endpoint.id: 0}
    await store.close()


async def test_a_lower_limit_and_a_restart_go_on_where_the_last_ended(open_store: OpenStore, place: Place) -> None:
    store = await open_store()
    ids = await respond(store, await forwarding(store), 8, bytes(1_000))
    (failed,) = await deliveries.queued(store, store.endpoints.all()[0])
    await deliveries.fail(store, failed)
    for limit, least in ((6_000, 4), (3_000, 6)):
        store.limits.set_response_limit(limit)
        await calm(store)
        assert store.limits.use_of_responses().used <= limit
        assert sum(one.response_removed for one in await attempts(store, ids)) >= least
        await check(store, place)
        await store.close()
        store = await open_store()
    store.limits.set_response_limit(1)
    await calm(store)
    # Without a response there was none to remove.
    assert [one.response_removed for one in await attempts(store, [*ids, failed.id])] == [True] * 8 + [False]
    ids = await respond(store, store.endpoints.all()[0], 1, b"new")
    await calm(store)
    assert (await attempts(store, ids))[0].response_removed
    await check(store, place)
    await store.close()


async def test_what_cannot_be_removed_stays_until_it_can(store: Store, place: Place) -> None:
    endpoint = await forwarding(store)
    ids = await respond(store, endpoint, 3, bytes(1_000))
    for statement in BREAK_SQLITE if isinstance(place, Path) else BREAK_POSTGRES:
        write(place, statement)
    store.limits.set_response_limit(1)
    await calm(store)
    assert not any(one.response_removed for one in await attempts(store, ids))
    write(place, "DROP TRIGGER broken" if isinstance(place, Path) else "DROP TRIGGER broken ON attempt")
    ids += await respond(store, endpoint, 1, b"new")
    await calm(store)
    assert all(one.response_removed for one in await attempts(store, ids))
    assert query(place, "SELECT count(*) FROM attempt") == [(4,)]
