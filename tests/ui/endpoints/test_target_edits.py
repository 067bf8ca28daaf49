"""Targets being edited, saved to a real store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from app.core.errors import StorageUnavailableError
from app.core.events import Bus, EndpointSaved
from app.core.model import Endpoint
from app.core.target import TargetDraft
from app.db.sqlite.store import Store
from app.ui.endpoints.target_edits import TargetEdits
from tests import factories

URLS = ("http://127.0.0.1:1/a", "http://127.0.0.1:1/b", "http://127.0.0.1:1/c")


class Scene:
    """An endpoint with three targets, and its edits, which follow the store."""

    def __init__(self, store: Store, endpoint: Endpoint, bus: Bus) -> None:
        self.store, self.number = store, endpoint.id
        self.edits = TargetEdits(endpoint, lambda: ())
        bus.subscribe(EndpointSaved, self._saved)

    def _saved(self, event: EndpointSaved) -> None:
        self.edits.follow(event.endpoint)

    @property
    def stored(self) -> list[str]:
        endpoint = self.store.endpoints.by_id(self.number)
        assert endpoint is not None
        return [target.url for target in endpoint.targets]

    @property
    def urls(self) -> list[str]:
        return [item.draft.url for item in self.edits.items]


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    bus = Bus()
    store = await Store.open(tmp_path, bus.publish, lambda: ())
    endpoint = await store.endpoints.create(factories.draft())
    for url in URLS:
        await store.targets.create(endpoint.id, TargetDraft(url=url))
    found = store.endpoints.by_id(endpoint.id)
    assert found is not None
    try:
        yield Scene(store, found, bus)
    finally:
        await store.close()


async def test_everything_is_saved_at_once_and_then_nothing_is_left(scene: Scene) -> None:
    edits = scene.edits
    a, b, c = edits.items
    a.draft = replace(a.draft, parallel=4)
    edits.remove(b)
    edits.move(c, 0)
    edits.add(TargetDraft(url="http://127.0.0.1:1/new"), 1)
    assert edits.has_changes()
    assert scene.stored == list(URLS)
    await edits.save(scene.store.targets)
    assert scene.stored == scene.urls == ["http://127.0.0.1:1/c", "http://127.0.0.1:1/new", URLS[0]]
    endpoint = scene.store.endpoints.by_id(scene.number)
    assert endpoint is not None
    edits.follow(endpoint)
    assert endpoint.targets[2].parallel == 4
    assert not edits.has_changes()
    assert edits.refusal() == "Nothing has changed."


async def test_a_removed_target_comes_back_to_its_place(scene: Scene) -> None:
    edits = scene.edits
    edits.remove(edits.items[0])
    edits.remove(edits.items[0])
    edits.restore()
    edits.restore()
    assert scene.urls == list(URLS)
    assert edits.restore() is None
    assert not edits.has_changes()


async def test_saving_again_after_an_error_creates_nothing_twice(scene: Scene) -> None:
    class Failing:
        """Fails at the second of two new targets."""

        made = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(scene.store.targets, name)

        async def create(self, endpoint_id: int, draft: TargetDraft) -> Any:
            self.made += 1
            if self.made == 2:
                raise StorageUnavailableError("The disk is full.")
            return await scene.store.targets.create(endpoint_id, draft)

    edits = scene.edits
    edits.add(TargetDraft(url="http://127.0.0.1:1/d"))
    edits.add(TargetDraft(url="http://127.0.0.1:1/e"))
    with pytest.raises(StorageUnavailableError):
        await edits.save(Failing())
    assert edits.has_changes()
    await edits.save(scene.store.targets)
    assert scene.stored == scene.urls == [*URLS, "http://127.0.0.1:1/d", "http://127.0.0.1:1/e"]


async def test_changes_made_elsewhere_are_followed_unless_the_user_changed_the_same(scene: Scene) -> None:
    edits, targets = scene.edits, scene.store.targets
    a, b, _ = edits.items
    assert a.stored is not None
    assert b.stored is not None
    a.draft = replace(a.draft, url="http://127.0.0.1:1/mine")
    await targets.update(a.stored.id, TargetDraft(url="http://127.0.0.1:1/theirs"))
    await targets.update(b.stored.id, TargetDraft(url="http://127.0.0.1:1/b2"))
    await targets.create(scene.number, TargetDraft(url="http://127.0.0.1:1/d"))
    assert scene.urls == ["http://127.0.0.1:1/mine", "http://127.0.0.1:1/b2", URLS[2], "http://127.0.0.1:1/d"]
    await targets.delete(b.stored.id)
    await targets.delete(a.stored.id)
    assert scene.urls == ["http://127.0.0.1:1/mine", URLS[2], "http://127.0.0.1:1/d"]
    await edits.save(targets)
    assert scene.stored == scene.urls


async def test_errors_come_in_the_order_of_the_form(scene: Scene) -> None:
    item = scene.edits.items[1]
    item.draft = replace(item.draft, url="ftp://x", parallel=0, set_headers=(("bad name", "1"),), client_key="k.pem")
    item.paths = ["url", "parallel", "set_headers", "client_key"]
    errors = scene.edits.errors()
    assert [error.field for _, error in errors] == ["url", "parallel", "set_headers", "client_key"]
    assert all(one is item for one, _ in errors)
    assert scene.edits.refusal() == errors[0][1].message
