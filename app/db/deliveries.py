"""Deliveries: queued with their capture, finished with a result that is stored as data."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace
from peewee import SQL, ModelSelect, SqliteDatabase

from app.core.errors import NotFoundError, StorageUnavailableError
from app.core.events import DeliveryFinished, Event
from app.core.model import Delivery, DeliveryState
from app.db.counts import RequestCounts
from app.db.insert import encode_headers
from app.db.raw_sql import raw
from app.db.readers import Readers
from app.db.records import DELIVERY
from app.db.schema import DELIVERY_CODE, CaptureModel, DeliveryModel, EndpointModel
from app.db.storage_limits import StorageLimits
from app.db.writer import Writer

_RESULT = ("url", "started_at", "ms", "status", "response_size", "response_truncated", "error")
"""Columns of a finished delivery that hold a field unchanged."""
_FINISHED = ", ".join(f"{name} = :{name}" for name in (*_RESULT, "state", "response_headers", "response_body"))
_FINISH = f"UPDATE delivery SET {_FINISHED} WHERE id = :id RETURNING capture_seq"
_BEFORE = "SELECT response_size + coalesce(length(response_headers), 0) FROM delivery WHERE id = ?"
_LATEST = "SELECT state FROM delivery WHERE capture_seq = ? ORDER BY seq DESC LIMIT 1"

_QUEUED = SQL("t1.state = 'queued'")
"""Not a parameter: SQLite uses the index of queued deliveries only when it sees the state."""

SMALL = 4 * 1024
"""Bytes of a response that are stored even on a nearly full disk."""


class Deliveries:
    """All public methods are called on the loop's thread.

    StorageUnavailableError when the file cannot be read or written, or the store is closed.
    """

    def __init__(
        self,
        writer: Writer,
        readers: Readers,
        counts: RequestCounts,
        limits: StorageLimits,
        publish: Callable[[Event], None],
    ) -> None:
        self._writer, self._readers, self._publish = writer, readers, publish
        self._request_counts, self._limits = counts, limits

    async def pending(self, endpoint_id: int, limit: int = 50) -> list[Delivery]:
        """An endpoint's queued deliveries, oldest first."""
        if endpoint_id not in self._request_counts:
            return []
        queued = _deliveries().where(_QUEUED, DeliveryModel.endpoint_id == endpoint_id)
        return await self._read(queued.limit(limit))

    async def endpoints_with_pending(self) -> set[int]:
        """The endpoints that have queued deliveries."""

        def job(database: SqliteDatabase) -> set[int]:
            query = DeliveryModel.select(DeliveryModel.endpoint_id).distinct().where(_QUEUED)
            return {endpoint_id for (endpoint_id,) in query.tuples().execute(database)}

        return {number for number in await self._readers.run(job) if number in self._request_counts}

    async def finish(self, delivery: Delivery, response_body: bytes) -> None:
        """Store a delivery's result and publish DeliveryFinished. Does nothing when the request was deleted meanwhile.

        Where there is no room for a long response, only its beginning is stored: waiting would delay all later
        deliveries.
        """
        try:
            await self._store(delivery, response_body)
        except StorageUnavailableError:
            if len(response_body) <= SMALL:
                raise
            short = replace(delivery, response_size=SMALL, response_truncated=True)
            await self._store(short, response_body[:SMALL])

    async def _store(self, delivery: Delivery, response_body: bytes) -> None:
        d = delivery
        headers = encode_headers(d.response_headers)
        values = {name: getattr(d, name) for name in _RESULT}
        values |= {"id": d.id, "state": d.state.value, "response_headers": headers, "response_body": response_body}

        def job(database: SqliteDatabase) -> tuple[DeliveryState, int] | None:
            connection = raw(database)
            before = connection.execute(_BEFORE, (d.id,)).fetchone()
            row = connection.execute(_FINISH, values).fetchall()
            if not row:
                return None
            state = DeliveryState(connection.execute(_LATEST, row[0]).fetchone()[0])
            connection.execute("UPDATE capture SET mirror = ? WHERE seq = ?", (DELIVERY_CODE[state], row[0][0]))
            return state, len(headers) + d.response_size - before[0]

        def after(done: tuple[DeliveryState, int] | None) -> None:
            if done is None:
                return
            state, grown = done
            self._request_counts.grew(d.endpoint_id, grown)
            self._limits.grew(d.endpoint_id, grown)
            if d.endpoint_id in self._request_counts:
                self._publish(DeliveryFinished(delivery=delivery, state=state))

        await self._writer.run(job, after, cost=max(0, len(response_body) - SMALL))

    async def of_capture(self, capture_id: str) -> list[Delivery]:
        """A request's deliveries, oldest first."""
        return await self._read(_deliveries().where(CaptureModel.id == capture_id))

    async def page(
        self,
        endpoint_id: int | None = None,
        state: DeliveryState | None = None,
        *,
        before: int | None = None,
        limit: int = 100,
    ) -> list[tuple[int, Delivery]]:
        """At most `limit` deliveries, last queued first, each with its number, numbered below `before`; of one endpoint
        or of all (None), in one state or in any."""
        query = (
            DeliveryModel.select(*DELIVERY.columns, DeliveryModel.seq)
            .join(CaptureModel)
            .order_by(DeliveryModel.seq.desc())
        )
        if endpoint_id is None:
            removed = EndpointModel.select(EndpointModel.id).where(SQL("removed"))
            query = query.where(DeliveryModel.endpoint_id.not_in(removed))
        elif endpoint_id in self._request_counts:
            query = query.where(DeliveryModel.endpoint_id == endpoint_id)
        else:
            return []
        if state is not None:
            query = query.where(DeliveryModel.state == state.value)
        if before is not None:
            query = query.where(DeliveryModel.seq < before)

        def job(database: SqliteDatabase) -> list[tuple[int, Delivery]]:
            return [(row[-1], DELIVERY.record(row)) for row in query.limit(limit).tuples().execute(database)]

        return await self._readers.run(job)

    async def response_body(self, delivery_id: str) -> bytes:
        """The stored body of the response; NotFoundError when there is no such delivery."""

        def job(database: SqliteDatabase) -> bytes:
            query = DeliveryModel.select(DeliveryModel.response_body).where(DeliveryModel.id == delivery_id)
            for (data,) in query.tuples().execute(database):
                return bytes(data or b"")
            raise NotFoundError("This delivery is no longer stored.")

        return await self._readers.run(job)

    async def _read(self, query: ModelSelect[DeliveryModel]) -> list[Delivery]:
        return await self._readers.run(
            lambda database: [DELIVERY.record(row) for row in query.tuples().execute(database)]
        )


def _deliveries() -> ModelSelect[DeliveryModel]:
    return DeliveryModel.select(*DELIVERY.columns).join(CaptureModel).order_by(DeliveryModel.seq)
