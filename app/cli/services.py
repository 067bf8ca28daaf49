"""What the command line calls of the rest of the program."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from app.cli.options import SelftestOptions, ServeOptions, WindowOptions
from app.core.model import Record


class ApiAddress(Record, frozen=True):
    """Where the local API is (`http://127.0.0.1:8788`, no path) and the token that opens it."""

    url: str
    token: str


def _nothing_stored(*_: object) -> list[tuple[str, str]]:
    """What `stored_slugs` and `stored_ids` find in an empty folder."""
    return []


def _not_portable() -> None:
    """What `portable_folder` says of an installed program."""


def _nothing_missing(folder: Path) -> None:
    """As in a folder that was never used."""


class CliServices(Record, frozen=True):
    """`serve`, `window` and `selftest` run until they end and give the exit code.

    `open_api` opens the store in a data folder and serves the local API for one command; used only when no program has
    that folder open. `portable_folder` is the data folder of a portable program, None for any other. `stored_slugs` and
    `stored_ids` (of requests, that begin with a text) say what a word of the line may become, with what it stands for.
    `require_database` raises HooklineError for a folder whose database is missing.
    """

    serve: Callable[[ServeOptions], int]
    window: Callable[[WindowOptions], int]
    open_api: Callable[[Path], AbstractAsyncContextManager[ApiAddress]]
    selftest: Callable[[SelftestOptions], int]
    portable_folder: Callable[[], Path | None] = _not_portable
    stored_slugs: Callable[[Path], list[tuple[str, str]]] = _nothing_stored
    stored_ids: Callable[[Path, str], list[tuple[str, str]]] = _nothing_stored
    require_database: Callable[[Path], None] = _nothing_missing
