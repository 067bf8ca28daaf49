"""A team's store: which store the window works on, what a user may do there, and the programs that run on it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from app.core.record import Field, Record


class Role(StrEnum):
    """A `CAPTURE` node stores requests, and reads none; a `READER` changes nothing; a `MEMBER` does all. One's own
    store has no other users: there one is a member."""

    CAPTURE = "capture"
    READER = "reader"
    MEMBER = "member"


def may_only_capture(place: str) -> str:
    """Why a window cannot work on the store at `place`."""
    return (
        f"Your role in the team's store at {place} may only capture, so a window has nothing to show. Use another role,"
        " or capture without a window: hookline serve."
    )


NOT_ALLOWED = {
    Role.CAPTURE: "Your role in the team's store may only capture.",
    Role.READER: "Your role in the team's store may only read.",
    Role.MEMBER: "Your role in the team's store may not do that.",
}


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


class StoreChoice(Record, frozen=True):
    """Without an `address`, one's own store: the file in the data folder."""

    address: Annotated[
        str | None,
        Field(
            title="Address",
            help="As PostgreSQL’s own programs take it: several servers with commas between them, or service=NAME.",
        ),
    ] = None
    password: Annotated[
        str,
        Field(
            title="Password",
            help="Where ~/.pgpass, PGPASSWORD or a service file has none. Hookline forgets it when it is closed.",
            secret=True,
        ),
    ] = ""
    captures: Annotated[
        bool,
        Field(
            title="Capture on this machine, too",
            help="Without that, it only shows and changes what others capture, and does no work for them.",
        ),
    ] = False


def where(place: str) -> str:
    """An address as menus have it: `ann@db.example.com/team`, or `service=team`."""
    return place.partition("?")[0].partition("://")[2] or place


def name_of(place: str) -> str:
    """The shortest that tells it from others: its database, or its service."""
    return where(place).rpartition("/")[2].rpartition("=")[2] or where(place)
