"""Every dialog, pane and page is closed while each of its reads is under way: nothing is said, and nothing fails.

The reads are those of a real store and of the window's other threads. A gate lets some through and holds the rest
until what waits for them is deleted.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import pkgutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from PySide6.QtWidgets import QDialog, QWidget
from shiboken6 import isValid

import app.ui
from app.core.clock import now_us
from app.core.ids import uuid7
from app.core.model import Capture, Endpoint
from app.core.replay import ChosenRequests, MatchingRequests, Replay, ReplaySpec, ReplayState
from app.db.readers import Readers
from app.ui.about_dialog import AboutDialog, LicencesDialog
from app.ui.commands.shortcuts_dialog import ShortcutsDialog
from app.ui.comparison.compared_view import SideBySideDialog
from app.ui.comparison.dialog import ComparisonDialog
from app.ui.comparison.requests_dialog import RequestsDialog
from app.ui.comparison.runner import IgnoredDialog
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.endpoints.qr_dialog import QrDialog
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.inspector.body.body_pane import BodyPane
from app.ui.inspector.body.body_source import of_capture
from app.ui.inspector.body.csv_table import CsvTable
from app.ui.inspector.body.form_table import FormTable
from app.ui.inspector.body.hex_widget import HexWidget
from app.ui.inspector.body.image_view import ImageView, PageView
from app.ui.inspector.body.parts_view import PartsView
from app.ui.inspector.body.tree_view import TreeView
from app.ui.inspector.request_view import PAGES
from app.ui.open_store_dialog import OpenStoreDialog
from app.ui.replay.replay_editor import ReplayEditor
from app.ui.replay.replay_many_dialog import ReplayManyDialog
from app.ui.replay.request_editors import load_request
from app.ui.requests.page.own_window import OwnWindow
from app.ui.requests.saved_filters import NameDialog
from app.ui.requests.select_all import selected_requests
from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import ALL_DELIVERIES, ALL_REQUESTS, REPLAYS, TUNNEL
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import ChoiceDialog, Dialog, EditDialog, Question, SubmitDialog
from tests import deliveries, factories
from tests.stored import store_request
from tests.support import until
from tests.ui.desk import Desk, open_desk
from tests.ui.waiting import settle

T = TypeVar("T")

READ_NOTHING = {
    ChoiceDialog,
    EditDialog,
    EndpointDialog,
    IgnoredDialog,
    NameDialog,
    OpenStoreDialog,
    Question,
    ShortcutsDialog,
    SideBySideDialog,
    SubmitDialog,
}
"""Dialogs that show what they are given."""
READS_MAX = 40
"""More than anything here reads."""

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><rect width="4" height="4"/></svg>'
BODIES = {
    "json": ("application/json", b'{"hello": "eyJhIjoxfQ==", "list": [1, 2, 3]}'),
    "long": ("application/json", b"[" + b'"a word and another",' * 15_000 + b"1]"),
    "html": ("text/html", b"<p>Hello</p>"),
    "svg": ("image/svg+xml", SVG),
    "csv": ("text/csv", b"a,b\n1,2\n3,4\n"),
    "form": ("application/x-www-form-urlencoded", b"a=1&b=%7B%7D"),
    "parts": (
        "multipart/form-data; boundary=b",
        b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--b--\r\n',
    ),
    "bytes": ("application/octet-stream", bytes(range(256)) * 1024),
}


class Gate:
    """Once `hold` was called, reads begun by a task of the window wait for `open`, except for the first `let`."""

    def __init__(self) -> None:
        self.let(0)

    def let(self, let: int) -> None:
        """Begin anew, without holding anything yet."""
        self._let, self._open, self._holds = let, asyncio.Event(), False
        self.held = 0

    def hold(self) -> None:
        self._holds = True

    def open(self) -> None:
        self._open.set()

    async def passed(self) -> None:
        if self._holds and self._let:
            self._let -= 1
        elif self._holds:
            self.held += 1
            await self._open.wait()


class Gated:
    """A part of the program whose answers pass the gate."""

    def __init__(self, part: Any, gate: Gate) -> None:
        self._part, self._gate = part, gate

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        return partial(self._passing, found) if inspect.iscoroutinefunction(found) else found

    async def _passing(self, function: Callable[..., Awaitable[T]], *arguments: Any, **named: Any) -> T:
        await self._gate.passed()
        return await function(*arguments, **named)


@dataclass
class Room:
    """A store with a request of each kind, and the gate before it."""

    desk: Desk
    gate: Gate
    over: QWidget
    endpoint: Endpoint
    requests: dict[str, Capture]

    @property
    def usual(self) -> tuple[Any, Any, Any]:
        """What most dialogs are handed first."""
        return self.desk.services, self.desk.theme, self.desk.tasks

    def source(self, kind: str) -> Any:
        return of_capture(self.requests[kind], self.desk.store.captures)


Open = Callable[[Room], Awaitable[QWidget]]


@asynccontextmanager
async def room(folder: Path, patch: pytest.MonkeyPatch) -> AsyncIterator[Room]:
    async with open_desk(folder) as desk:
        gate, window_tasks, loop = Gate(), desk.tasks._running, asyncio.get_running_loop()
        read, run_in_executor = Readers.run, loop.run_in_executor

        async def gated_read(readers: Readers, *arguments: Any, **named: Any) -> Any:
            if asyncio.current_task() in window_tasks:
                await gate.passed()
            return await read(readers, *arguments, **named)

        def gated_thread(executor: Any, function: Callable[..., Any], *arguments: Any) -> Any:
            async def run() -> Any:
                await gate.passed()
                return await run_in_executor(executor, function, *arguments)

            if asyncio.current_task() not in window_tasks:
                return run_in_executor(executor, function, *arguments)
            return loop.create_task(run())

        patch.setattr(Readers, "run", gated_read)
        patch.setattr(loop, "run_in_executor", gated_thread)
        about: Any = Gated(desk.services.about, gate)
        tunnels: Any = Gated(desk.tunnels, gate)
        desk.services = desk.with_services(about=about, tunnels=tunnels)
        endpoint = await deliveries.two_targets(desk.store)
        sent = await deliveries.queued(desk.store, endpoint)
        for one in sent:
            await deliveries.respond(desk.store, one, body=b'{"a": 1}')
        requests = {
            kind: await stored(desk, endpoint, body, content_type) for kind, (content_type, body) in BODIES.items()
        }
        answered = await desk.store.captures.get(sent[0].capture_id)
        assert answered is not None
        over = QWidget()
        over.resize(1000, 700)
        over.show()
        yield Room(desk, gate, over, endpoint, {**requests, "answered": answered})
        gate.open()
        over.deleteLater()
        await settle()


async def stored(desk: Desk, endpoint: Endpoint, body: bytes, content_type: str) -> Capture:
    headers = (("Content-Type", content_type),)
    capture = factories.capture(body, endpoint_id=endpoint.id, content_type=content_type, headers=headers)
    return await store_request(desk.store.captures, capture, body)


def dialog(make: Callable[[Room], QDialog]) -> Open:
    async def opened(room: Room) -> QWidget:
        room.gate.hold()
        made = make(room)
        made.open()
        return made

    return opened


async def editor(room: Room) -> QWidget:
    request = await load_request(room.requests["json"].id, room.desk.services)
    assert request is not None
    room.gate.hold()
    made = ReplayEditor(request, *room.usual, room.over)
    made.open()
    made.url.setText("http://127.0.0.1:9/in")
    made.submit()
    return made


def comparison(room: Room) -> QDialog:
    made = ComparisonDialog(room.endpoint, *room.usual, room.over)
    made._selected = room.requests["answered"].id
    made._show_responses(keep_place=False)
    return made


def two_requests(room: Room) -> tuple[Capture, Capture]:
    return room.requests["json"], room.requests["long"]


def compare(room: Room, window: MainWindow) -> None:
    """Read the two that are to be compared."""
    commands = window.requests.commands
    chosen = selected_requests([one.summary() for one in two_requests(room)])
    room.desk.tasks.start(commands.compare_two(chosen), "compare requests", commands)


async def diagnostics(room: Room) -> QWidget:
    made = AboutDialog(*room.usual, room.over)
    made.open()
    room.gate.hold()
    made.copy_diagnostics()
    return made


async def qr_code(room: Room) -> QWidget:
    made = QrDialog(*room.usual, room.over, room.endpoint)
    made.open()
    room.gate.hold()
    room.desk.tasks.start(made.save_to(room.desk.folder / "code.png"), "save a QR code")
    return made


def parts(theme: Theme, tasks: Tasks, parent: QWidget) -> PartsView:
    return PartsView("body", lambda what, card: BodyPane(theme, tasks, card, what=what), theme, tasks, parent)


def body(kind: str, view: Callable[[Any, Any, QWidget], Any]) -> Open:
    """A view of a body."""

    async def opened(room: Room) -> QWidget:
        room.gate.hold()
        made: QWidget = view(room.desk.theme, room.desk.tasks, room.over)
        made.resize(600, 400)
        made.show()
        made.show_source(room.source(kind))  # type: ignore[attr-defined]
        return made

    return opened


def found_in(kind: str, text: str, view: str = "") -> Open:
    """The search in a body that is shown."""

    async def opened(room: Room) -> QWidget:
        made = BodyPane(room.desk.theme, room.desk.tasks, room.over)
        made.resize(600, 400)
        made.show()
        made.show_source(room.source(kind))
        await until(lambda: made.loader.ended)
        if view:
            made.views.set_current(view)
            made.views.activated.emit(view)
        await until(lambda: not room.desk.tasks.running())
        made.open_find()
        room.gate.hold()
        made.find_bar.field.setText(text)
        made.find_bar.search()
        return made

    return opened


def own_window(kind: str, tab: str = "") -> Open:
    """A request in its own window: its loading, or one of its tabs once it is loaded."""

    async def opened(room: Room) -> QWidget:
        if not tab:
            room.gate.hold()
        made = OwnWindow(room.requests[kind].summary(), *room.usual)
        made.show()
        if tab:
            await until(lambda: made.detail.capture is not None and not room.desk.tasks.running())
            room.gate.hold()
            made.detail.tabs.setCurrentIndex(PAGES.index(tab))
        return made

    return opened


def page(show: Callable[[Room, MainWindow], object] | None = None) -> Open:
    """The window as it starts, or what `show` shows in it then."""

    async def opened(room: Room) -> QWidget:
        if show is None:
            room.gate.hold()
        made = room.desk.window()
        made.show()
        if show is not None:
            await settle()
            await until(lambda: not room.desk.tasks.running())
            room.gate.hold()
            show(room, made)
        return made

    return opened


def search(room: Room, window: MainWindow) -> None:
    window.show_page(ALL_REQUESTS)
    window.requests.filter.bar.set_text("word")


def endpoint_and_request(room: Room, window: MainWindow) -> None:
    window.show_endpoint(room.endpoint.id)
    window.requests.go_to(room.requests["answered"])


async def replays(room: Room) -> QWidget:
    """With one, so that its failures are read."""
    source = ChosenRequests(ids=(room.requests["json"].id,))
    replay = Replay(id=uuid7(now_us()), created_at=now_us(), spec=ReplaySpec(source=source), state=ReplayState.DONE)
    await room.desk.store.replays.save(replay)
    return await page(lambda _, window: window.show_page(REPLAYS))(room)


DIALOGS: dict[type[QDialog], Open] = {
    TargetsDialog: dialog(lambda room: TargetsDialog(*room.usual, room.over, room.endpoint)),
    SettingsDialog: dialog(lambda room: SettingsDialog(*room.usual, room.over)),
    AboutDialog: diagnostics,
    LicencesDialog: dialog(lambda room: LicencesDialog(room.usual[0].about, *room.usual[1:], room.over)),
    QrDialog: qr_code,
    ReplayEditor: editor,
    ReplayManyDialog: dialog(lambda room: ReplayManyDialog(MatchingRequests(query="word"), *room.usual, room.over)),
    ComparisonDialog: dialog(comparison),
    RequestsDialog: dialog(lambda room: RequestsDialog(two_requests(room), *room.usual, room.over)),
}
OTHERS: dict[str, Open] = {
    **{f"body {kind}": body(kind, BodyPane) for kind in BODIES},
    "page of HTML": body("html", PageView),
    "picture": body("svg", ImageView),
    "tree": body("json", TreeView),
    "form": body("form", FormTable),
    "table": body("csv", CsvTable),
    "cards": body("parts", parts),
    "bytes": body("bytes", HexWidget),
    "find in lines": found_in("long", "word"),
    "find in a tree": found_in("json", "hello", "tree"),
    "find in bytes": found_in("long", "word", "hex"),
    "own window": own_window("answered"),
    "raw": own_window("json", "raw"),
    "deliveries": own_window("answered", "deliveries"),
    "start": page(),
    "all deliveries": page(lambda _, window: window.show_page(ALL_DELIVERIES)),
    "replays": replays,
    "tunnel": page(lambda _, window: window.show_page(TUNNEL)),
    "endpoint": page(endpoint_and_request),
    "search": page(search),
    "two requests": page(compare),
}
CASES = {**{kind.__name__: opens for kind, opens in DIALOGS.items()}, **OTHERS}


@pytest.mark.parametrize("name", CASES)
async def test_closed_while_it_reads(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with room(tmp_path, monkeypatch) as opened:
        tasks, gate = opened.desk.tasks, opened.gate
        for let in range(READS_MAX):
            gate.let(let)
            widget = await CASES[name](opened)
            await settle()
            await until(lambda: gate.held or not tasks.running())
            held = gate.held
            close(widget)
            await until(partial(is_deleted, widget))
            gate.open()
            await until(lambda: not tasks.running())
            assert [message.text for message in opened.desk.messages.waiting()] == []
            assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
            if not held:
                assert let, "it reads nothing"
                return
    pytest.fail(f"more than {READS_MAX} reads")


def is_deleted(widget: QWidget) -> bool:
    return not isValid(widget)


def close(widget: QWidget) -> None:
    """As its user does, and delete it as its owner does."""
    if isinstance(widget, QDialog):
        widget.done(0)
    else:
        widget.close()
    if isinstance(widget, MainWindow) or not widget.isWindow():
        widget.deleteLater()


def test_no_dialog_is_left_out(qapp: object) -> None:
    for module in pkgutil.walk_packages(app.ui.__path__, "app.ui."):
        importlib.import_module(module.name)
    made, kinds = [Dialog], set[type[QDialog]]()
    while made:
        kinds.update(below := made.pop().__subclasses__())
        made += below
    assert {kind for kind in kinds if kind.__module__.startswith("app.")} == READ_NOTHING | DIALOGS.keys()
