"""The program with its window: opens the data folder and the ports, asks the user when that fails, then shows the
window.

The window's modules are loaded while the store opens on its own thread, so that neither waits long for the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import socket
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from app import __version__
from app.application import Application
from app.cli.errors import Exit
from app.cli.options import WindowOptions
from app.core.errors import (
    DamagedDatabaseError,
    FolderInUseError,
    HooklineError,
    MissingDatabaseError,
    PortInUseError,
    StoreAddressError,
)
from app.core.links import LaunchRequest
from app.core.team import StoreChoice
from app.data_folder.database_files import set_aside
from app.data_folder.private_files import has_no_window
from app.db.sqlite.restore import restore_staged
from app.event_loop import set_on_signals
from app.server.addresses import LOOPBACK
from app.server.listening import raise_file_limit
from app.system import installation
from app.system.display import how_to_install_fonts
from app.system.log_file import write_log
from app.ui.gui_application import GuiApplication, GuiCollector
from app.ui.loop import run
from app.ui.messages import Message, MessageAction, Messages
from app.ui.tasks import Tasks
from app.ui.theme.fonts import can_write
from app.ui.theme.icons import app_icon
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import DialogOption, choose

if TYPE_CHECKING:
    from app.ui.shell.main_window import MainWindow
    from app.window_session import WindowSession

log = logging.getLogger(__name__)


def post_restored(messages: Messages, replaced: Path) -> None:
    """`replaced` is the previous database."""
    advice = f"The previous database is kept as {replaced.name} in {replaced.parent}."

    def show() -> None:
        from app.ui.widgets.fields import open_folder  # start-up time: loaded by now

        # Its button takes a message away, and with it the path.
        if (problem := open_folder(replaced.parent)) is not None:
            messages.post(Message(text=problem, advice=advice, tone="info", answers=True))

    action = MessageAction("Show in folder", show)
    messages.post(Message(text="The backup was restored.", advice=advice, tone="info", actions=(action,)))


STARTING_S = 10.0
"""With two starts at once, the one that has the data folder needs this long at most until its window responds."""

WINDOW = "app.window_session"
BODY_FORMATS = "app.core.bodies.format_registry"
REQUEST = ("app.ui.requests.page.requests_page", "app.ui.inspector.request_view")
REST = (
    *REQUEST,
    "app.ui.endpoints.endpoint_dialog",
    "app.ui.settings.dialog",
    "app.ui.commands.palette",
    "app.ui.replay.replay_editor",
    "app.ui.tunnel.page",
)
"""Modules that are loaded once the window is there, one by one, unless its first page needed them."""
OPENED_S = 0.01
"""Within this time a store opens, unless it is so large that counting its requests takes longer."""
PAINTED_S, REST_S, BETWEEN_S = 0.15, 0.5, 0.1
"""How long the window is left alone to paint, then until the rest is loaded, and between two modules."""

QUIT = DialogOption("Quit")
NEW_DATABASE = DialogOption("Start with an empty database")
SET_ASIDE = DialogOption("Move it aside and start fresh", "primary")
OWN_STORE = DialogOption("Use my own store")
AGAIN = DialogOption("Try again")
CONTINUE = DialogOption("Continue")


@dataclass(frozen=True)
class Ready:
    """What a benchmark or the selftest needs of the shown window."""

    application: Application
    window: MainWindow
    theme: Theme
    messages: Messages


def run_window(
    options: WindowOptions,
    on_ready: Callable[[Ready], None] | None = None,
    on_question: Callable[[str], None] | None = None,
) -> int:
    """Show the window until it is closed; returns the exit code. `on_ready` is called once it accepts requests.

    `on_question` receives the text of a question at the start, instead of the user; the program then quits.
    """
    raise_file_limit()  # before there are threads, and Qt may have some
    app = GuiApplication(sys.argv[:1])
    app.setApplicationName("Hookline")
    app.setApplicationVersion(__version__)
    app.setDesktopFileName("hookline")
    app.setWindowIcon(app_icon())
    app.setQuitOnLastWindowClosed(False)
    code = run(app, GuiProgram(app, options, on_question).main(on_ready))
    # Python looks for garbage once more as it ends: among all of the window, that took a seventh of a short run's time.
    gc.freeze()
    return code


class GuiProgram:
    """One run of the program with its window."""

    def __init__(
        self, app: GuiApplication, options: WindowOptions, on_question: Callable[[str], None] | None = None
    ) -> None:
        self._app, self._options, self._on_question = app, options, on_question
        self._application = Application(options.data_dir, options.overrides(), window=True)
        self._theme = Theme(app)
        self._theme.apply(app)
        self._messages = Messages(app)
        self._log = contextlib.ExitStack()
        self._closing, self._reopening = asyncio.Event(), asyncio.Event()
        app.quit_requested.connect(self._closing.set)
        self._collector = GuiCollector(app)
        self._program_file = installation.ProgramFile(installation.executable())
        self._restart_requested = self._restore_requested = False
        self._replaced: Path | None = None
        """Where the database is that a backup has replaced."""
        self._password = ""
        """That of the team's store, if the user typed one."""

    async def main(self, on_ready: Callable[[Ready], None] | None) -> int:
        """Run from opening the data folder to closing the store."""
        set_on_signals(self._closing)
        self._loading = asyncio.create_task(self._load_window(), name="load the window")
        try:
            if (replaced := self._options.replaced) is not None:
                post_restored(self._messages, replaced)
            while await self._run(on_ready):
                if self._closing.is_set():
                    break
                self._begin_again()
            else:
                return Exit.ENVIRONMENT
        except FolderInUseError as error:
            return await self._hand_over(error)
        finally:
            self._collector.stop()
        if self._restore_requested:
            await self._restore()
        return await self._start_again() if self._restart_requested else 0

    async def _load_window(self) -> None:
        """While the requests of a large store are counted, load the window's modules, and those that show the request
        which was open; on this thread, because they make classes of Qt's."""
        await asyncio.sleep(OPENED_S)
        import_module(WINDOW)
        from app.ui.shell.window_state import WindowState  # start-up time: loaded by now

        if WindowState(self._application.folder).request() is not None:
            for module in REQUEST:
                await asyncio.sleep(OPENED_S)
                import_module(module)

    async def _run(self, on_ready: Callable[[Ready], None] | None) -> bool:
        """Work on one store; False when the user quits before there is a window."""
        try:
            try:
                if not await self._open():
                    return False
            finally:
                self._loading.cancel()
            self._log.enter_context(write_log(self._application.folder))
            if not await self._listen():
                return False
            await self._show(on_ready)
            return True
        finally:
            await self._application.close()
            self._log.close()

    async def _open(self) -> bool:
        """Open the data folder; False when the user quits."""
        new_database = False
        while True:
            try:
                await self._application.open(new_database=new_database)
            except FolderInUseError:
                raise
            except MissingDatabaseError as error:
                way = await self._ask("The database is missing", str(error), QUIT, NEW_DATABASE, AGAIN)
                if way not in (AGAIN, NEW_DATABASE):
                    return False
                new_database = way is NEW_DATABASE
            except DamagedDatabaseError as error:
                if await self._ask("The database cannot be read", str(error), QUIT, SET_ASIDE) is not SET_ASIDE:
                    return False
                kept, new_database = set_aside(self._application.folder), True
                note = (
                    f"The damaged database was kept as {kept.name} in {kept.parent}; Hookline started with a new one."
                )
                self._messages.post(Message(text=note, tone="info"))
            except HooklineError as error:
                if not await self._tries_again(error):
                    return False
            else:
                self._theme.set_choice(self._application.settings.theme)
                return True

    async def _listen(self) -> bool:
        """Open the ports; False when the user quits."""
        while True:
            try:
                await self._application.listen()
            except PortInUseError as error:
                settings = self._application.settings
                free = next_free_port(error.host, error.port, {settings.port, settings.api_port})
                use = DialogOption(f"Use port {free} this time", "primary")
                holder = f" by {error.holder}" if error.holder else ""
                text = (
                    f"Port {error.port} on {error.host} is already in use{holder}. Stop that program and try again,"
                    f" or use port {free} until Hookline is closed. To change it for good, use Settings."
                )
                way = await self._ask(f"Port {error.port} is in use", text, QUIT, AGAIN, use)
                if way is use:
                    is_capture = error.port == settings.port
                    self._application.current_settings.override(**{"port" if is_capture else "api_port": free})
                elif way is not AGAIN:
                    return False
            except HooklineError as error:
                if not await self._tries_again(error):
                    return False
            else:
                return True

    async def _tries_again(self, error: HooklineError) -> bool:
        """Whether the user wants to start all the same, perhaps on their own store."""
        ways = (QUIT, OWN_STORE, AGAIN) if isinstance(error, StoreAddressError) else (QUIT, AGAIN)
        way = await self._ask("Hookline cannot start", str(error), *ways)
        if way is OWN_STORE:
            self._application.current_settings.override(store=None)
        return way in (OWN_STORE, AGAIN)

    async def _ask(self, title: str, text: str, *ways: DialogOption) -> DialogOption | None:
        """The selected option; None when there was none, or the program has to end meanwhile."""
        if self._on_question is not None:
            self._on_question(text)
            return None
        answer = asyncio.create_task(choose(title, text, ways, self._theme), name="question at the start")
        await self._until_closing(answer)
        return None if answer.cancelled() else answer.result()

    async def _until_closing(self, other: asyncio.Task[Any]) -> None:
        """Wait for the end of the program, or of the `other` task, which then ends in any case."""
        closing = asyncio.create_task(self._closing.wait(), name="end of the program")
        try:
            await asyncio.wait((other, closing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            other.cancel()
            closing.cancel()
            await asyncio.gather(other, closing, return_exceptions=True)

    async def _show(self, on_ready: Callable[[Ready], None] | None) -> None:
        from app.window_session import WindowSession  # start-up time: loaded by now, see `main`

        tasks = Tasks(self._messages)
        session = WindowSession(
            self._application,
            self._app,
            self._theme,
            tasks,
            on_close=self._closing.set,
            restart_restored=self._restart_restored,
            reopen=self._reopen,
        )
        self._application.troubles.repeat()
        session.show(self._options)
        self._collector.freeze()
        if not can_write():
            log.warning("hookline: No font is installed, so text cannot be shown. %s", how_to_install_fonts())
        if on_ready is not None:
            on_ready(Ready(self._application, session.window, self._theme, self._messages))
        tasks.start(self._load_rest(session), "load the rest")
        if installation.is_bundle():
            tasks.start(self._watch_program(), "program file")
        self._reopening.clear()
        try:
            await self._until_closing(asyncio.create_task(self._reopening.wait(), name="another store"))
        finally:
            await session.close()

    async def _load_rest(self, session: WindowSession) -> None:
        """What the start left out: what answers later starts and callers of the local API, and what the user will need
        first, so that nothing waits for it then."""
        await asyncio.sleep(PAINTED_S)
        session.answer_starts()
        await self._application.serve_api()
        await asyncio.sleep(REST_S)
        await asyncio.to_thread(self._application.prepare)
        await asyncio.to_thread(import_module, BODY_FORMATS)
        for module in REST:
            import_module(module)  # on this thread, as in `main`
            await asyncio.sleep(BETWEEN_S)
        session.window.prepare()

    async def _watch_program(self) -> None:
        """Report that the program was updated or removed, which affects only its next start."""
        async for change in self._program_file.changes():
            restart = (MessageAction("Restart now", self._restart),) if change.startable else ()
            self._messages.post(
                Message(text=change.text, advice=change.advice, tone="info", actions=restart, key="program file")
            )

    def _reopen(self, choice: StoreChoice | None) -> None:
        """Close the window and its store, and open one on `choice`, whatever command line and environment say; None:
        on the same store, with other settings."""
        if choice is not None:
            self._options = replace(self._options, store=choice.address)
            self._application.current_settings.override(store=choice.address)
            self._password = choice.password
        self._reopening.set()

    def _begin_again(self) -> None:
        """Without what was said of the store before, and without what the first window was to open."""
        self._options = replace(self._options, link=None, new_endpoint=False, minimized=False, replaced=None)
        overrides = self._application.current_settings.overrides
        self._application = Application(self._application.folder, overrides, window=True, password=self._password)
        self._messages.deleteLater()
        self._messages = Messages(self._app)

    def _restart(self) -> None:
        self._restart_requested = True
        self._closing.set()

    def _restart_restored(self) -> None:
        self._restore_requested = True
        self._restart()

    async def _restore(self) -> None:
        """Put the staged backup in the place of the database, now that the data folder is free. If that fails, Hookline
        says what became of it, and starts again."""
        try:
            self._replaced = await asyncio.to_thread(restore_staged, self._application.folder)
        except HooklineError as error:
            self._closing.clear()
            await self._ask("The restore did not finish", str(error), CONTINUE)

    async def _start_again(self) -> int:
        """Start the new program, now that the data folder is free."""
        try:
            replaced = () if self._replaced is None else ("--replaced", str(self._replaced))
            installation.start([*self._options.arguments(), *replaced])
        except OSError as error:
            self._closing.clear()
            text = (
                f"{installation.executable()} does not start: {error.strerror}. Your requests are safe. Reinstall it."
            )
            await self._ask("Hookline cannot restart", text, QUIT)
            return Exit.ENVIRONMENT
        return 0

    async def _hand_over(self, error: FolderInUseError) -> int:
        """Another Hookline has the folder: pass the request on to its window, or report that it has none."""
        from app.ui.single_instance import ask  # start-up time: it loads QtNetwork

        loop = asyncio.get_running_loop()
        folder, end = self._application.folder, loop.time() + STARTING_S
        while not ask(folder, LaunchRequest(__version__, self._options.launch_action)):
            if loop.time() > end or has_no_window(folder, error.pid):
                await self._ask("Hookline is already running", str(error), QUIT)
                return Exit.ENVIRONMENT
            await asyncio.sleep(0.1)
        return 0


def next_free_port(host: str, port: int, taken: Collection[int]) -> int:
    """The next port above `port` that can be listened on at `host` now, and is none of those `taken` by Hookline."""
    for candidate in range(port + 1, 65_536):
        if candidate in taken:
            continue
        with contextlib.suppress(OSError), socket.create_server((host or LOOPBACK, candidate)):
            return candidate
    with socket.create_server((host or LOOPBACK, 0)) as any_port:
        return int(any_port.getsockname()[1])
