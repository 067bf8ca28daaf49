"""The tunnel's URLs with their times, and which of them were copied."""

from __future__ import annotations

import pytest

from app.core.model import Endpoint
from app.core.tunnel import TunnelCopy
from app.db import endpoints
from app.db.store import Store
from tests.db.helpers import OpenStore, Place, query


async def test_a_url_lasts_until_the_next_one_or_the_end(store: Store) -> None:
    await store.tunnels.opened("https://a.example", "ngrok", 10)
    await store.tunnels.opened("https://b.example", "ssh", 20)
    await store.tunnels.closed(30)
    await store.tunnels.closed(40)
    found = await store.tunnels.history()
    assert [(one.url, one.program, one.since, one.until) for one in found] == [
        ("https://b.example", "ssh", 20, 30),
        ("https://a.example", "ngrok", 10, 20),
    ]
    assert len(await store.tunnels.history(1)) == 1


async def test_only_the_newest_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "URLS_KEPT", 3)
    for number in range(5):
        await store.tunnels.opened(f"https://{number}.example", "ssh", number)
    assert [one.since for one in await store.tunnels.history()] == [4, 3, 2]


async def test_of_an_endpoints_copies_the_last_two_urls_are_kept(store: Store, endpoint: Endpoint) -> None:
    for at, base in enumerate(("https://a.example", "https://b.example", "https://c.example", "https://c.example")):
        await store.tunnels.copied(endpoint.id, base, at)
    assert await store.tunnels.copies() == [
        TunnelCopy(endpoint_id=endpoint.id, base="https://b.example", copied_at=1),
        TunnelCopy(endpoint_id=endpoint.id, base="https://c.example", copied_at=3),
    ]
    await store.tunnels.updated(endpoint.id, "https://c.example", 5)
    assert [(one.base, one.copied_at) for one in await store.tunnels.copies()] == [("https://c.example", 5)]


async def test_copies_go_with_their_endpoint(
    store: Store, endpoint: Endpoint, open_store: OpenStore, place: Place
) -> None:
    await store.tunnels.copied(endpoint.id, "https://a.example", 1)
    await store.tunnels.copied(endpoint.id + 1, "https://a.example", 1)
    await store.tunnels.updated(endpoint.id + 1, "https://a.example", 1)
    assert len(await store.tunnels.copies()) == 1
    await store.endpoints.delete(endpoint.id)
    await store.close()
    again = await open_store()
    await again.close()
    assert query(place, "SELECT count(*) FROM tunnel_copy WHERE endpoint_id NOT IN (SELECT id FROM endpoint)") == [(0,)]
