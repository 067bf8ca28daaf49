"""Storage limits, of all endpoints together and of each: enforced in memory before anything is written.

Every byte is reserved before it is written, including parts of bodies, so that a limit holds however many senders there
are. Where the oldest requests are deleted to make room, a limit may be exceeded by 1/32 of it (at least 512 KiB, at
most 64 MiB), one body part, and attempts of deliveries that are stored at that moment; beyond that, senders wait for
`StorageEviction`, and get a 503 when that takes too long. Where capturing stops, only attempts of deliveries may
exceed the limit.

What targets respond has a limit of its own, so that no target takes room from what senders sent: the oldest responses
are removed once it is exceeded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from app.core.errors import StorageLimitError
from app.core.events import Event, StorageLimitChanged
from app.core.model import Counts, Endpoint, StorageUse, WhenFull
from app.core.sizes import KIB, LARGEST, MIB, exact_size
from app.db.counts import LOOSE, RESPONSES, Deleted, RequestCounts

RETRY_S = 60


class StorageLimit:
    """One limit; `endpoint` None: that of all endpoints. `allocated` bytes are stored or reserved; `used` returns only
    the stored ones.

    `changed` is called when the limit is reached, and when there is room again.
    """

    __slots__ = ("_changed", "_used", "allocated", "ceiling", "endpoint", "limit", "reached", "when_full")

    def __init__(
        self,
        endpoint: Endpoint | None,
        allocated: int,
        used: Callable[[], int],
        changed: Callable[[StorageLimit], None],
    ) -> None:
        self.endpoint, self.allocated, self._used, self._changed = endpoint, allocated, used, changed
        self.limit: int | None = None
        self.when_full: WhenFull = "delete_oldest"
        self.reached = False
        self.ceiling = LARGEST
        """Up to this many allocated bytes, nothing else has to be checked."""

    @property
    def margin(self) -> int:
        """How far below the limit deleting continues."""
        return min((self.limit or 0) // 32, 64 * MIB)

    @property
    def overrun(self) -> int:
        """How far the limit may be exceeded while the oldest requests are being deleted."""
        return max(512 * KIB, self.margin)

    @property
    def stop_above(self) -> int:
        """With more than this allocated, capturing stops when a request does not fit, until less is allocated."""
        limit = self.limit or 0
        return limit - min(limit // 10, 64 * MIB)

    def set(self, limit: int | None, when_full: WhenFull) -> None:
        if (self.limit, self.when_full) != (limit, when_full):
            self.limit, self.when_full = limit, when_full
            if self.reached:
                self.set_reached(False)
        self._update_ceiling()
        if limit is not None and self.allocated >= limit and when_full == "stop_capturing" and not self.reached:
            self.set_reached(True)

    def excess(self) -> int:
        """Bytes that must be deleted."""
        if self.limit is None or self.when_full != "delete_oldest":
            return 0
        return max(0, self.allocated - self.limit + self.margin)

    def is_exceeded(self) -> bool:
        """Whether the oldest requests must be deleted."""
        return self.excess() > self.margin

    def may_exceed(self, request_size: int) -> bool:
        """Whether a request of `request_size` bytes so far may exceed the ceiling now, because room is being made.

        StorageLimitError where none is.
        """
        assert self.limit is not None
        if request_size > self.limit:
            raise StorageLimitError(f"{self._name()}, and the request is larger.", RETRY_S, self.limit)
        if self.when_full == "stop_capturing":
            if not self.reached and self.allocated > self.stop_above:
                self.set_reached(True)
            raise StorageLimitError(f"{self._name()}, and there is no room for the request.", RETRY_S)
        return self.allocated <= self.limit + self.overrun

    def give_back(self, size: int) -> None:
        self.allocated -= size
        if self.reached and self.has_room():
            self.set_reached(False)

    def set_reached(self, reached: bool) -> None:
        """`reached`: the oldest requests are being deleted for the limit, or capturing has stopped."""
        if reached != self.reached:
            self.reached = reached
            self._update_ceiling()
            self._changed(self)

    def use(self) -> StorageUse:
        """The use that is displayed: only what is stored already."""
        return StorageUse(used=self._used(), limit=self.limit, when_full=self.when_full, reached=self.reached)

    def _update_ceiling(self) -> None:
        stopped = self.reached and self.when_full == "stop_capturing"
        self.ceiling = -1 if stopped else LARGEST if self.limit is None else self.limit

    def has_room(self) -> bool:
        """Whether a limit that was reached is not any more."""
        if self.limit is None:
            return True
        # Deleting one large request may free far more than the excess, which does not mean that deleting is over.
        return self.allocated <= (self.stop_above if self.when_full == "stop_capturing" else self.limit // 2)

    def _name(self) -> str:
        name = f"Endpoint {self.endpoint.name}" if self.endpoint is not None else "All endpoints together"
        return f"{name} may store {exact_size(self.limit or 0)}"


BUSY_RETRY_S = 5
PATIENCE_S = 2.0
"""How long a sender waits while the oldest requests are being deleted."""


class StorageLimits:
    """All public methods are called on the loop's thread."""

    def __init__(self, publish: Callable[[Event], None], counts: RequestCounts, on_excess: Callable[[], None]) -> None:
        """`on_excess` is called when something has to be deleted."""
        self._publish, self._request_counts, self._on_excess = publish, counts, on_excess
        self._reserved = 0
        self._all = StorageLimit(None, 0, lambda: self._all.allocated - self._reserved, self._changed)
        self._responses = StorageLimit(None, 0, lambda: self._responses.allocated, lambda _: None)
        self._own: dict[int | None, StorageLimit] = {}
        """By endpoint. The key None never exists, so looking it up finds no limit."""
        self._arriving: dict[int, tuple[int | None, int]] = {}
        """The endpoint and the bytes of each body that is stored in part, by its key."""
        self._loose = 0
        """Bytes of parts without a request: arriving ones, and those that are being deleted."""
        self._uncertain: set[int] = set()
        """Endpoints that were restored while something was being written: that may be for them, and is missing in what
        they have allocated."""
        self._loop, self._room = asyncio.get_running_loop(), asyncio.Event()

    def load(self, counts: Mapping[int, Counts]) -> None:
        """Start with the stored bytes by owner, before any body arrives."""
        self._loose, self._responses.allocated = counts[LOOSE].stored_bytes, counts[RESPONSES].stored_bytes
        self._all.allocated = sum(one.stored_bytes for one in counts.values()) - self._responses.allocated

    # -- limits ---------------------------------------------------------------------------------------------------

    def set_limit(self, limit: int | None, when_full: WhenFull) -> None:
        """Set the limit of all endpoints together."""
        self._all.set(limit, when_full)
        self._room.set()
        self._check_excess(None)

    def set_response_limit(self, limit: int) -> None:
        """Set the limit of what targets respond."""
        self._responses.set(limit, "delete_oldest")
        self.responses_grew(0)

    def follow(self, endpoint: Endpoint) -> None:
        """Apply the limit of a new or changed endpoint."""
        number = endpoint.id
        own = self._own.get(number)
        if own is None:

            def stored() -> int:
                return self._request_counts.of(number).stored_bytes

            own = self._own[number] = StorageLimit(endpoint, self._stored_for(number), stored, self._changed)
            if self._reserved:
                self._uncertain.add(number)
        own.endpoint = endpoint
        own.set(endpoint.storage_limit, endpoint.when_full)
        self._room.set()
        self._check_excess(own)

    def forget(self, endpoint_id: int) -> None:
        """Drop the limit of a deleted endpoint; its requests count towards the total until their rows are deleted."""
        own = self._own.pop(endpoint_id, None)
        if own is not None:
            own.set_reached(False)

    def use(self) -> StorageUse:
        """How much of the limit of all endpoints is used."""
        return self._all.use()

    def use_of_responses(self) -> StorageUse:
        """How much of the limit of responses is used."""
        return self._responses.use()

    def use_of(self, endpoint_id: int) -> StorageUse:
        """How much of an endpoint's own limit is used."""
        own = self._own.get(endpoint_id)
        return own.use() if own is not None else _NO_USE

    def reached(self) -> list[tuple[Endpoint | None, StorageUse]]:
        """The limits that are reached now, each with its endpoint, or None for the limit of all."""
        return [(limit.endpoint, limit.use()) for limit in (*self._own.values(), self._all) if limit.reached]

    # -- before writing -------------------------------------------------------------------------------------------

    def check(self, endpoint_id: int, size: int) -> None:
        """StorageLimitError when a body of `size` bytes would not be stored now."""
        for limit in (self._own.get(endpoint_id), self._all):
            if limit is not None and limit.allocated + size > limit.ceiling:
                limit.may_exceed(size)

    def reserve(self, endpoint_id: int | None, size: int, request_size: int) -> bool:
        """Reserve `size` bytes about to be written, of a request that takes `request_size` bytes so far. False when
        something has to be deleted first, see `wait_for_room`; StorageLimitError when the request cannot be stored."""
        if self._uncertain and not self._reserved:
            self._make_certain()
        own, total = self._own.get(endpoint_id), self._all
        if (own is not None and own.allocated + size > own.ceiling) or total.allocated + size > total.ceiling:
            for limit in (own, total):
                if limit is not None and limit.allocated + size > limit.ceiling:
                    may_exceed = limit.may_exceed(request_size)
                    self._on_excess()
                    if not may_exceed:
                        return False
        if own is not None:
            own.allocated += size
        total.allocated += size
        self._reserved += size
        return True

    async def wait_for_room(self, endpoint_id: int | None, size: int, request_size: int) -> None:
        """Reserve when there is room; StorageLimitError when deleting takes too long."""
        deadline = self._loop.time() + PATIENCE_S
        while not self.reserve(endpoint_id, size, request_size):
            self._room.clear()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._room.wait()
            except TimeoutError:
                text = "The oldest requests cannot be deleted as fast as new ones arrive."
                raise StorageLimitError(text, BUSY_RETRY_S) from None

    def arriving(self, body_key: int | None) -> int:
        """Bytes of this body that are stored already; none of one that has no key yet."""
        return 0 if body_key is None else self._arriving.get(body_key, _NO_PARTS)[1]

    # -- after writing --------------------------------------------------------------------------------------------

    def stored(self, size: int, body_keys: Iterable[int]) -> None:
        """Requests of `size` bytes were stored, with the parts of these bodies that were stored before them."""
        parts = sum(self._arriving.pop(key, _NO_PARTS)[1] for key in body_keys)
        self._loose -= parts
        self._reserved -= size - parts

    def failed(self, endpoint_id: int | None, size: int) -> None:
        """Release a reservation: nothing was written."""
        self._reserved -= size
        self._give_back(endpoint_id, size, size)

    def stored_part(self, endpoint_id: int | None, body_key: int, size: int) -> None:
        """A part of a body was stored."""
        self._reserved -= size
        self._arriving[body_key] = (endpoint_id, self.arriving(body_key) + size)
        self._loose += size

    def dropped(self, body_key: int) -> None:
        endpoint_id, size = self._arriving.pop(body_key, _NO_PARTS)
        self._give_back(endpoint_id, size, 0)

    def grew(self, endpoint_id: int, size: int) -> None:
        """Add the bytes of a delivery's attempts."""
        own = self._own.get(endpoint_id)
        self._request_counts.add(endpoint_id, stored_bytes=size)
        self._give_back(endpoint_id, -size, -size)
        self._check_excess(own)

    def responses_grew(self, size: int) -> None:
        self._responses.allocated += size
        if self._responses.is_exceeded():
            self._on_excess()

    def deleted(self, deleted: Deleted | None) -> None:
        """Something was deleted for good: fewer requests are counted, and there is more room."""
        if deleted is None:
            return
        self._loose += deleted.loose
        self._responses.allocated -= deleted.responses
        self._give_back(None, 0, -deleted.loose)  # first, so that what is still to be deleted gives no room
        for endpoint_id, removed in deleted.removed.items():
            self._request_counts.removed(endpoint_id, removed)
            self._give_back(endpoint_id, removed.bytes, removed.bytes)

    def follow_all(self, counts: Mapping[int, Counts]) -> None:
        """Take over the bytes of all owners as the database has them, with what other nodes stored and deleted; before
        the endpoints' own counts are taken over."""
        for number, own in self._own.items():
            if number is not None and number in counts:
                own.give_back(self._request_counts.of(number).stored_bytes - counts[number].stored_bytes)
        self._loose, self._responses.allocated = counts[LOOSE].stored_bytes, counts[RESPONSES].stored_bytes
        stored = sum(one.stored_bytes for one in counts.values()) - self._responses.allocated
        self._all.give_back(self._all.allocated - self._reserved - stored)
        self._room.set()
        if self.exceeded() or self.responses_exceeded():
            self._on_excess()

    # -- for the eviction -----------------------------------------------------------------------------------------

    def pending_deletion(self) -> int:
        """Bytes of bodies that are being deleted."""
        return self._loose - sum(size for _, size in self._arriving.values())

    def excess(self, endpoint_id: int | None) -> int:
        """Bytes to be deleted, not counting those that are being deleted; 0 or less: none."""
        if endpoint_id is None:
            return self._all.excess() - self.pending_deletion()
        own = self._own.get(endpoint_id)
        return own.excess() if own is not None else 0

    def responses_exceeded(self) -> bool:
        return self._responses.is_exceeded()

    def response_excess(self) -> int:
        """Bytes of responses to be removed once their limit is exceeded; 0 or less: none."""
        return self._responses.excess()

    def exceeded(self) -> list[int | None]:
        """The endpoints whose limit is exceeded, and None if that of all is; only limits that delete the oldest
        requests."""
        return [key for key, limit in (*self._own.items(), (None, self._all)) if limit.is_exceeded()]

    def evicting(self, endpoint_id: int | None) -> None:
        """The oldest requests are being deleted for the limit of this endpoint, or of all (None)."""
        limit = self._all if endpoint_id is None else self._own.get(endpoint_id)
        if limit is not None and not limit.has_room():
            limit.set_reached(True)

    # -- within ---------------------------------------------------------------------------------------------------

    def _stored_for(self, endpoint_id: int) -> int:
        """Also the parts of bodies that arrive for it: it may have been restored meanwhile."""
        parts = sum(size for number, size in self._arriving.values() if number == endpoint_id)
        return self._request_counts.of(endpoint_id).stored_bytes + parts

    def _make_certain(self) -> None:
        """Nothing is being written now."""
        for endpoint_id in self._uncertain & self._own.keys():
            self._own[endpoint_id].allocated = self._stored_for(endpoint_id)
        self._uncertain.clear()

    def _give_back(self, endpoint_id: int | None, own_size: int, size: int) -> None:
        own = self._own.get(endpoint_id)
        if own is not None:
            own.give_back(own_size)
        self._all.give_back(size)
        self._room.set()

    def _check_excess(self, own: StorageLimit | None) -> None:
        if self._all.is_exceeded() or (own is not None and own.is_exceeded()):
            self._on_excess()

    def _changed(self, limit: StorageLimit) -> None:
        self._publish(StorageLimitChanged(endpoint=limit.endpoint, use=limit.use()))


_NO_PARTS: tuple[int | None, int] = (None, 0)
_NO_USE = StorageUse(used=0, limit=None, when_full="delete_oldest", reached=False)
