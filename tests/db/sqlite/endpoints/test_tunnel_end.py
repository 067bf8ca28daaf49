"""A tunnel's URL ends with its run: SQLite's store has one run at a time."""

from __future__ import annotations

from tests.db.helpers import OpenStore


async def test_a_url_of_a_run_that_was_killed_has_ended(open_store: OpenStore) -> None:
    store = await open_store()
    await store.tunnels.opened("https://a.example", "ssh", 10)
    await store.close()
    store = await open_store()
    (url,) = await store.tunnels.history()
    assert url.until is not None
    assert url.until >= url.since
    await store.close()
