"""PostgreSQL's text holds neither NUL nor half of a surrogate pair: a replacement character or a question mark stands
for each. SQLite's holds NUL."""

from __future__ import annotations

import pytest

from app.core.errors import NotFoundError
from app.core.model import Endpoint
from app.core.providers import ProviderMatch
from app.db.store import Store
from tests import factories
from tests.db.helpers import OpenStore, add


async def test_what_a_body_says_is_stored_as_far_as_it_can_be(store: Store, endpoint: Endpoint) -> None:
    made = await add(store, endpoint.id, event="paid\0", gist="half \ud83d", delivery_id="\0\0", target="/a\0?b=\\x")
    found = await store.captures.get(made.id)
    assert found is not None
    assert (found.event, found.gist, found.delivery_id) == ("paid\ufffd", "half ?", "\ufffd\ufffd")
    assert found.target == "/a\ufffd?b=\\x"


async def test_what_is_found_out_later_too(open_store: OpenStore) -> None:
    store = await open_store(identify=lambda *_: ProviderMatch(provider="us", event="a\0b", delivery_id="\ud83d"))
    endpoint = await store.endpoints.create(factories.draft())
    made = await add(store, endpoint.id, identified=False)
    assert not made.identified

    async def event() -> str | None:
        found = await store.captures.get(made.id)
        return None if found is None else found.event

    seen: list[str | None] = [None]
    while seen[-1] is None:
        seen.append(await event())
    assert seen[-1] == "a\ufffdb"


async def test_no_id_is_an_error(store: Store, endpoint: Endpoint) -> None:
    for name in ("\0", "a\0b", "\\u0000", "\ud83d", "%s", "?"):
        assert await store.captures.get(name) is None
        assert await store.captures.seq_of(name) is None
        with pytest.raises(NotFoundError):
            await store.captures.body(name)
        await store.captures.mark_read([name])
        if name.isprintable() or "\0" in name:  # no JSON holds half of a pair
            assert await store.captures.stored([name]) == frozenset()
            assert (await store.trash.delete([name])).requests == 0
        assert store.captures.counts(endpoint.id).total == 0
