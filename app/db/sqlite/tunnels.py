"""The public URLs that the tunnel had, and under which of them the user copied capture URLs."""

from __future__ import annotations

from peewee import SqliteDatabase, fn

from app.core.tunnel.tunnel import TunnelCopy, TunnelUrl
from app.db.sqlite.part import Part
from app.db.sqlite.schema import ClockModel, EndpointModel, TunnelCopyModel, TunnelUrlModel

KEPT = 1_000
"""URLs; the oldest are deleted."""


class Tunnels(Part):
    """Raises as `TunnelRepository` says."""

    async def load(self) -> None:
        """End the URL that was in use when the last run was killed: the store last saw the time shortly before."""

        def job(database: SqliteDatabase) -> None:
            seen = ClockModel.select(ClockModel.seen_at).scalar(database) or 0
            _end(database, fn.max(TunnelUrlModel.since, seen))

        open_now = TunnelUrlModel.select().where(TunnelUrlModel.until.is_null()).limit(1)
        if await self._readers.run(lambda database: list(open_now.execute(database))):
            await self._writer.run(job)

    async def opened(self, url: str, program: str, at: int) -> None:
        def job(database: SqliteDatabase) -> None:
            _end(database, at)
            TunnelUrlModel.insert(url=url, program=program, since=at).execute(database)
            newest = TunnelUrlModel.select(TunnelUrlModel.id).order_by(TunnelUrlModel.id.desc()).limit(KEPT)
            TunnelUrlModel.delete().where(TunnelUrlModel.id.not_in(newest)).execute(database)

        await self._writer.run(job)

    async def closed(self, at: int) -> None:
        await self._writer.run(lambda database: _end(database, at))

    async def history(self, limit: int = 50) -> list[TunnelUrl]:
        query = TunnelUrlModel.select().order_by(TunnelUrlModel.id.desc()).limit(limit)
        return await self._readers.run(
            lambda database: [
                TunnelUrl(url=row.url, program=row.program, since=row.since, until=row.until)
                for row in query.execute(database)
            ]
        )

    async def copies(self) -> list[TunnelCopy]:
        query = TunnelCopyModel.select(
            TunnelCopyModel.endpoint, TunnelCopyModel.base, TunnelCopyModel.copied_at
        ).order_by(TunnelCopyModel.copied_at)
        return await self._readers.run(
            lambda database: [
                TunnelCopy(endpoint_id=endpoint_id, base=base, copied_at=at)
                for endpoint_id, base, at in query.tuples().execute(database)
            ]
        )

    async def copied(self, endpoint_id: int, base: str, at: int) -> None:
        """Of an endpoint's older URLs only the last one copied is kept: a provider has one."""

        def job(database: SqliteDatabase) -> None:
            if _is_gone(database, endpoint_id):
                return
            own = TunnelCopyModel.endpoint == endpoint_id
            older = (
                TunnelCopyModel.select(TunnelCopyModel.base)
                .where(own & (TunnelCopyModel.base != base))
                .order_by(TunnelCopyModel.copied_at.desc())
                .limit(1)
            )
            kept = [*(row.base for row in older.execute(database)), base]
            TunnelCopyModel.delete().where(own & TunnelCopyModel.base.not_in(kept)).execute(database)
            _copy(database, endpoint_id, base, at)

        await self._writer.run(job)

    async def updated(self, endpoint_id: int, base: str, at: int) -> None:
        def job(database: SqliteDatabase) -> None:
            if _is_gone(database, endpoint_id):
                return
            TunnelCopyModel.delete().where(TunnelCopyModel.endpoint == endpoint_id).execute(database)
            _copy(database, endpoint_id, base, at)

        await self._writer.run(job)


def _is_gone(database: SqliteDatabase, endpoint_id: int) -> bool:
    return EndpointModel.select().where(EndpointModel.id == endpoint_id).count(database) == 0


def _copy(database: SqliteDatabase, endpoint_id: int, base: str, at: int) -> None:
    TunnelCopyModel.insert(endpoint=endpoint_id, base=base, copied_at=at).on_conflict_replace().execute(database)


def _end(database: SqliteDatabase, at: object) -> None:
    TunnelUrlModel.update(until=at).where(TunnelUrlModel.until.is_null()).execute(database)
