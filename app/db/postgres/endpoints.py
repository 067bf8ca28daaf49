"""Endpoints that other nodes change, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from peewee import Database

from app.db.deliveries.targets import RemovedTargets
from app.db.endpoints import Endpoints as SharedEndpoints
from app.db.part import Shared
from app.db.raw_sql import execute
from app.db.trash import Trash

_VERSION = "SELECT id, version FROM endpoint WHERE slug = ? AND trashed IS NULL"


class Endpoints(SharedEndpoints):
    def __init__(
        self,
        shared: Shared,
        removed_targets: RemovedTargets,
        trash: Trash,
        retention_changed: Callable[[], None],
        look: Callable[[], Awaitable[None]],
    ) -> None:
        """`look` takes over what other nodes changed."""
        super().__init__(shared, removed_targets, trash, retention_changed)
        self._look = look

    async def look_again(self, slug: str) -> bool:
        """A single read, of what is about to be refused: so a flood of requests to unknown paths stays cheap."""

        def job(database: Database) -> tuple[int, int] | None:
            found: tuple[int, int] | None = execute(database, _VERSION, (slug,)).fetchone()
            return found

        known = self.by_slug(slug)
        stored = await self._readers.run(job)
        if stored == (None if known is None else (known.id, known.version)):
            return False
        await self._look()
        return True
