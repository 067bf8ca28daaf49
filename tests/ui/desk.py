"""A window's surroundings for tests: a real store in a temporary folder, real messages, tasks and theme."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msgspec import structs
from PySide6.QtWidgets import QApplication

from app.core.errors import InvalidFieldsError
from app.core.events import Bus, SettingsChanged
from app.core.files import Component
from app.core.model import Capture, Endpoint, Plan, SentTest
from app.core.providers import ProviderMark
from app.core.settings import Settings, check
from app.core.team import StoreChoice
from app.core.text import Fact, report_text
from app.db.sqlite.restore import RestoreStaging
from app.db.sqlite.store import Store
from app.server.addresses import Addresses
from app.server.refused import RefusedLog
from app.server.replay_service import ReplayService
from app.system.autostart import DesktopEntry, StartCommand
from app.ui.messages import Messages
from app.ui.services import Services
from app.ui.shell.main_window import MainWindow
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from tests import factories
from tests.stored import store_request, store_with
from tests.support import current_settings
from tests.ui.tunnels import FakeTunnels
from tests.ui.waiting import activate, settle

BASE = "http://127.0.0.1:8787"


class DeskAbout:
    """What the program tells of itself, made up."""

    installation = "from source, /home/ann/hookline"
    parts = (
        Component(name="Hookline", version="1.2.3", licence="MIT", text="<b>Permission</b> is granted\n"),
        Component(name="Qt", version="6.11.3", licence="LGPL-3.0-only", text="GNU LESSER GENERAL PUBLIC LICENSE\n"),
        Component(name="msgspec", version="0.22.0", licence="BSD-3-Clause", text="Redistribution\n"),
    )

    def __init__(self, base_url: Callable[[], str] = lambda: BASE) -> None:
        self._base_url = base_url

    @property
    def base_url(self) -> str:
        return self._base_url()

    def versions(self) -> list[Fact]:
        return [("Python", "3.11.7"), ("SQLite", "3.40.1")]

    async def licences(self) -> Sequence[Component]:
        return self.parts

    async def diagnostics(self, window: Sequence[Fact]) -> str:
        return report_text("Hookline 1.2.3", [("Window", window)])


@dataclass
class Desk:
    """What the window is handed, and what tests want to reach behind it."""

    store: Store
    bus: Bus
    refused: RefusedLog
    folder: Path
    settings: Settings = field(default_factory=Settings)
    overridden: dict[str, Any] = field(default_factory=dict)
    place: str | None = "127.0.0.1:8787"
    tests_sent: list[int] = field(default_factory=list)
    restarts: int = 0
    checked: list[tuple[str, str]] = field(default_factory=list)
    reopened: list[StoreChoice | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.messages = Messages()
        self.tasks = Tasks(self.messages)
        self.theme = Theme()
        self.replays = ReplayService(self.store, self.bus, Addresses(current_settings()))
        self.tunnels = FakeTunnels(self.bus)
        self.services = Services(
            store=self.store,
            store_address=None,
            check_team_store=self.check_team_store,
            reopen=self.reopened.append,
            deletes=self.store.trash,
            replays=self.replays,
            tunnels=self.tunnels,
            restores=RestoreStaging(self.folder, lambda: self.settings.disk_reserve),
            restart_restored=self.restart_restored,
            refused=self.refused,
            bus=self.bus,
            capture_url=self.capture_url,
            providers={"stripe": "Stripe"},
            provider_marks={"stripe": ProviderMark(monogram="St", colour="#635bff")},
            own_bases=lambda: (BASE + "/catch/",),
            listening=lambda: self.place,
            settings=lambda: self.settings,
            overridden=lambda: self.overridden,
            change_settings=self.change_settings,
            send_test=self.send_test,
            about=DeskAbout(self.base_url),
            autostart=lambda: DesktopEntry(self.folder / "autostart", StartCommand(["/usr/bin/hookline"])),
            data_folder=self.folder,
            version="1.2.3",
        )

    def base_url(self) -> str:
        tunnel = self.tunnels.tunnel
        return (tunnel.url if self.tunnels.url_state else None) or self.settings.base_url or BASE

    def capture_url(self, endpoint: Endpoint) -> str:
        return f"{self.base_url()}/catch/{endpoint.slug}"

    async def change_settings(self, changes: Mapping[str, Any]) -> None:
        new = structs.replace(self.settings, **changes)
        if errors := check(new):
            raise InvalidFieldsError(errors)
        for key in self.overridden.keys() & changes.keys():
            del self.overridden[key]
        self.settings = new
        self.store.limits.set_limit(new.storage_limit, new.when_full)
        self.bus.publish(SettingsChanged(settings=new))

    async def check_team_store(self, address: str, password: str) -> None:
        self.checked.append((address, password))

    def restart_restored(self) -> None:
        self.restarts += 1

    async def send_test(self, endpoint: Endpoint) -> SentTest:
        self.tests_sent.append(endpoint.id)
        return SentTest(status=200, place="127.0.0.1:8787", public=False)

    async def endpoint(self, **fields: object) -> Endpoint:
        return await self.store.endpoints.create(factories.draft(**fields))

    async def capture(self, endpoint: Endpoint, **fields: object) -> Capture:
        body = b'{"a":1}'
        capture = factories.capture(body, endpoint_id=endpoint.id, **fields)
        return await store_request(self.store.captures, capture, body, endpoint.targets)

    def window(self, on_close: Callable[[], None] = lambda: None, **more: Any) -> MainWindow:
        """A window not yet shown, put together as the program does it."""
        with self.theme.deferred_styling():
            return MainWindow(self.services, self.theme, self.tasks, on_close, **more)

    def followed(self) -> Counter[str]:
        """How many follow each kind of event."""
        return +Counter({kind.__name__: len(handlers) for kind, handlers in self.bus._handlers.items()})

    def with_parts(self, **parts: object) -> Services:
        """With other parts of the store."""
        return self.with_services(store=store_with(self.store, **parts))

    def with_services(self, **changed: object) -> Services:
        return replace(self.services, **changed)  # type: ignore[arg-type]


@asynccontextmanager
async def open_desk(folder: Path, *, endpoints: int = 0, plan: Plan = Plan.FREE) -> AsyncIterator[Desk]:
    """The desk over a fresh store with some endpoints in it, dressed in the light theme."""
    bus = Bus()
    store = await Store.open(folder, bus.publish, lambda: (BASE + "/catch/",))
    desk = Desk(store=store, bus=bus, refused=RefusedLog(bus.publish), folder=folder)
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    desk.theme.apply(app)
    desk.theme.set_choice("light")
    try:
        if plan is Plan.PRO:
            await store.account.set_plan(plan)
        for _ in range(endpoints):
            await desk.endpoint()
        yield desk
    finally:
        await desk.tasks.cancel_all()
        await desk.replays.stop()
        await store.close()


@asynccontextmanager
async def shown(folder: Path, **store: Any) -> AsyncIterator[tuple[Desk, MainWindow]]:
    """A window over a desk of its own."""
    async with open_desk(folder, **store) as desk, shown_over(desk) as window:
        yield desk, window


@asynccontextmanager
async def shown_over(desk: Desk) -> AsyncIterator[MainWindow]:
    """The desk's window, shown; closed again, with its tasks ended, at the end."""
    window = desk.window()
    window.show()
    await activate(window)
    await settle()
    try:
        yield window
    finally:
        window.close()
        await desk.tasks.cancel_all()
        window.deleteLater()
        await settle()
