"""A real store in a temporary folder, and what it published."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.core.events import Event
from app.core.model import Endpoint
from app.db.sqlite.store import Store
from tests import factories


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
async def store(tmp_path: Path, events: list[Event]) -> AsyncIterator[Store]:
    opened = await Store.open(tmp_path, events.append)
    yield opened
    await opened.close()


@pytest.fixture
async def endpoint(store: Store) -> Endpoint:
    return await store.endpoints.create(factories.draft())
