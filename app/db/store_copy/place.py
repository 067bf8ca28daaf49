"""Where a store is that is copied, or is to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from peewee import Database

from app.core.errors import StoreDriverError
from app.db.sqlite.store_place import DataFolder


class StorePlace(Protocol):
    """As a context manager it is open, and no Hookline can use it meanwhile. StoreCopyError, DataFolderError or
    StoreAddressError if that is impossible; one that is only read has to be there, and of this version."""

    name: str
    """As messages have it."""
    is_new: bool
    """There are no tables yet."""

    @property
    def database(self) -> Database: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def used(self) -> str:
        """What has changed once a Hookline has used it."""
        ...

    def require_room(self, uses: Mapping[int, int]) -> None:
        """StoreCopyError if it cannot hold so many bytes, by owner. Before it is open."""
        ...

    def create(self) -> None:
        """Make `database` one that can be written to, with the tables of this version."""
        ...

    def make_place(self, seqs: Sequence[int]) -> None:
        """Requests with these numbers are about to be stored."""
        ...

    def empty(self) -> None:
        """Delete the unfinished copy that it holds."""
        ...

    def trouble(self, error: BaseException) -> str | None:
        """Why it cannot be read or written, in sentences; None for an error of something else."""
        ...


def place_of(address: str | Path, *, read_only: bool) -> StorePlace:
    """A folder's file, or a team's store."""
    if isinstance(address, Path):
        return DataFolder(address, read_only=read_only)
    try:
        from app.db.postgres.store_place import TeamStore  # psycopg is an extra
    except ImportError as error:
        raise StoreDriverError from error
    return TeamStore(address, read_only=read_only)
