"""A store with something in each of its tables, and what is in them."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from app.core.model import PART_SIZE, Plan
from app.core.replay import ChosenRequests, Replay, ReplaySpec, ReplayState
from app.db.models import MODELS, AccountModel, MigrationModel
from app.db.store_copy import columns_of, table_of
from tests import deliveries, factories
from tests.db.helpers import Place, add, query
from tests.stored import store_request

LONG = b"".join(b"%07d\n" % number for number in range((2 * PART_SIZE + 5_000) // 8))
OLD = 1_700_000_000_000_000


async def fill(store: Any) -> None:
    await store.account.set_plan(Plan.PRO)
    orders = await deliveries.two_targets(store, slug="orders", tags=("shop",), storage_limit=10**9)
    bare = await store.endpoints.create(factories.draft(slug="bare", name="Größe ✓", retention_days=90))
    gone = await store.endpoints.create(factories.draft())
    await store.endpoints.move(bare.id, 1)
    for number in range(30):
        fields = {"read": number % 2 == 0, "provider": "stripe", "event": f"e\t\\{number}", "identified": True}
        made = await add(store, bare.id, b"%d" % number, **fields)
        store.captures.responded(made.seq, 1.5 + number / 3)
    await add(store, bare.id, b"")
    long = await add_long(store, bare.id)
    await store.captures.star([long])
    await store.captures.set_note(long, "charged\ttwice\\\n\\. ✓")
    await deliveries.deliver(store, (await deliveries.queued(store, orders))[0], body=b"\x00\xff\n")
    await deliveries.fail(store, (await deliveries.queued(store, orders))[1], attempts=2)
    await deliveries.queued(store, orders)
    await deliveries.expired(store, orders, 2)
    spec = ReplaySpec(source=ChosenRequests(ids=(long,)), seed=1)
    await store.replays.save(Replay(id="r1", created_at=1, spec=spec, state=ReplayState.DONE))
    await store.tunnels.opened("https://a.example", "ngrok", OLD)
    await store.tunnels.closed(OLD + 5)
    await store.tunnels.copied(orders.id, "https://a.example", OLD)
    await add(store, gone.id)
    await store.endpoints.delete(gone.id)
    await store._cleanup.run()


async def add_long(store: Any, endpoint_id: int) -> str:
    """Store a request with a body in parts; its id."""
    headers, trailers = (("X-\xe9", "\xff\x01\\N"),), (("T", "1"),)
    capture = factories.capture(LONG, endpoint_id=endpoint_id, headers=headers, trailers=trailers)
    await store_request(store.captures, capture, LONG)
    return capture.id


def contents(place: Place) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of all tables, but for what tells one store from another."""
    found = {"account": query(place, "SELECT plan FROM account")}
    for model in MODELS:
        if model not in (MigrationModel, AccountModel):
            table = table_of(model)
            rows = query(place, f"SELECT {', '.join(columns_of(model))} FROM {table}")
            found[table] = sorted(rows, key=itemgetter(0))
    return found


def unreported(step: str, done: int, total: int) -> None:
    """How far a copy is."""
