"""The programs that run on one store."""

from __future__ import annotations

from app.core.record import Record

NOT_CAPTURING = "This machine does not capture into the team's store"

ADDRESS_ADVICE = "Name it where a member’s Hookline captures: hookline serve --base-url URL."


class OtherNodes(Record, frozen=True):
    """How many other programs capture into the store, and what capture URLs begin with, as one of them was told:
    `base_url` stays known while none of them runs."""

    capturing: int = 0
    base_url: str | None = None


class Node(Record, frozen=True):
    """A program that runs on the store, `current` for the one that is asked. `seen_at` is when it last said that it
    lives; `jobs` are what it does for all nodes, such as `target 3`: sending to that target."""

    number: int
    version: str
    started_at: int
    seen_at: int
    current: bool
    jobs: tuple[str, ...] = ()
