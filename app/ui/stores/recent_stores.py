"""The team stores that were opened last, in `window.ini` in the data folder. No address there has a password."""

from __future__ import annotations

from pathlib import Path

import msgspec

from app.core.settings import store_error
from app.ui.window_file import WindowFile

KEY = "stores/recent"
KEPT = 8


class RecentStore(msgspec.Struct, frozen=True):
    """`captures`: this machine captured into it, too."""

    address: str
    captures: bool = False


class RecentStores:
    """The last one first; invalid entries in the file are ignored."""

    def __init__(self, folder: Path) -> None:
        self._file = WindowFile(folder)

    def all(self) -> list[RecentStore]:
        found = self._file.decoded(KEY, list[RecentStore]) or []
        return [one for one in found if store_error(one.address) is None]

    def use(self, used: RecentStore) -> None:
        """It is in use now."""
        self._write([used, *self._without(used.address)][:KEPT])

    def forget(self, address: str) -> None:
        self._write(self._without(address))

    def _without(self, address: str) -> list[RecentStore]:
        return [one for one in self.all() if one.address != address]

    def _write(self, stores: list[RecentStore]) -> None:
        self._file.set_encoded(KEY, stores)
        self._file.sync()


def where(place: str) -> str:
    """An address as menus have it: `ann@db.example.com/team`, or `service=team`."""
    return place.partition("?")[0].partition("://")[2] or place


def name_of(place: str) -> str:
    """The shortest that tells it from others: its database, or its service."""
    return where(place).rpartition("/")[2].rpartition("=")[2] or where(place)
