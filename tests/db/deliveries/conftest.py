"""An endpoint with a target, and the store of a second run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app.core.model import Endpoint
from app.db.store import Store
from tests import factories
from tests.db.helpers import OpenStore

URL = "http://127.0.0.1:3000/hook"
Reopen = Callable[[Endpoint], Awaitable[Any]]


@pytest.fixture
async def endpoint(store: Store) -> Endpoint:
    return await store.endpoints.create(factories.draft(forward_url=URL))


@pytest.fixture
def reopen(open_store: OpenStore, engine: str) -> Reopen:
    """Opens the store anew, in the place of what sent to the endpoint's targets until it ended."""

    async def it(endpoint: Endpoint) -> Any:
        again = await open_store()
        if engine == "postgres":  # where other nodes may be sending, each target is taken over by itself
            for target in endpoint.targets:
                await again.deliveries.interrupt(target.id)
        return again

    return it
