"""The node of a store that only one program opens at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app import __version__
from app.core.node import Node, OtherNodes


class SingleNode:
    """This program."""

    others = OtherNodes()

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock, self._started_at = clock, clock()

    async def catch_up(self) -> bool:
        return False

    async def all(self) -> Sequence[Node]:
        return [
            Node(number=1, version=__version__, started_at=self._started_at, seen_at=self._clock(), current=True),
        ]
