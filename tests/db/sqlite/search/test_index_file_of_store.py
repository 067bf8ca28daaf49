"""The file of the search index across stops, and when it does not fit."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.core.model import Endpoint
from app.db.sqlite.store import Store
from tests import factories
from tests.db.helpers import add, add_many, files
from tests.db.search.index import indexed, make_small
from tests.db.search.test_search import search
from tests.support import until


@pytest.fixture
def small_index(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch)


async def test_the_index_is_there_again_after_a_stop(tmp_path: Path, small_index: None) -> None:
    store = await Store.open(tmp_path, lambda _: None)
    endpoint = await store.endpoints.create(factories.draft())
    await add(store, endpoint.id, b"needle")
    await add_many(store, endpoint.id, 100)
    await indexed(store, 90)
    await add(store, endpoint.id, b"needle")
    before = store._index.contents
    await store.close()
    assert files(tmp_path) == {"hookline.db": 0o600, "search.db": 0o600}
    store = await Store.open(tmp_path, lambda _: None)
    await indexed(store, before.upto)
    assert len(await search(store, "needle")) == 2
    await store.close()


async def test_the_index_is_not_given_up_because_its_folder_cannot_be_looked_into(tmp_path: Path) -> None:
    store = await Store.open(tmp_path, lambda _: None)
    index = store._index
    index._path = tmp_path / ("x" * 300)  # an error as well; root may look into any folder
    index._worker.wake()
    await until(lambda: index._worker.is_idle)
    assert not index._cancelled
    await store.close()


@pytest.mark.parametrize("harm", ["other", "noise", "older", "form", "gone"])
async def test_an_index_that_does_not_fit_is_made_anew(tmp_path: Path, small_index: None, harm: str) -> None:
    store = await Store.open(tmp_path, lambda _: None)
    endpoint = await store.endpoints.create(factories.draft())
    await add(store, endpoint.id, b"needle")
    await add_many(store, endpoint.id, 100)
    await indexed(store, 90)
    await store.close()
    file = tmp_path / "search.db"
    if harm == "noise":
        file.write_bytes(b"noise" * 5000)
    elif harm == "gone":
        file.unlink()
    else:
        with closing(sqlite3.connect(file)) as connection:
            change = {"other": "instance = 'another'", "older": "upto = 4000", "form": "form = 1"}[harm]
            connection.execute(f"UPDATE state SET {change}")
            connection.commit()
    store = await Store.open(tmp_path, lambda _: None)
    assert len(await search(store, "needle")) == 1
    await indexed(store, 90)
    assert store._index.contents.upto < 200
    assert len(await search(store, "needle")) == 1
    await store.close()


async def test_what_comes_just_as_it_has_caught_up_is_indexed_too(
    store: Store, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in [("MOST_WAITING", 0), ("BATCH", 1), ("REST", 0.0)]:
        monkeypatch.setattr(f"app.db.search.background_index.{name}", value)
    caught_up, added = store._index._catch_up, []

    async def and_then_one_comes() -> None:
        await caught_up()
        if not added:
            added.append(await add(store, endpoint.id, b"late"))

    monkeypatch.setattr(store._index, "_catch_up", and_then_one_comes)
    await add(store, endpoint.id, b"first")
    await until(lambda: added and store._index.contents.upto >= added[0].seq, 10)
