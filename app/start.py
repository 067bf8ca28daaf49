"""Runs a command line with what it needs: serve, the window, the store."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app import __version__
from app.cli.errors import Exit
from app.cli.main import CliServices
from app.cli.main import main as run_command_line
from app.cli.options import ListenToOptions, SelftestOptions, ServeOptions, WindowOptions
from app.core.backup import BackupContents, CopiedStore, Report
from app.core.doctor import Finding
from app.core.errors import HooklineError
from app.core.links import LaunchRequest
from app.core.team import Role
from app.system import installation
from hookline.running import ApiAddress

if TYPE_CHECKING:
    from app.gui import Ready

DRAW = "--draw"
"""The argument with which the packaged window starts itself to draw something: not for users."""
FIRST_ENDPOINT = "My first endpoint"
"""The endpoint that a start without a window creates, so that its URL can be printed at once."""


def start(given: Sequence[str]) -> int:
    """Run one command; returns the process's exit code."""
    installation.end_with_unpacker()
    if given == [DRAW]:
        return _draw()
    installation.restore_environment()
    leave_out()
    services = CliServices(
        serve=_serve,
        listen=_listen,
        window=show_window,
        open_api=_open_api,
        selftest=_selftest,
        names_team_store=_names_team_store,
        require_database=_require_database,
        restore=_restore,
        copy_store=_copy_store,
        doctor=_doctor,
        init_team=_init_team,
        portable_folder=installation.portable_folder(),
        is_bundle=installation.is_bundle(),
    )
    return run_command_line(given, services)


def leave_out() -> None:
    """Keep libraries from loading others that this process does not need."""
    # Where click and rich are installed, httpx loads its own command line: 40 ms of the 250 that a command takes.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    # Where psycopg is installed, peewee loads it: as long again. Only a team's store needs it, see `app.db.postgres`.
    sys.modules.setdefault("psycopg", None)  # type: ignore[arg-type]


def _draw() -> int:
    from app.ui.inspector.body.pictures import main as draw  # start-up time, and Qt: for this process alone

    return draw()


def _names_team_store(folder: Path) -> bool:
    from app.current_settings import store_of  # start-up time: few commands run in a folder without a database
    from app.data_folder.private_files import load_settings  # as above

    return store_of(load_settings(folder)) is not None


def _require_database(folder: Path) -> None:
    import sqlite3  # noqa: F401 - a Python without it is named before anything else

    from app.data_folder.database_files import require_database  # start-up time, as in `_serve`

    require_database(folder)


def _restore(folder: Path, file: Path, report: Report, confirm: Callable[[BackupContents], None]) -> Path | None:
    from app.db.sqlite.restore import restore  # start-up time, as in `_serve`

    return restore(folder, file, report, confirm)


def _copy_store(source: str | Path, target: str | Path, report: Report) -> CopiedStore:
    from app.db.store_copy import copy_store  # start-up time, as in `_serve`

    return copy_store(source, target, report)


def _doctor(folder: Path, full: bool) -> Iterable[Finding]:
    from app.doctor import examine  # start-up time, as in `_serve`

    return examine(folder, full=full)


def _init_team(address: str) -> Mapping[Role, str]:
    from app.db.postgres.roles import init  # start-up time, as in `_serve`

    return init(address)


@contextmanager
def _loading() -> Iterator[None]:
    """Modules stay. Looking for garbage while they load, and later among them, took a tenth of the processor time of a
    start of `hookline serve`, and a quarter of that of a command on the store.
    """
    before, enabled = len(sys.modules), gc.isenabled()
    gc.disable()
    try:
        from app.server.api.server import load_web_application  # start-up time, as in `_serve`

        load_web_application()
        yield
    finally:
        if len(sys.modules) > before:
            gc.freeze()
        if enabled:
            gc.enable()


def _serve(options: ServeOptions) -> int:
    with _loading():
        from app.serve import run_headless  # start-up time: `hookline version` needs no server

    return run_headless(options)


def _listen(options: ListenToOptions) -> int:
    with _loading():
        from app.listen import run_listen  # start-up time, as above

    return run_listen(options)


def show_window(options: WindowOptions, on_ready: Callable[[Ready], None] | None = None) -> int:
    """Show the window until it is closed, or the one that is already open; `on_ready` as in `run_window`."""
    from app.system import display  # start-up time, here and below: commands need no window

    reason = display.why_not_installed() or display.why_no_display()
    if reason is not None and (options.link or options.new_endpoint):
        raise HooklineError(f"{reason} A link or the form for a new endpoint needs the window.")
    if reason is not None:
        print(f"{reason} Serving without a window; press Ctrl-C to stop.", file=sys.stderr, flush=True)
        return _serve(msgspec.structs.replace(options.headless(), endpoints=(FIRST_ENDPOINT,), tail=True))
    gc.disable()  # until the window's own collector takes over: everything imported from here on stays
    display.set_utf8_locale()
    if lacking := display.why_no_qt():
        print(f"hookline: {lacking}", file=sys.stderr, flush=True)
        if not sys.stderr.isatty():
            display.show_desktop_dialog(lacking)
        return Exit.ENVIRONMENT
    # Only a start with a display may import Qt, and one that finds an open window needs only this part.
    from app.data_folder.private_files import has_runtime
    from app.ui import load_qt

    load_qt()
    if has_runtime(options.data_dir):
        from app.ui.single_instance import ask  # after it

        if ask(options.data_dir, LaunchRequest(__version__, options.launch_action)):
            return 0
    from app.gui import run_window  # start-up time, see above

    return run_window(options, on_ready)


def _selftest(options: SelftestOptions) -> int:
    from app.selftest import run_selftest  # start-up time: other commands need none of it

    return run_selftest(options)


def _open_api(folder: Path) -> AbstractContextManager[ApiAddress]:
    """The local API on a free port, for one command while no program runs on `folder`."""
    with _loading():
        import app.application  # noqa: F401 - start-up time: only a command that needs the store pays for it
        from app.event_loop import opened_on_thread  # as above

    return opened_on_thread(lambda: _api(folder))


@asynccontextmanager
async def _api(folder: Path) -> AsyncIterator[ApiAddress]:
    from app.application import Application  # start-up time, as above

    application = Application(folder, captures=False)
    try:
        await application.open()
        url = await application.listen_api(0)
        yield ApiAddress(url=url, token=application.token)
    finally:
        await application.close()
