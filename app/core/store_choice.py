"""Which store the window works on, and how it is called there."""

from __future__ import annotations

from typing import Annotated

from app.core.fields import Field
from app.core.record import Record


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
