"""The window of an open application: what it is handed, and how it is opened, also by later starts and by links.

`gui.py` imports this while the store opens, because it imports all of the window's modules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from app import __version__
from app.application import Application
from app.cli.options import WindowOptions
from app.core.links import LaunchAction
from app.core.settings import store_error
from app.core.team import StoreChoice
from app.core.text import host_port
from app.db.sqlite.restore import RestoreStaging
from app.server.send_test import SendTest
from app.system.about import About
from app.ui.gui_application import GuiApplication
from app.ui.services import Services
from app.ui.shell.deep_links import DeepLinks
from app.ui.shell.main_window import MainWindow
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from hookline.running import usual_folder

if TYPE_CHECKING:
    from app.system.autostart import Autostart
    from app.ui.single_instance import SingleInstance

K = TypeVar("K")
V = TypeVar("V")


def _do_nothing(*_: object) -> None:
    """The default for what ends the window."""


async def _check_team_store(address: str, password: str) -> None:
    """Raises StoreAddressError when a window could not work on it."""
    from app.db.postgres.database import with_password  # start-up time: few use one
    from app.db.postgres.server_checks import check_use  # as above

    await asyncio.to_thread(check_use, with_password(address, password))


def services_of(
    application: Application,
    restart_restored: Callable[[], None] = _do_nothing,
    reopen: Callable[[StoreChoice | None], None] = _do_nothing,
) -> Services:
    """`application` must be open. `restart_restored` restarts the program with the backup that was staged; `reopen`
    opens a store in place of this one."""
    store, refused = application.store, application.refused

    def autostart() -> Autostart:
        from app.system.autostart import autostart_for  # start-up time: the settings alone show it

        return autostart_for(application.folder if application.folder != usual_folder() else None)

    address = application.current_settings.store
    return Services(
        store=store,
        store_address=address if store_error(address) is None else None,
        check_team_store=_check_team_store,
        reopen=reopen,
        deletes=store.trash,
        replays=application.replays,
        tunnels=application.tunnels,
        restores=RestoreStaging(application.folder, lambda: application.settings.disk_reserve),
        restart_restored=restart_restored,
        refused=refused,
        bus=application.bus,
        capture_url=application.addresses.capture_url,
        providers=_LazyMapping(lambda: application.catalogue.names),
        provider_marks=_LazyMapping(lambda: application.catalogue.marks),
        own_bases=application.addresses.own_bases,
        listening=lambda: host_port(*place) if (place := application.addresses.listening) else None,
        settings=lambda: application.settings,
        overridden=lambda: application.current_settings.overridden,
        change_settings=application.change_settings,
        send_test=SendTest(store.captures, refused, application.bus, application.addresses).send,
        about=About(
            folder=application.folder,
            store=store,
            refused=refused,
            settings=application.current_settings,
            addresses=application.addresses,
            troubles=application.troubles,
            uptime_s=application.uptime_s,
        ),
        autostart=autostart,
        data_folder=application.folder,
        version=__version__,
    )


class WindowSession:
    """Created once the application listens; `show` it, and `close` it at the end. `on_close`: the user closed it;
    `restart_restored`: the user wants to restart with a staged backup; `reopen`: to work on another store, or (None) on
    this one with other settings."""

    def __init__(
        self,
        application: Application,
        app: GuiApplication,
        theme: Theme,
        tasks: Tasks,
        *,
        on_close: Callable[[], None],
        restart_restored: Callable[[], None],
        reopen: Callable[[StoreChoice | None], None],
    ) -> None:
        self._app, self._tasks, self._folder = app, tasks, application.folder
        self._instance: SingleInstance | None = None
        services = services_of(application, restart_restored, reopen)
        with theme.deferred_styling():
            self.window = MainWindow(services, theme, tasks, on_close=on_close)
        self._deep_links = DeepLinks(self.window.services, tasks, self.window)
        self.window.desktop.launch_requested.connect(self._deep_links.handle)

    def show(self, options: WindowOptions) -> None:
        if options.minimized:
            self.window.desktop.start_minimized()
        else:
            self.window.show()
        if options.launch_action is not LaunchAction.SHOW:
            self._deep_links.handle(options.launch_action)
        self._app.set_link_handler(self._deep_links.open_text)

    def answer_starts(self) -> None:
        """From now on; until then, later starts of the program wait."""
        from app.ui.single_instance import SingleInstance  # start-up time: it loads QtNetwork

        self._instance = SingleInstance(self._folder, __version__, self.window)
        self._instance.launch_requested.connect(self._deep_links.handle_launch)

    async def close(self) -> None:
        """Stop listening for other starts, then end what it does."""
        self._app.set_link_handler(None)
        if self._instance is not None:
            self._instance.close()
        self.window.stop()
        self.window.hide()
        await self.window.pending.close()
        await self._tasks.cancel_all()
        self.window.deleteLater()


class _LazyMapping(Mapping[K, V]):
    """Has what `read` returns."""

    def __init__(self, read: Callable[[], Mapping[K, V]]) -> None:
        self._read = read

    @cached_property
    def _items(self) -> Mapping[K, V]:
        return self._read()

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)
