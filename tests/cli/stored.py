"""Requests in a data folder while no program runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.db.sqlite.store import Store
from tests import factories
from tests.db.helpers import add


def store_requests(folder: Path, slug: str, requests: Sequence[dict[str, Any]]) -> list[str]:
    """Make the endpoint and store requests with these fields in it; their ids."""

    async def make() -> list[str]:
        store = await Store.open(folder, lambda _: None)
        endpoint = await store.endpoints.create(factories.draft(slug=slug, name=slug.title()))
        ids = [(await add(store, endpoint.id, **fields)).id for fields in requests]
        await store.close()
        return ids

    folder.mkdir(mode=0o700, exist_ok=True)
    return asyncio.run(make())
