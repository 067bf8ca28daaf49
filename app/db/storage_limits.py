"""What may still be stored, in all and by each endpoint: decided in memory before anything is written.

Every byte on its way to the file is reserved first, parts of bodies too, so that no number of senders at once gets past
a limit. Where the oldest requests make room, a limit may be passed by a 32nd of it (at least 512 KiB, at most 64 MiB),
one body part and what deliveries bring back just then; beyond that senders wait for `StorageEviction`, and are answered
503 when that takes too long. Where capturing stops, only what deliveries bring back passes the limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from app.core.errors import StorageLimitError
from app.core.events import Event, StorageLimitChanged
from app.core.model import Endpoint, StorageUse, WhenFull
from app.db.storage_limit import Limit
from app.db.storage_use import LOOSE, Freed

BUSY_RETRY_S = 5
PATIENCE_S = 2.0
"""So long a sender waits while the oldest requests are being deleted."""


class StorageLimits:
    """All public methods are called on the loop's thread."""

    def __init__(
        self, publish: Callable[[Event], None], stored: Callable[[int], int], on_excess: Callable[[], None]
    ) -> None:
        """`stored`: the bytes that an endpoint's requests take in the file. `on_excess`: something is to be deleted."""
        self._publish, self._stored, self._on_excess = publish, stored, on_excess
        self._reserved = 0
        self._all = Limit(None, 0, lambda: self._all.taken - self._reserved, self._changed)
        self._own: dict[int | None, Limit] = {}
        """By endpoint; never None, which finds none."""
        self._arriving: dict[int, tuple[int | None, int]] = {}
        """The endpoint and the bytes of each body that is stored in part."""
        self._loose = 0
        """Bytes of parts without a request: arriving ones, and those whose deletion is under way."""
        self._loop, self._room = asyncio.get_running_loop(), asyncio.Event()

    def load(self, uses: Mapping[int, int]) -> None:
        """Start with the stored bytes by owner, before any body arrives."""
        self._loose = uses.get(LOOSE, 0)
        self._all.taken = sum(uses.values())

    # -- limits ---------------------------------------------------------------------------------------------------

    def set_limit(self, limit: int | None, when_full: WhenFull) -> None:
        """The limit of all endpoints together."""
        self._all.set(limit, when_full)
        self._room.set()
        self._look_for_excess(None)

    def follow(self, endpoint: Endpoint) -> None:
        """Apply the limit of a new or changed endpoint."""
        number = endpoint.id
        own = self._own.get(number)
        if own is None:
            own = self._own[number] = Limit(endpoint, self._stored(number), lambda: self._stored(number), self._changed)
        own.endpoint = endpoint
        own.set(endpoint.storage_limit, endpoint.when_full)
        self._room.set()
        self._look_for_excess(own)

    def forget(self, endpoint_id: int) -> None:
        """Drop the limit of a deleted endpoint; its requests count towards the total until their rows are deleted."""
        own = self._own.pop(endpoint_id, None)
        if own is not None:
            own.reach(False)

    def use(self) -> StorageUse:
        """How much of the limit of all endpoints is used."""
        return self._all.use()

    def use_of(self, endpoint_id: int) -> StorageUse:
        """How much of an endpoint's own limit is used."""
        own = self._own.get(endpoint_id)
        return own.use() if own is not None else _NO_USE

    def reached(self) -> list[tuple[Endpoint | None, StorageUse]]:
        """The limits that are reached now: of which endpoint, or of all (None)."""
        return [(limit.endpoint, limit.use()) for limit in (*self._own.values(), self._all) if limit.reached]

    # -- before writing -------------------------------------------------------------------------------------------

    def check(self, endpoint_id: int, size: int) -> None:
        """StorageLimitError when a body of `size` bytes would not be stored now."""
        for limit in (self._own.get(endpoint_id), self._all):
            if limit is not None and limit.taken + size > limit.ceiling:
                limit.may_pass(size)

    def reserve(self, endpoint_id: int | None, size: int, whole: int) -> bool:
        """Take room for `size` bytes about to be written, of a request that takes `whole` so far. False: not before
        something is deleted, see `wait_for_room`. StorageLimitError: not at all."""
        own, everything = self._own.get(endpoint_id), self._all
        if (own is not None and own.taken + size > own.ceiling) or everything.taken + size > everything.ceiling:
            for limit in (own, everything):
                if limit is not None and limit.taken + size > limit.ceiling:
                    may_pass = limit.may_pass(whole)
                    self._on_excess()
                    if not may_pass:
                        return False
        if own is not None:
            own.taken += size
        everything.taken += size
        self._reserved += size
        return True

    async def wait_for_room(self, endpoint_id: int | None, size: int, whole: int) -> None:
        """The same where `reserve` said no; StorageLimitError when deleting takes too long."""
        deadline = self._loop.time() + PATIENCE_S
        while not self.reserve(endpoint_id, size, whole):
            self._room.clear()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._room.wait()
            except TimeoutError:
                text = "The oldest requests cannot be deleted as fast as new ones arrive."
                raise StorageLimitError(text, BUSY_RETRY_S) from None

    def arriving(self, seq: int) -> int:
        """Bytes of this request's body that were stored ahead of it."""
        return self._arriving.get(seq, _NO_PARTS)[1]

    # -- after writing --------------------------------------------------------------------------------------------

    def stored(self, size: int, seqs: Iterable[int]) -> None:
        """Requests that take `size` bytes are in the file. Parts of the bodies of `seqs` came before; they belong to
        them now."""
        parts = sum(self._arriving.pop(seq, _NO_PARTS)[1] for seq in seqs)
        self._loose -= parts
        self._reserved -= size - parts

    def failed(self, endpoint_id: int | None, size: int) -> None:
        """Release a reservation: nothing was written."""
        self._reserved -= size
        self._give_back(endpoint_id, size, size)

    def stored_part(self, endpoint_id: int | None, seq: int, size: int) -> None:
        """A part of a body was stored."""
        self._reserved -= size
        self._arriving[seq] = (endpoint_id, self.arriving(seq) + size)
        self._loose += size

    def dropped(self, seq: int) -> None:
        """The parts of this body wait to be deleted."""
        endpoint_id, size = self._arriving.pop(seq, _NO_PARTS)
        self._give_back(endpoint_id, size, 0)

    def grew(self, endpoint_id: int, size: int) -> None:
        """Add what a delivery's response takes."""
        own = self._own.get(endpoint_id)
        self._give_back(endpoint_id, -size, -size)
        self._look_for_excess(own)

    def freed(self, freed: Freed, endpoint_id: int | None = None) -> None:
        """Subtract what a deletion freed."""
        self._loose += freed.loose
        self._give_back(endpoint_id, freed.bytes, freed.bytes - freed.loose)

    # -- for the eviction -----------------------------------------------------------------------------------------

    def waiting_to_go(self) -> int:
        """Bytes of bodies whose deletion is under way."""
        return self._loose - sum(size for _, size in self._arriving.values())

    def excess(self, endpoint_id: int | None) -> int:
        """How much is to be deleted, beside what is on its way out; 0 or less: nothing."""
        if endpoint_id is None:
            return self._all.excess() - self.waiting_to_go()
        own = self._own.get(endpoint_id)
        return own.excess() if own is not None else 0

    def passed(self) -> list[int | None]:
        """The endpoints whose limit is passed, and None if that of all is; each only while the oldest are to go."""
        return [key for key, limit in (*self._own.items(), (None, self._all)) if limit.is_passed()]

    def evicting(self, endpoint_id: int | None) -> None:
        """The oldest requests are being deleted for the limit of this endpoint, or of all (None)."""
        limit = self._all if endpoint_id is None else self._own.get(endpoint_id)
        if limit is not None:
            limit.reach(True)

    # -- within ---------------------------------------------------------------------------------------------------

    def _give_back(self, endpoint_id: int | None, own_size: int, size: int) -> None:
        own = self._own.get(endpoint_id)
        if own is not None:
            own.give_back(own_size)
        self._all.give_back(size)
        self._room.set()

    def _look_for_excess(self, own: Limit | None) -> None:
        if self._all.is_passed() or (own is not None and own.is_passed()):
            self._on_excess()

    def _changed(self, limit: Limit) -> None:
        self._publish(StorageLimitChanged(endpoint=limit.endpoint, use=limit.use()))


_NO_PARTS: tuple[int | None, int] = (None, 0)
_NO_USE = StorageUse(used=0, limit=None, when_full="delete_oldest", reached=False)
