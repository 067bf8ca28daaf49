"""All that a store tells, as plain values that are equal if two stores tell the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from app.core.clock import DAY_US
from app.core.delivery import Delivery, DeliveryFilter
from app.core.errors import HooklineError
from app.core.model import Capture, DeliveryState, Endpoint, PageKey, Summary
from app.core.record import Record
from app.core.target import Target
from app.db.store import Store
from tests.db.hands import NOW

BY_DESIGN = {
    "seq": "each engine numbers requests, endpoints, targets and deliveries itself: PostgreSQL leaves numbers out",
    "number": "of a deletion: it tells which node began it",
    "version": "of an endpoint: only nodes that share a store need one",
    "starred_by": "who set a star: a file has one user",
    "noted_by": "the same of a note",
    "created_at": "when an endpoint was created, by the clock of the machine",
    "queued_at": "when a delivery was queued, by the same",
    "sending_at": "when its attempt began, by the same",
}
"""The fields in which the engines differ, and why; and the ids of deliveries, which are random."""
OTHERS: dict[str, type] = {
    "endpoint_id": Endpoint,
    "endpoint_ids": Endpoint,
    "target_id": Target,
    "delivery_id": Delivery,
    "first_delivery": Delivery,
    "second_delivery": Delivery,
}
"""Fields that hold the numbers or ids of others."""
BY_OTHERS: dict[str, type] = {"deleted": Endpoint, "unsent": Target}
"""Fields that hold counts by such numbers."""


class Names:
    """Tells a store's numbers by the order in which they are seen."""

    def __init__(self) -> None:
        self._seen: dict[type, dict[object, str]] = {}

    def name(self, kind: type, number: object) -> str:
        seen = self._seen.setdefault(kind, {})
        return seen.setdefault(number, f"{kind.__name__} {len(seen) + 1}")

    def plain(self, value: Any) -> Any:
        """The value without what differs by design."""
        if isinstance(value, HooklineError):
            return f"{type(value).__name__}: {value}"
        if isinstance(value, Record):
            fields = [name for name in value.__struct_fields__ if name not in BY_DESIGN]
            return {name: self._field(value, name) for name in fields}
        if isinstance(value, dict):
            return {self.plain(key): self.plain(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(one) for one in value]
        return sorted(map(self.plain, value)) if isinstance(value, set | frozenset) else value

    def _field(self, record: Record, name: str) -> Any:
        value, kind = getattr(record, name), OTHERS.get(name)
        if name in BY_OTHERS and isinstance(value, dict):
            return {self.name(BY_OTHERS[name], number): count for number, count in sorted(value.items())}
        if name == "id" and isinstance(record, Endpoint | Target | Delivery):
            kind = type(record)
        if kind is None or value is None or (name == "delivery_id" and isinstance(record, Capture)):
            return self.plain(value)
        return [self.name(kind, one) for one in sorted(value)] if name == "endpoint_ids" else self.name(kind, value)


async def all_told(store: Store, names: Names, dice: random.Random) -> dict[str, Any]:
    """Everything, under names that say what it is; of what would take long only samples."""
    endpoints, captures = store.endpoints.all(), store.captures
    requests = await captures.page(None, limit=10_000)
    told: dict[str, Any] = {
        "endpoints": endpoints,
        "plan": store.account.plan,
        "in the order of storing": await captures.between(0, captures.newest_seq, 10_000),
        "use": [store.limits.use(), store.limits.use_of_responses(), store.limits.reached()],
        "purged": sorted(report.deleted.values()) if (report := store.retention.last_report) is not None else None,
        "expired": (await store.retention.size()).expired,
        "tunnels": [await store.tunnels.history(), await store.tunnels.copies()],
        **await _bodies(store, dice.sample(requests, min(len(requests), 10))),
        **await _deliveries(store, endpoints, names, dice),
    }
    for endpoint in (None, *endpoints):
        told |= {
            f"{endpoint and endpoint.slug} {what}": one for what, one in (await _list(store, endpoint, dice)).items()
        }
    return {what: names.plain(one) for what, one in told.items()}


async def _list(store: Store, endpoint: Endpoint | None, dice: random.Random) -> dict[str, Any]:
    """What lists and charts show, of one endpoint or of all."""
    number, captures = None if endpoint is None else endpoint.id, store.captures
    requests = await captures.page(number, limit=10_000)
    edges = [NOW - days * DAY_US for days in (4, 3, 2, 1, 0, -1)]
    told: dict[str, Any] = {
        "requests": requests,
        "marked": await captures.marked(number),
        "bars": await store.activity.bars(number, edges),
        "oldest": await store.activity.oldest(number),
        "senders": await store.senders.lately(number),
    }
    if endpoint is not None:
        told |= {"counts": captures.counts(endpoint.id), "use": store.limits.use_of(endpoint.id)}
    if endpoint is not None and len(endpoint.targets) > 1:
        first, second, *_ = endpoint.targets
        told["pairs"] = await store.response_pairs.page(endpoint.id, first.id, second.id)
    if requests:
        one = dice.choice(requests)
        key = PageKey(received_at=one.received_at, id=one.id)
        told |= {
            "older": await captures.page(number, before=key, limit=7),
            "newer": await captures.page(number, after=key, limit=7),
            "beginning": await captures.page(number, beginning=one.id[:13]),
        }
    return told


async def _bodies(store: Store, some: Sequence[Summary]) -> dict[str, Any]:
    """Of these requests."""
    captures, ids = store.captures, [one.id for one in some]
    return {
        "whole": [await captures.get_with_body(one) for one in ids],
        "parts": [await captures.body(one, 3, 1_100_000) for one in ids],
        "described": await captures.descriptions(ids, {one.endpoint_id: "X-Kind" for one in some}),
        "stored": await captures.stored([*ids, "no such id"]),
        "to be sent": await store.deliveries.requests(ids),
        "deliveries of requests": [await store.deliveries.of_capture(one) for one in ids],
    }


async def _deliveries(store: Store, endpoints: Sequence[Endpoint], names: Names, dice: random.Random) -> dict[str, Any]:
    parts, targets = store.deliveries, [target for endpoint in endpoints for target in endpoint.targets]
    filters = {
        "all": DeliveryFilter(),
        **{state.value: DeliveryFilter(state=state) for state in DeliveryState if state is not DeliveryState.NONE},
        "replays": DeliveryFilter(replay=True),
        **{endpoint.slug: DeliveryFilter(endpoint_id=endpoint.id, replay=False) for endpoint in endpoints},
    }
    pages = {name: await parts.page(which, limit=10_000) for name, which in filters.items()}
    ids = [delivery.id for delivery in pages["all"]]
    some = dice.sample(ids, min(len(ids), 10))
    replays = await store.replays.latest()
    return {
        "deliveries": pages,
        "delivery counts": {name: await parts.count(which) for name, which in filters.items()},
        "attempts": [await parts.attempts(one) for one in some],
        "last attempts": [(await parts.last_attempts(ids)).get(one) for one in ids],
        "responses": [await _response(store, one) for one in some],
        "targets": [
            [(await parts.target_counts()).get(target.id), target.id in await parts.targets_with_queued()]
            for target in targets
        ],
        "queued": [await parts.queued(target.id, 5) for target in targets],
        "due": [await parts.next_due_at(target.id) for target in targets],
        "troubles": [[one.endpoint, one.url, one.text] for one in await parts.target_troubles()],
        "outcomes": [(await store.activity.last_outcomes()).get(endpoint.id) for endpoint in endpoints],
        "replays": replays,
        "results": [[len(one.ended), one.repeated] for one in [await store.replays.results(one.id) for one in replays]],
    }


async def _response(store: Store, delivery_id: str) -> object:
    try:
        return await store.deliveries.response_body(delivery_id, 1)
    except HooklineError as error:
        return error
