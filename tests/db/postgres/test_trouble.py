"""A server that rests, confirms nothing, or is read by others: what is acknowledged is stored, and no node waits for
ever."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
from peewee import Database

from app.core.delivery import DeliveryFilter
from app.core.errors import StorageUnavailableError
from app.core.events import (
    DeletionUndone,
    DeliveriesQueued,
    DeliveryChanged,
    Event,
    PlanChanged,
    RequestsUpdated,
    StorageTrouble,
)
from app.core.model import PART_SIZE, DeliveryState, Endpoint, Summary
from app.db import captures
from app.db.postgres import nodes, writer
from app.db.postgres import store as postgres_store
from app.db.postgres.schema import PARTITION, WRITE_LOCK
from app.db.postgres.store import Store
from app.db.raw_sql import execute
from tests import factories
from tests.db.conftest import OpenStore
from tests.db.helpers import Place, add_many, kept_bytes, of_kind, query, recount, recount_bytes
from tests.db.postgres.cut_line import CutLine
from tests.deliveries import URL, fail, queued
from tests.support import until

BODY = b"{}"


@pytest.fixture
def administrator(place: Place) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(str(place), autocommit=True) as connection:
        yield connection


async def add(store: Store, endpoint: Endpoint) -> int:
    return await store.captures.add(factories.capture(BODY, endpoint_id=endpoint.id), BODY)


async def read(store: Store, endpoint: Endpoint) -> list[int]:
    return [row.seq for row in await store.captures.page(endpoint.id)]


async def test_a_commit_that_no_standby_has_is_not_acknowledged(
    store: Store, endpoint: Endpoint, administrator: psycopg.Connection[Any]
) -> None:
    """A server takes up a changed setting some time after it was told to: captures are added until one has to wait."""

    async def add_many() -> None:
        while True:
            await add(store, endpoint)

    cancel = (
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
        " WHERE wait_event = 'SyncRep' AND datname = current_database()"
    )
    administrator.execute("ALTER SYSTEM SET synchronous_standby_names = 'missing'")
    try:
        administrator.execute("SELECT pg_reload_conf()")
        adding = asyncio.ensure_future(add_many())
        await until(lambda: administrator.execute(cancel) and adding.done())
        with pytest.raises(StorageUnavailableError, match="standby of the database server did not confirm"):
            await adding
    finally:
        administrator.execute("SET synchronous_commit TO local")
        administrator.execute("ALTER SYSTEM RESET synchronous_standby_names")
        administrator.execute("SELECT pg_reload_conf()")
    assert await add(store, endpoint)


@pytest.fixture
async def cut_off(line: CutLine, place: Place, events: list[Event]) -> AsyncIterator[Store]:
    """One whose line to the server can be cut."""
    opened = await Store.open(line.through(str(place)), events.append)
    yield opened
    await opened.close()


@pytest.mark.parametrize("stored", [True, False])
async def test_a_deletion_of_which_nobody_knows_whether_it_has_begun_is_undone(
    cut_off: Store, line: CutLine, place: Place, events: list[Event], stored: bool
) -> None:
    endpoint = await cut_off.endpoints.create(factories.draft())
    made = [one.id for one in await add_many(cut_off, endpoint.id, 600)]
    line.cut_at_commit("INSERT INTO trash", stored=stored)
    with pytest.raises(StorageUnavailableError):
        await cut_off.trash.delete(made[::2])
    await until(lambda: of_kind(events, DeletionUndone), 5)
    assert line.cuts == 1
    assert cut_off.captures.counts(endpoint.id) == recount(place)[endpoint.id]
    assert cut_off.captures.counts(endpoint.id).total == 600


@pytest.mark.parametrize("stored", [True, False])
async def test_an_undo_of_which_nobody_knows_whether_it_has_begun_is_finished(
    cut_off: Store, line: CutLine, place: Place, events: list[Event], stored: bool
) -> None:
    """The time for it would else be over before the user asks again, and what it has not restored yet purged."""
    endpoint = await cut_off.endpoints.create(factories.draft())
    made = [one.id for one in await add_many(cut_off, endpoint.id, 1_200)]
    deletion = await cut_off.trash.delete(made[::2])
    line.cut_at_commit("DELETE FROM trash", stored=stored)
    with pytest.raises(StorageUnavailableError):
        await cut_off.trash.undo(deletion)
    await cut_off.trash.purge(deletion)
    await until(lambda: of_kind(events, DeletionUndone), 5)
    assert line.cuts == 1
    assert of_kind(events, DeletionUndone)[-1].endpoint_ids == {endpoint.id}
    assert cut_off.captures.counts(endpoint.id) == recount(place)[endpoint.id]
    assert cut_off.captures.counts(endpoint.id).total == 1_200


async def test_what_is_stored_after_the_connection_was_lost_at_a_commit_is_this_nodes(
    cut_off: Store, line: CutLine, place: Place
) -> None:
    """What is nobody's would be restored by nobody, once this node has died. The first to need another connection is
    who tells the other nodes to look."""
    endpoint = await cut_off.endpoints.create(factories.draft())
    await add(cut_off, endpoint)
    line.cut_at_commit("COPY", stored=False)
    with pytest.raises(StorageUnavailableError):
        await add(cut_off, endpoint)
    assert line.cuts == 1
    await asyncio.sleep(4 * writer.NOTIFY_S)
    await cut_off.trash.clear(endpoint.id)
    assert query(place, "SELECT node FROM trash") == [(cut_off.nodes.number,)]


@pytest.mark.parametrize("stored", [True, False])
async def test_what_is_queued_again_unknown_to_who_asked_for_it_is_sent(
    cut_off: Store, line: CutLine, events: list[Event], stored: bool
) -> None:
    endpoint = await cut_off.endpoints.create(factories.draft(forward_url=URL))
    (delivery,) = await queued(cut_off, endpoint)
    await fail(cut_off, delivery)
    assert await cut_off.deliveries.claim(endpoint.targets[0].id)
    line.cut_at_commit('UPDATE "delivery"', stored=stored)
    with pytest.raises(StorageUnavailableError):
        await cut_off.deliveries.retry(DeliveryFilter())
    await until(lambda: of_kind(events, StorageTrouble)[-1:] == [StorageTrouble(reason=None)], 5)
    told = [DeliveriesQueued(target_ids=(endpoint.targets[0].id,), shown={})] * stored
    await until(lambda: of_kind(events, DeliveriesQueued) == told, 5)
    assert line.cuts == 1


async def test_what_was_queued_for_a_target_ends_if_nobody_knew_that_it_was_removed(
    cut_off: Store, line: CutLine, events: list[Event]
) -> None:
    endpoint = await cut_off.endpoints.create(factories.draft(forward_url=URL))
    (delivery,) = await queued(cut_off, endpoint)
    assert await cut_off.deliveries.claim(endpoint.targets[0].id)
    line.cut_at_commit('DELETE FROM "target"', stored=True)
    with pytest.raises(StorageUnavailableError):
        await cut_off.targets.delete(endpoint.targets[0].id)
    await until(lambda: of_kind(events, DeliveryChanged), 5)
    assert line.cuts == 1
    (ended,) = await cut_off.deliveries.of_capture(delivery.capture_id)
    assert ended.state is DeliveryState.NOT_SENT


async def test_parts_of_a_body_that_nobody_knew_were_stored_go(cut_off: Store, line: CutLine, place: Place) -> None:
    """They would take room until this node ends, and be taken for what is just being deleted. What arrives stays."""
    endpoint = await cut_off.endpoints.create(factories.draft())
    body = bytes(PART_SIZE + 5)
    key = await cut_off.captures.add_part(None, 0, body[:PART_SIZE], endpoint_id=endpoint.id)
    line.cut_at_commit("INSERT INTO loose_body", stored=True)
    with pytest.raises(StorageUnavailableError):
        await cut_off.captures.add_part(None, 0, body[:PART_SIZE], endpoint_id=endpoint.id)
    assert line.cuts == 1
    assert len(query(place, "SELECT number FROM loose_body")) == 2
    await until(lambda: len(query(place, "SELECT number FROM loose_body")) == 1, 5)
    capture = factories.capture(body, endpoint_id=endpoint.id)
    await cut_off.captures.add(capture, body[PART_SIZE:], key)
    assert await cut_off.captures.body(capture.id) == body
    assert kept_bytes(place) == recount_bytes(place)


@pytest.mark.parametrize("stored", [True, False])
async def test_parts_of_a_body_that_could_not_be_dropped_go_once_the_store_works(
    cut_off: Store, line: CutLine, place: Place, stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captures, "RETRY_S", 0.1)
    endpoint = await cut_off.endpoints.create(factories.draft())
    key = await cut_off.captures.add_part(None, 0, bytes(PART_SIZE), endpoint_id=endpoint.id)
    line.cut_at_commit('UPDATE "loose_body"', stored=stored)
    with pytest.raises(StorageUnavailableError):
        await cut_off.captures.drop_parts(key)
    assert line.cuts == 1
    await until(lambda: query(place, "SELECT number FROM loose_body") == [], 5)
    assert cut_off.limits.arriving(key) == 0
    assert kept_bytes(place) == recount_bytes(place)


async def test_what_is_stored_is_told_as_stored_if_the_server_hangs_just_after_that(
    store: Store, endpoint: Endpoint, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sender would send it again, and its bytes would be given back although they are taken."""

    def hang(database: Database, first: int, count: int) -> list[Summary]:
        execute(database, "SELECT pg_sleep(30)")
        raise AssertionError("it is cut off")

    monkeypatch.setattr(writer, "PATIENCE_S", 0.3)
    monkeypatch.setattr(writer, "WATCH_S", 0.05)
    await asyncio.sleep(1.1)  # until it is watched so often
    monkeypatch.setattr(store._follower, "others", hang)
    capture = factories.capture(b"x", endpoint_id=endpoint.id)
    await store.captures.add(capture, b"x")
    await until(lambda: store._writer._trouble is None)
    await store.nodes.catch_up()
    assert [row.id for row in await store.captures.page(endpoint.id)] == [capture.id]
    assert store.limits.use().used == recount_bytes(place)[endpoint.id]
    assert store.captures.counts(endpoint.id) == recount(place)[endpoint.id]


