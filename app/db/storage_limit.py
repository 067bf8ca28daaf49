"""One storage limit: what is taken of it, and what that means."""

from __future__ import annotations

from collections.abc import Callable

from app.core.errors import StorageLimitError
from app.core.model import Endpoint, StorageUse, WhenFull
from app.core.sizes import KIB, LARGEST, MIB, exact_size

RETRY_S = 60


class Limit:
    """`endpoint` None: the limit of all. `taken` is stored, or reserved; `used` tells what is stored alone.

    `changed` is called when it is reached, and when there is room again.
    """

    __slots__ = ("_changed", "_used", "ceiling", "endpoint", "limit", "reached", "taken", "when_full")

    def __init__(
        self, endpoint: Endpoint | None, taken: int, used: Callable[[], int], changed: Callable[[Limit], None]
    ) -> None:
        self.endpoint, self.taken, self._used, self._changed = endpoint, taken, used, changed
        self.limit: int | None = None
        self.when_full: WhenFull = "delete_oldest"
        self.reached = False
        self.ceiling = LARGEST
        """Up to here nothing needs a second look."""

    @property
    def gap(self) -> int:
        """How far below the limit deleting goes."""
        return min((self.limit or 0) // 32, 64 * MIB)

    @property
    def slack(self) -> int:
        """How far the limit may be passed while the oldest requests are being deleted."""
        return max(512 * KIB, self.gap)

    @property
    def stop_above(self) -> int:
        """Where more than this is taken and a request does not fit, capturing stops until no more is."""
        limit = self.limit or 0
        return limit - min(limit // 10, 64 * MIB)

    def set(self, limit: int | None, when_full: WhenFull) -> None:
        """Set other bounds; `taken` stays."""
        if (self.limit, self.when_full) != (limit, when_full):
            self.limit, self.when_full = limit, when_full
            if self.reached:
                self.reach(False)
        self._lift()
        if limit is not None and self.taken >= limit and when_full == "stop_capturing" and not self.reached:
            self.reach(True)

    def excess(self) -> int:
        """How much must be deleted; 0: nothing."""
        if self.limit is None or self.when_full != "delete_oldest":
            return 0
        return max(0, self.taken - self.limit + self.gap)

    def is_passed(self) -> bool:
        """Whether the oldest requests must be deleted."""
        return self.excess() > self.gap

    def may_pass(self, whole: int) -> bool:
        """Whether more of a request that takes `whole` so far may pass the ceiling now, because room is being made.

        StorageLimitError where none is.
        """
        assert self.limit is not None
        if whole > self.limit:
            raise StorageLimitError(f"{self._name()}, and the request is larger.", RETRY_S, self.limit)
        if self.when_full == "stop_capturing":
            if not self.reached and self.taken > self.stop_above:
                self.reach(True)
            raise StorageLimitError(f"{self._name()}, and there is no room for the request.", RETRY_S)
        return self.taken <= self.limit + self.slack

    def give_back(self, size: int) -> None:
        self.taken -= size
        if self.reached and self._has_room():
            self.reach(False)

    def reach(self, reached: bool) -> None:
        """The oldest requests are being deleted for it, or capturing has stopped; or there is room again."""
        if reached != self.reached:
            self.reached = reached
            self._lift()
            self._changed(self)

    def use(self) -> StorageUse:
        """For people, who see what is stored already."""
        return StorageUse(used=self._used(), limit=self.limit, when_full=self.when_full, reached=self.reached)

    def _lift(self) -> None:
        stopped = self.reached and self.when_full == "stop_capturing"
        self.ceiling = -1 if stopped else LARGEST if self.limit is None else self.limit

    def _has_room(self) -> bool:
        if self.limit is None:
            return True
        # Where the oldest go, one large request may take far more away than was too much: that is no end of it.
        return self.taken <= (self.stop_above if self.when_full == "stop_capturing" else self.limit // 2)

    def _name(self) -> str:
        whose = f"Endpoint {self.endpoint.name}" if self.endpoint is not None else "All endpoints together"
        return f"{whose} may store {exact_size(self.limit or 0)}"
