"""What lists of deliveries tell: their last attempts, and how many are queued for a target."""

from __future__ import annotations

from app.core.delivery import DeliveryFilter
from app.core.model import DeliveryState
from app.core.target import TargetCounts, TargetDraft
from app.db.store import Store
from tests import deliveries, factories


async def test_the_last_attempts_of_several_deliveries(store: Store) -> None:
    endpoint = await store.endpoints.create(factories.draft(forward_url=deliveries.URL))
    (failed,) = await deliveries.queued(store, endpoint)
    (delivered,) = await deliveries.queued(store, endpoint)
    (waiting,) = await deliveries.queued(store, endpoint)
    (other,) = await deliveries.queued(store, endpoint)
    await deliveries.fail(store, failed, attempts=11)
    await deliveries.deliver(store, delivered)
    await deliveries.deliver(store, other)
    found = await store.deliveries.last_attempts([failed.id, delivered.id, waiting.id])
    assert found == {one.id: (await store.deliveries.attempts(one.id))[-1] for one in (failed, delivered)}
    assert found[failed.id].number == 11
    assert await store.deliveries.last_attempts([]) == {}


async def test_queued_deliveries_are_counted_by_target(store: Store) -> None:
    endpoint = await store.endpoints.create(factories.draft(forward_url=deliveries.URL))
    second = await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:9/second"))
    found = store.endpoints.by_id(endpoint.id)
    assert found is not None
    first = found.targets[0]
    rows = [await deliveries.queued(store, found) for _ in range(3)]
    await deliveries.fail(store, rows[0][0])
    assert await store.deliveries.target_counts() == {
        first.id: TargetCounts(queued=2, failures=1, last_error=deliveries.REFUSED),
        second.id: TargetCounts(queued=3),
    }
    for row in rows:
        await deliveries.deliver(store, row[1])
    assert (await store.deliveries.target_counts()).keys() == {first.id}


async def test_a_page_of_ids_with_the_same_beginning(store: Store) -> None:
    endpoint = await store.endpoints.create(factories.draft(forward_url=deliveries.URL))
    rows = [one for _ in range(3) for one in await deliveries.queued(store, endpoint)]
    for row in rows:
        found = await store.deliveries.page(DeliveryFilter(beginning=row.id[:30]))
        assert [one.id for one in found] == [row.id]
    assert await store.deliveries.count(DeliveryFilter(beginning=rows[0].id[:3])) == 3
    assert await store.deliveries.page(DeliveryFilter(beginning=rows[0].id, state=DeliveryState.FAILED)) == []
