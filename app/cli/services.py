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


class CliServices(Record, frozen=True):
    """`serve`, `listen`, `window` and `selftest` run until they end and return the exit code.

    `open_api` opens the store in a data folder and serves the local API for one command; used only when no program has
    that folder open. `require_database` raises HooklineError for a folder whose database is missing. `restore` puts a
    backup in the place of a folder's database, once the last of its arguments has accepted what it holds; it returns
    where the old one is, None without one. `doctor` checks a folder and the system, the whole database if the second
    argument says so. `portable_folder` is the data folder of a portable program, None for any other. `is_bundle` says
    whether this is the packaged program, which nothing can be installed into.
    """

    serve: Callable[[ServeOptions], int]
    listen: Callable[[ListenToOptions], int]
    window: Callable[[WindowOptions], int]
    open_api: Callable[[Path], AbstractAsyncContextManager[ApiAddress]]
    selftest: Callable[[SelftestOptions], int]
    require_database: Callable[[Path], None]
    restore: Callable[[Path, Path, Report, Callable[[BackupContents], None]], Path | None]
    doctor: Callable[[Path, bool], Iterable[Finding]]
    portable_folder: Path | None = None
    is_bundle: bool = False
