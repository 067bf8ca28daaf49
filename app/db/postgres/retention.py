"""Deletes requests older than their endpoint's retention. The server's clock says how old they are: those of the nodes
differ."""

from __future__ import annotations

from functools import partial

from peewee import Database

from app.core.model import StorageSize
from app.db.counts import SIZE
from app.db.deleting import Cleanup, Purging, count_expired
from app.db.part import Shared
from app.db.postgres.database import SCHEMA
from app.db.postgres.schema import drop_partition, emptied_partitions
from app.db.raw_sql import execute

_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_SIZE = """SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class
    JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = ? AND relkind = 'r'"""


def server_time(database: Database) -> int:
    """In microseconds."""
    return int(execute(database, _NOW).fetchone()[0])


class Retention(Purging):
    """`problem` stays None: no clock is doubted but a node's own, which retention does not ask."""

    def __init__(self, shared: Shared, cleanup: Cleanup) -> None:
        super().__init__(shared, cleanup, rows=256)

    async def _purge(self) -> tuple[dict[int, int], int]:
        """As in `Purging`, and drop the tables that are empty now."""
        deleted = await self._purge_until(await self._readers.run(server_time))
        await self._cleanup.run()
        await self._drop_partitions()
        return deleted, 0

    async def size(self) -> StorageSize:
        cutoffs = self._cutoffs(await self._readers.run(server_time))

        def job(database: Database) -> StorageSize:
            (size,) = execute(database, _SIZE, (SCHEMA,)).fetchone()
            expired, free = count_expired(database, cutoffs, size=SIZE)
            return StorageSize(file_bytes=size, free_bytes=free, expired=expired)

        return await self._readers.run(job)

    async def _drop_partitions(self) -> None:
        """A table whose requests are all deleted makes each query longer, until it is dropped."""
        for first in await self._readers.run(emptied_partitions, slow=True):
            await self._writer.run(partial(drop_partition, first=first))
