"""The store as a whole: what it keeps, what it leaves behind, how it closes."""

from __future__ import annotations

import asyncio
import os
import threading
from functools import partial
from pathlib import Path

import pytest

from app.core.errors import StorageUnavailableError
from app.core.model import Auth, Forward, Plan, ResponseSettings
from app.db.store import Store
from tests import factories
from tests.db.helpers import BODY, OpenStore, Place, add, files, query
from tests.stored import store_request

pytestmark = pytest.mark.smoke


async def test_everything_is_there_again_after_opening_the_folder_again(open_store: OpenStore) -> None:
    store = await open_store()
    draft = factories.draft(
        name="  Orders  ",
        description="Ünïcode ✓",
        retention_days=90,
        forward_url="http://127.0.0.1:3000/hook",
        slug="orders",
        active=False,
        response=ResponseSettings(status=201, headers=(("X-A", "ä"), ("x-a", "b")), body="ok", delay_ms=5),
        forward=Forward(timeout_ms=500),
        auth=Auth(kind="basic", name="me", secret="s3cret"),
    )
    made = await store.endpoints.create(draft)
    capture = factories.capture(
        BODY,
        endpoint_id=made.id,
        headers=(("Host", "h"), ("X-\xe9", "\xff\x00")),
    )
    capture = await store_request(store.captures, capture, BODY)
    store.captures.responded(capture.seq, 2.5)
    await store.account.set_plan(Plan.PRO)
    instance = store.account.instance_id
    await store.close()

    again = await open_store()
    assert again.endpoints.all() == (made,)
    assert made.name == "Orders"
    assert made.draft().auth == draft.auth
    found = await again.captures.get(capture.id)
    assert found is not None
    assert found.response_ms == 2.5
    assert found.headers == capture.headers
    assert found.summary() == (await again.captures.page(made.id))[0]
    assert await again.captures.body(capture.id) == BODY
    assert again.captures.counts(made.id).total == 1
    assert again.account.plan is Plan.PRO
    assert again.account.instance_id == instance
    await again.close()


def check_files(place: Place, *others: set[str]) -> None:
    """Nothing is in the folder but the database, if this is a folder."""
    if isinstance(place, Path):
        assert set(files(place)) in ({"hookline.db"}, *others)


async def test_closing_twenty_times_leaves_no_file_and_no_thread_behind(open_store: OpenStore, place: Place) -> None:
    descriptors, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    for round_ in range(20):
        store = await open_store()
        if not round_:
            await store.endpoints.create(factories.draft())
        store.retention.start()
        capture = factories.capture(BODY, endpoint_id=1)
        adding = asyncio.ensure_future(store.captures.add(capture, BODY))
        await asyncio.sleep(0)
        await asyncio.gather(store.close(), store.close())
        await adding
        check_files(place)
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert threading.active_count() == threads
    assert query(place, "SELECT count(*) FROM capture") == [(20,)]


async def test_after_close_nothing_is_stored_or_read(store: Store, endpoint: object) -> None:
    await store.close()
    with pytest.raises(StorageUnavailableError):
        await add(store, 1)
    with pytest.raises(StorageUnavailableError):
        await store.captures.page(None)
    with pytest.raises(StorageUnavailableError):
        await store.endpoints.create(factories.draft())
    store.captures.responded(1, 1.0)  # an answer that leaves late is no error


async def test_what_waits_is_written_before_the_store_closes(place: Place, store: Store, endpoint: object) -> None:
    adding = [asyncio.ensure_future(add(store, 1)) for _ in range(300)]
    await asyncio.sleep(0)
    await store.close()
    captures = await asyncio.gather(*adding)
    assert {row[0] for row in query(place, "SELECT id FROM capture")} == {capture.id for capture in captures}


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8])
async def test_giving_up_while_it_opens_leaves_nothing_open(open_store: OpenStore, place: Place, turns: int) -> None:
    threads = threading.active_count()
    for _ in range(3):
        opening = asyncio.ensure_future(open_store())
        for _ in range(turns):
            await asyncio.sleep(0.001)
        opening.cancel()
        (result,) = await asyncio.gather(opening, return_exceptions=True)
        if not isinstance(result, BaseException):
            await result.close()
    assert threading.active_count() == threads
    check_files(place, set())


async def test_writes_that_fail_among_many_cost_few_commits_and_the_others_nothing(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store()
    endpoint = await store.endpoints.create(factories.draft())
    groups, write = 0, store._writer._write

    def counted(*group: object) -> object:
        nonlocal groups
        groups += 1
        return write(*group)

    def job(_: object, number: int) -> int:
        if number in (7, 70):
            raise ZeroDivisionError(number)
        return number

    monkeypatch.setattr(store._writer, "_write", counted)
    many = [store._writer.run(partial(job, number=number)) for number in range(100)]
    results = await asyncio.gather(*many, *(add(store, endpoint.id) for _ in range(20)), return_exceptions=True)
    assert [repr(one) for one in results[:100] if isinstance(one, BaseException)] == [
        "ZeroDivisionError(7)",
        "ZeroDivisionError(70)",
    ]
    assert [one for one in results[:100] if isinstance(one, int)] == [n for n in range(100) if n not in (7, 70)]
    assert store.captures.counts(endpoint.id).total == len({row.seq for row in await store.captures.page(endpoint.id)})
    assert store.captures.counts(endpoint.id).total == 20
    assert groups < 40
