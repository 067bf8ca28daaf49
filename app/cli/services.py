"""What the command line needs of the rest of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from app.cli.options import ListenToOptions, SelftestOptions, ServeOptions, WindowOptions
from app.core.backup import BackupContents, Report
from app.core.doctor import Finding
from app.core.record import Record
from hookline.running import ApiAddress


def _not_portable() -> None:
    """The default for `portable_folder`."""


def _from_source() -> bool:
    """The default for `is_bundle`."""
    return False


def _nothing_missing(folder: Path) -> None:
    """The default for `require_database`."""


def _nothing_restored(folder: Path, file: Path, report: Report, confirm: Callable[[BackupContents], None]) -> None:
    """The default for `restore`."""


def _nothing_found(folder: Path, full: bool) -> Iterable[Finding]:
    """The default for `doctor`."""
    return ()


class CliServices(Record, frozen=True):
    """`serve`, `listen`, `window` and `selftest` run until they end and return the exit code.

    `open_api` opens the store in a data folder and serves the local API for one command; used only when no program has
    that folder open. `portable_folder` returns the data folder of a portable program, None for any other. `is_bundle`
    says whether this is the packaged program, which nothing can be installed into. `require_database` raises
    HooklineError for a folder whose database is missing. `restore` puts a backup in the place of a folder's database,
    once the last of its arguments has accepted what it holds; it returns where the old one is, None without one.
    `doctor` checks a folder and the system, the whole database if the second argument says so.
    """

    serve: Callable[[ServeOptions], int]
    listen: Callable[[ListenToOptions], int]
    window: Callable[[WindowOptions], int]
    open_api: Callable[[Path], AbstractAsyncContextManager[ApiAddress]]
    selftest: Callable[[SelftestOptions], int]
    portable_folder: Callable[[], Path | None] = _not_portable
    is_bundle: Callable[[], bool] = _from_source
    require_database: Callable[[Path], None] = _nothing_missing
    restore: Callable[[Path, Path, Report, Callable[[BackupContents], None]], Path | None] = _nothing_restored
    doctor: Callable[[Path, bool], Iterable[Finding]] = _nothing_found
