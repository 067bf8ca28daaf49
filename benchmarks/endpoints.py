"""Endpoints in a new data folder, made before a program starts on it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from app.core.model import Endpoint, EndpointDraft
from app.db.sqlite.store import Store


def add_endpoints(data: Path, drafts: Sequence[EndpointDraft]) -> list[Endpoint]:
    """Make the folder with these endpoints in it."""
    data.mkdir(parents=True, exist_ok=True)
    return asyncio.run(_add(data, drafts))


async def _add(data: Path, drafts: Sequence[EndpointDraft]) -> list[Endpoint]:
    store = await Store.open(data, lambda event: None)
    try:
        return [await store.endpoints.create(draft) for draft in drafts]
    finally:
        await store.close()
