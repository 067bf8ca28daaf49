"""The programs that run on one store."""

from __future__ import annotations

from app.core.record import Record


class Node(Record, frozen=True):
    """A program that runs on the store, `current` for the one that is asked. `seen_at` is when it last said that it
    lives; `jobs` are what it does for all nodes, such as `target 3`: sending to that target."""

    number: int
    version: str
    started_at: int
    seen_at: int
    current: bool
    jobs: tuple[str, ...] = ()
