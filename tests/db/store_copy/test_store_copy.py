"""A copy of a store, in the other engine or the same, is what the original is."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.core.model import Plan
from app.core.replay import ChosenRequests, Replay, ReplaySpec, ReplayState
from app.db import store_copy
from app.db.models import (
    MODELS,
    AccountModel,
    BodyModel,
    CaptureModel,
    LooseBodyModel,
    MigrationModel,
    StorageUseModel,
    TrashModel,
    UnfinishedCopyModel,
)
from app.db.postgres.schema import PARTITION
from app.db.store_copy import WHOLE, copy_store
from tests import damage, factories
from tests.db.helpers import Place, add, add_many, kept_bytes, query, recount, recount_bytes, write
from tests.db.store_copy.conftest import NewPlace, opened
from tests.db.store_copy.samples import LONG, OLD, add_long, contents, fill, unreported


def test_it_is_known_of_each_table_whether_it_is_copied() -> None:
    not_copied = {MigrationModel, AccountModel, StorageUseModel, TrashModel, LooseBodyModel, UnfinishedCopyModel}
    done = {*WHOLE, CaptureModel, BodyModel, *store_copy.BELONGING}
    assert set(MODELS) == done | not_copied
    assert not done & not_copied


async def test_from_a_file_to_servers_and_back_everything_stays(
    new_place: NewPlace, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_copy, "ROWS", 7)
    monkeypatch.setattr(store_copy, "BYTES", 10)  # five bodies of two bytes
    places = [new_place("sqlite"), postgres_url, *map(new_place, ("postgres", "sqlite", "sqlite"))]
    async with opened(places[0]) as store:
        await fill(store)
    expected = contents(places[0])
    assert not [name for name, rows in expected.items() if not rows and name not in LEFT_EMPTY]
    for source, target in pairwise(places):
        done = copy_store(source, target, unreported)
        assert (done.endpoints, done.requests, done.queued, done.damaged) == (2, 35, 4, ())
        assert contents(target) == expected
        assert kept_bytes(target) == recount_bytes(target)
    assert len({query(place, "SELECT instance_id FROM account")[0] for place in places}) == len(places)
    assert query(places[-1], "PRAGMA integrity_check") == [("ok",)]
    assert query(places[-1], "PRAGMA foreign_key_check") == []


LEFT_EMPTY = ("trash", "loose_body", "misdated", "unfinished_copy")


@pytest.mark.parametrize("target", ["sqlite", "postgres"])
async def test_a_copy_is_a_store_like_the_original(place: Place, new_place: NewPlace, target: str) -> None:
    async with opened(place) as store:
        await fill(store)
    async with opened(place) as store:
        endpoints, shown, counts = store.endpoints.all(), await store.captures.page(None), recount(place)
        newest = store.captures.newest_seq
    copy = new_place(target)
    copy_store(place, copy, unreported)
    async with opened(copy) as store:
        assert [one.draft() for one in store.endpoints.all()] == [one.draft() for one in endpoints]
        assert [one.id for one in store.endpoints.all()] == [one.id for one in endpoints]
        assert await store.captures.page(None) == shown
        assert store.account.plan is Plan.PRO
        assert {one.id: store.captures.counts(one.id) for one in endpoints} == counts
        long = next(one for one in shown if one.size == len(LONG))
        assert await store.captures.body(long.id) == LONG
        assert (await add(store, endpoints[0].id)).seq == newest + 1
        fresh = await add_long(store, endpoints[0].id)
        assert await store.captures.body(fresh) == await store.captures.body(long.id) == LONG
        made = await store.endpoints.create(factories.draft())
        assert made.id > max(one.id for one in endpoints) + 1, (
            "the number of the one that was deleted is not used again"
        )


async def test_what_is_in_the_trash_stays_behind(place: Place, new_place: NewPlace) -> None:
    async with opened(place) as store:
        await fill(store)
        orders, bare = store.endpoints.by_slug("orders"), store.endpoints.by_slug("bare")
        await add(store, orders.id)
    (deleted,) = query(place, "SELECT min(seq) FROM capture WHERE endpoint_id = ?", bare.id)[0]
    span = "INSERT INTO trash (endpoint_id, first_seq, last_seq, deletion) VALUES (?, 1, ?, 1)"
    write(place, span, bare.id, deleted)
    write(place, "UPDATE endpoint SET trashed = 2 WHERE id = ?", orders.id)
    copy = new_place("postgres" if isinstance(place, Path) else "sqlite")
    done = copy_store(place, copy, unreported)
    assert (done.endpoints, done.requests, done.queued) == (1, 31, 0)
    assert query(copy, "SELECT count(*), min(seq) FROM capture") == [(31, deleted + 1)]
    for table in ("target", "delivery", "attempt", "deleted_delivery", "tunnel_copy", "trash"):
        assert query(copy, f"SELECT count(*) FROM {table}") == [(0,)]
    assert kept_bytes(copy) == recount_bytes(copy)


async def test_what_ended_with_a_killed_hookline_has_ended_in_the_copy(place: Place, new_place: NewPlace) -> None:
    async with opened(place) as store:
        spec = ReplaySpec(source=ChosenRequests(ids=("a",)), seed=1)
        await store.replays.save(Replay(id="r1", created_at=1, spec=spec, state=ReplayState.RUNNING))
        await store.tunnels.opened("https://a.example", "ngrok", OLD)
    write(place, "UPDATE tunnel_url SET until = NULL")
    write(place, "UPDATE clock SET seen_at = ?", OLD + 7)
    copy = new_place("postgres" if isinstance(place, Path) else "sqlite")
    copy_store(place, copy, unreported)
    assert query(copy, "SELECT until FROM tunnel_url") == [(OLD + 7,)]
    async with opened(copy) as store:
        (replay,) = await store.replays.latest()
        assert replay.state is ReplayState.INTERRUPTED


@pytest.mark.parametrize("harm", [damage.change_body, damage.lose_body])
async def test_a_damaged_body_is_copied_as_it_is_and_named(place: Place, new_place: NewPlace, harm: Any) -> None:
    async with opened(place) as store:
        endpoint = await store.endpoints.create(factories.draft())
        short, _, long = (
            (await add(store, endpoint.id)).id,
            await add(store, endpoint.id),
            await add_long(store, endpoint.id),
        )
    harm(place, short)
    harm(place, long, 1)
    copy = new_place("postgres" if isinstance(place, Path) else "sqlite")
    assert copy_store(place, copy, unreported).damaged == (short, long)
    assert contents(copy) == contents(place)


async def test_numbers_of_several_partitions(new_place: NewPlace) -> None:
    source, target, back = map(new_place, ("sqlite", "postgres", "sqlite"))
    async with opened(source) as store:
        endpoint = await store.endpoints.create(factories.draft())
        await add(store, endpoint.id)
        for upto in (PARTITION - 2, 5 * PARTITION - 2):
            write(source, "UPDATE sqlite_sequence SET seq = ? WHERE name = 'capture'", upto)
            await add_many(store, endpoint.id, 3)
    for before, after in ((source, target), (target, back)):
        copy_store(before, after, unreported)
        assert contents(after) == contents(source)
    async with opened(target) as store:
        assert (await add(store, endpoint.id)).seq == 5 * PARTITION + 2


async def test_a_server_gets_text_as_it_can_hold_it(new_place: NewPlace) -> None:
    source, target = new_place("sqlite"), new_place("postgres")
    async with opened(source) as store:
        endpoint = await store.endpoints.create(factories.draft())
        await add(store, endpoint.id, event="a\0b")
    copy_store(source, target, unreported)
    assert query(target, "SELECT event FROM capture") == [("a\ufffdb",)]
