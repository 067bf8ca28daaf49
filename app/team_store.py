"""A team's store, for those outside `app.db`: its driver is loaded only where one is used, for few have it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from app.core.errors import StoreDriverError
from app.core.team import Role

if TYPE_CHECKING:
    from app.db.store import Store


async def open_store(address: str, password: str, *given: Any, **options: Any) -> Store:
    """What `Store.open` opens at this address, with a `password` unless it is empty, and these arguments."""
    with _driver():
        from app.db.postgres.database import with_password  # start-up time: few use one
        from app.db.postgres.store import Store as PostgresStore  # as above
    return await PostgresStore.open(with_password(address, password), *given, **options)


async def check(address: str, password: str) -> None:
    """Raises StoreAddressError when a window could not work on it."""
    with _driver():
        from app.db.postgres.database import with_password  # start-up time, as above
        from app.db.postgres.server_checks import check_use  # as above
    await asyncio.to_thread(check_use, with_password(address, password))


def init(address: str) -> Mapping[Role, str]:
    """Make its tables and roles; returns their names."""
    with _driver():
        from app.db.postgres import roles  # start-up time, as above
    return roles.init(address)


@contextmanager
def _driver() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise StoreDriverError from error