async def test_what_is_told_as_failed_is_not_counted_if_its_commit_ends_just_then(
    store: Store, endpoint: Endpoint, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes are given back by then. They are counted again once the store is read, as if another had stored it."""
    transaction = store._writer._transaction

    @contextlib.contextmanager
    def end_late() -> Iterator[None]:
        with transaction():
            yield
        time.sleep(1)

    monkeypatch.setattr(writer, "PATIENCE_S", 0.3)
    monkeypatch.setattr(writer, "WATCH_S", 0.05)
    await asyncio.sleep(1.1)  # until it is watched so often
    capture = factories.capture(b"x", endpoint_id=endpoint.id)
    with monkeypatch.context() as late:
        late.setattr(store._writer, "_transaction", end_late)
        both = store.captures.add(capture, b"x"), store.captures.add_part(None, 0, b"xyz", endpoint_id=endpoint.id)
        errors = await asyncio.gather(*both, return_exceptions=True)
    assert [type(error) for error in errors] == [StorageUnavailableError] * 2
    await until(lambda: store._writer._trouble is None)
    await until(lambda: query(place, "SELECT count(*) FROM loose_body") == [(0,)], 5)
    await store.nodes.catch_up()
    assert [row.id for row in await store.captures.page(endpoint.id)] == [capture.id]
    assert store.limits._reserved == 0
    assert store.limits.use().used == recount_bytes(place)[endpoint.id]
    assert store.captures.counts(endpoint.id) == recount(place)[endpoint.id]


async def test_each_connection_of_the_writer_is_set_up_or_closed(
    store: Store, endpoint: Endpoint, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One without the node's number would go on to write what is nobody's."""
    failed = threading.Event()

    def fail_once(database: Database, number: int) -> None:
        monkeypatch.undo()
        failed.set()
        raise psycopg.errors.QueryCanceled("canceling statement due to user request")

    monkeypatch.setattr(writer, "use_number", fail_once)
    await add(store, endpoint)
    store._writer._database.cut()
    with contextlib.suppress(StorageUnavailableError):
        await store.nodes.catch_up()
    await until(failed.is_set)
    await until(lambda: store._writer._trouble is None)
    await add(store, endpoint)
    await store.trash.clear(endpoint.id)
    assert query(place, "SELECT node FROM trash") == [(store.nodes.number,)]


async def test_all_hear_what_is_restored_for_a_dead_node_by_one_that_does_not_know_whether_it_did_that(
    store: Store, cut_off: Store, line: CutLine, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is done: the dead one is found dead no more."""
    endpoint = await store.endpoints.create(factories.draft())
    monkeypatch.setattr(nodes, "BEAT_S", 0.05)
    monkeypatch.setattr(nodes, "DEAD_S", 0.5)
    number = await add(store, endpoint)
    deletion = await store.trash.clear(endpoint.id)
    assert await read(cut_off, endpoint) == []
    line.cut_at_commit("DELETE FROM node", stored=True)
    assert store.nodes._task is not None
    store.nodes._task.cancel()
    undone = DeletionUndone(number=deletion.number, endpoint_ids=frozenset((endpoint.id,)))
    await until(lambda: events.count(undone) == 2 and not store.trash.can_undo(deletion), 8)
    assert line.cuts == 1
    assert await read(cut_off, endpoint) == [number]


async def test_a_new_partition_waits_for_nobody_who_reads(
    store: Store, endpoint: Endpoint, administrator: psycopg.Connection[Any]
) -> None:
    administrator.execute("SET search_path TO hookline")
    administrator.execute(f"SELECT setval('capture_seq_seq', {PARTITION - 2})")
    with administrator.transaction():  # as pg_dump does
        administrator.execute("SELECT count(*) FROM capture, capture_body, endpoint, delivery")
        async with asyncio.timeout(5):
            numbers = [await add(store, endpoint) for _ in range(3)]
    assert numbers == [PARTITION - 1, PARTITION, PARTITION + 1]
    assert [row.seq for row in await store.captures.page(endpoint.id)] == numbers[::-1]


async def test_a_server_that_rests_kills_no_node(
    store: Store,
    open_store: OpenStore,
    endpoint: Endpoint,
    administrator: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody can say that it lives while another has the lock of who writes."""
    for name, value in (("BEAT_S", 0.1), ("DEAD_S", 0.4), ("LATE_S", 0.1)):
        monkeypatch.setattr(nodes, name, value)
    other: Store = await open_store(lambda _: None)
    numbers = store.nodes.number, other.nodes.number
    await asyncio.sleep(0.3)
    with administrator.transaction():
        administrator.execute("SELECT pg_advisory_xact_lock(%s)", (WRITE_LOCK,))
        await asyncio.sleep(1.5)
    await asyncio.sleep(0.5)
    assert (store.nodes.number, other.nodes.number) == numbers
    assert len(await store.nodes.all()) == 2


async def test_what_a_newer_node_tells_otherwise_is_left_out(
    store: Store, endpoint: Endpoint, events: list[Event], administrator: psycopg.Connection[Any]
) -> None:
    administrator.execute("SET search_path TO hookline")
    told = b'RequestsUpdated {"endpoint_ids":"all","changes":{"a":{"starred":true}}}\nNewer {}\nRequestsUpdated '
    told += b'{"endpoint_ids":[1],"changes":{"b":{"starred":true}}}'
    administrator.execute("INSERT INTO notice (node, events) VALUES (999, %s)", (told,))
    await store.endpoints.look_again("unknown")
    store._writer.follow()
    await until(lambda: any(isinstance(event, RequestsUpdated) for event in events))
    assert [list(event.changes) for event in events if isinstance(event, RequestsUpdated)] == [["b"]]


async def test_a_body_whose_beginning_was_dropped_is_not_acknowledged(store: Store, endpoint: Endpoint) -> None:
    """Other nodes took this one for dead while it was receiving."""
    data = b"x" * 70_000
    key = await store.captures.add_part(None, 0, data[:65_536], endpoint_id=endpoint.id)
    await store._writer.run(lambda database: execute(database, "UPDATE loose_body SET dropped = 1"))
    with pytest.raises(StorageUnavailableError, match="The beginning of the body is no longer stored"):
        await store.captures.add(factories.capture(data, endpoint_id=endpoint.id), data[65_536:], key)
    assert await store.captures.page(endpoint.id) == []


async def test_closing_does_not_wait_for_a_server_that_is_frozen(
    store: Store,
    open_store: OpenStore,
    endpoint: Endpoint,
    administrator: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With something to store, something to read and a deletion to undo."""
    monkeypatch.setattr(writer, "CLOSING_PATIENCE_S", 0.3)
    monkeypatch.setattr(postgres_store, "CLOSING_PATIENCE_S", 0.3)
    number = await add(store, endpoint)
    capture = (await store.captures.page(endpoint.id))[0]
    await store.trash.delete([capture.id])
    backends = "SELECT pid FROM pg_stat_activity WHERE application_name = 'hookline' AND datname = current_database()"
    pids = [pid for (pid,) in administrator.execute(backends).fetchall()]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        adding, reading = asyncio.ensure_future(add(store, endpoint)), asyncio.ensure_future(read(store, endpoint))
        await asyncio.sleep(0.1)
        async with asyncio.timeout(5):
            await store.close()
        with pytest.raises(StorageUnavailableError):
            await adding
        with pytest.raises(StorageUnavailableError):
            await reading
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    monkeypatch.setattr(nodes, "DEAD_S", 0.4)
    monkeypatch.setattr(nodes, "BEAT_S", 0.1)
    other: Store = await open_store(lambda _: None)
    await until(lambda: administrator.execute("SELECT count(*) FROM hookline.trash").fetchone() == (0,))
    assert await read(other, endpoint) == [number]


async def test_nobody_waits_for_a_server_that_is_frozen(
    store: Store,
    endpoint: Endpoint,
    events: list[Event],
    administrator: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer, "PATIENCE_S", 0.3)
    monkeypatch.setattr(writer, "WATCH_S", 0.05)
    await asyncio.sleep(1.1)  # until it is watched so often
    pid: int = await store._writer.run(lambda database: execute(database, "SELECT pg_backend_pid()").fetchone()[0])
    await asyncio.sleep(0.1)  # until it has told that, too
    os.kill(pid, signal.SIGSTOP)
    try:
        store._notices.add(PlanChanged())
        store._notices.flush()
        adding = [asyncio.ensure_future(add(store, endpoint)) for _ in range(2)]
        await asyncio.sleep(0.1)
        adding.append(asyncio.ensure_future(add(store, endpoint)))  # behind the commit that does not end
        async with asyncio.timeout(10):
            ended = await asyncio.gather(*adding, return_exceptions=True)
        assert [str(one) for one in ended] == ["The database server does not respond."] * 3
        assert [event.reason for event in events if isinstance(event, StorageTrouble)] == [
            "The database server does not respond."
        ]
    finally:
        os.kill(pid, signal.SIGCONT)
    assert await add(store, endpoint)
    await until(lambda: [event.reason for event in events if isinstance(event, StorageTrouble)][-1] is None)
    await until(lambda: administrator.execute("SELECT count(*) FROM hookline.notice").fetchone() == (1,))
    told = administrator.execute("SELECT events FROM hookline.notice").fetchall()
    assert [bytes(one).count(b"PlanChanged") for (one,) in told] == [1]
