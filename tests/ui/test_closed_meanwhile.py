"""What a dialog or a window of its own still waits for when it is closed says nothing, and fails nowhere."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QDialog, QWidget
from shiboken6 import isValid

from app.ui.about_dialog import AboutDialog
from app.ui.endpoints import queued_counts
from app.ui.endpoints.qr_dialog import QrDialog
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.inspector.body.body_source import BodySource
from app.ui.replay.replay_editor import ReplayEditor
from app.ui.replay.request_editors import load_request
from app.ui.requests.page.own_window import OwnWindow
from app.ui.requests.select_all import selected_requests
from app.ui.widgets.dialog import Question
from tests import factories
from tests.ui.desk import Desk, open_desk
from tests.ui.endpoint_dialogs import open_dialog
from tests.ui.targets_dialogs import A, B, dialog_of
from tests.ui.waiting import until


class Held:
    """A service whose calls wait, once begun, until `go` is set."""

    def __init__(self, service: Any) -> None:
        self._service, self.go, self.begun = service, asyncio.Event(), 0
        self.go.set()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._service, name)
        if not asyncio.iscoroutinefunction(found):
            return found

        async def held(*arguments: Any, **named: Any) -> Any:
            self.begun += 1
            await self.go.wait()
            return await found(*arguments, **named)

        return held


async def close(desk: Desk, window: QWidget, go: Callable[[], object]) -> list[str]:
    """The messages posted when `window` is closed and deleted before its tasks go on."""
    if isinstance(window, QDialog):
        window.done(0)
    else:
        window.close()
    await until(lambda: not isValid(window))
    go()
    await until(lambda: not desk.tasks.running())
    return [message.text for message in desk.messages.waiting()]


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Desk, Held, OwnWindow]]:
    """A request in its own window, and the stored requests it reads from."""
    async with open_desk(folder, endpoints=1) as desk:
        (endpoint,) = desk.store.endpoints.all()
        capture = await desk.capture(endpoint)
        captures: Any = Held(desk.store.captures)
        desk.services = desk.with_parts(captures=captures)
        (summary,) = await desk.store.captures.page(endpoint.id)
        window = OwnWindow(summary, desk.services, desk.theme, desk.tasks)
        window.show()
        await until(lambda: window.detail.summary is not None and window.detail.summary.read)
        await until(lambda: not desk.tasks.running())
        assert window.detail.capture_id == capture.id
        yield desk, captures, window


async def test_counting_queued_deliveries_of_a_target_just_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside another that was counted, so that the late count differs from the one before."""
    monkeypatch.setattr(queued_counts, "COUNT_MS", 0)
    async with dialog_of(tmp_path, A, deliveries=lambda desk: Held(desk.store.deliveries)) as shown:
        held: Any = shown.desk.services.store.deliveries
        await until(lambda: shown.dialog.counts.counts and not shown.desk.tasks.running())
        held.go.clear()
        held.begun = 0
        shown.dialog.add()
        shown.type_url(B)
        shown.dialog.submit()
        await until(lambda: held.begun and not shown.window.findChildren(TargetsDialog))
        held.go.set()
        await until(lambda: not shown.desk.tasks.running())
        assert [message.text for message in shown.desk.messages.waiting()] == []


async def test_asking_before_a_target_is_removed(tmp_path: Path) -> None:
    async with dialog_of(tmp_path, A, deliveries=lambda desk: Held(desk.store.deliveries)) as shown:
        held: Any = shown.desk.services.store.deliveries
        await shown.desk.capture(shown.endpoint)
        await until(lambda: not shown.desk.tasks.running())
        held.go.clear()
        held.begun = 0
        shown.dialog.remove()
        shown.dialog.submit()
        await until(lambda: held.begun)
        assert await close(shown.desk, shown.dialog, held.go.set) == []
        assert shown.stored == [A]


async def test_a_question_deleted_with_its_dialog(tmp_path: Path) -> None:
    """Its endpoint was deleted elsewhere: there is no answer to wait for."""

    async with dialog_of(tmp_path, A) as shown:
        await shown.desk.capture(shown.endpoint)
        shown.dialog.remove()
        shown.dialog.submit()
        await until(lambda: any(one.isVisible() for one in shown.dialog.findChildren(Question)))
        assert await close(shown.desk, shown.dialog, lambda: None) == []
        assert shown.stored == [A]


async def test_what_happens_after_the_dialogs_of_an_endpoint_are_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with dialog_of(tmp_path, A) as shown:
        desk, endpoint = shown.desk, shown.endpoint
        form = open_dialog(desk, shown.window, endpoint)
        about = AboutDialog(desk.services, desk.theme, desk.tasks, shown.window)
        qr = QrDialog(desk.services, desk.theme, desk.tasks, shown.window, endpoint)
        for dialog in (about, qr):
            dialog.open()
        for dialog in (shown.dialog, form, about, qr):
            assert await close(desk, dialog, lambda: None) == []
        desk.tunnels.come_up()
        await desk.store.endpoints.update(endpoint.id, factories.draft(name="Renamed"))
        await desk.store.endpoints.delete(endpoint.id)
        assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_saving_a_qr_code(tmp_path: Path) -> None:
    async with open_desk(tmp_path, endpoints=1) as desk:
        held = Held(desk.tunnels)
        services = desk.with_services(tunnels=held)
        dialog = QrDialog(services, desk.theme, desk.tasks, None, desk.store.endpoints.all()[0])
        dialog.open()
        held.go.clear()
        desk.tasks.start(dialog.save_to(tmp_path / "code.png"), "save")
        await until(lambda: held.begun)
        assert await close(desk, dialog, held.go.set) == []
        assert (tmp_path / "code.png").is_file()


async def test_reading_a_file_to_send(tmp_path: Path) -> None:
    async with open_desk(tmp_path, endpoints=1) as desk:
        capture = await desk.capture(desk.store.endpoints.all()[0])
        request = await load_request(capture.id, desk.services)
        assert request is not None
        (tmp_path / "body").write_bytes(b"{}")
        editor = ReplayEditor(request, desk.services, desk.theme, desk.tasks, None)
        editor.open()
        threads = one_busy_thread()
        desk.tasks.start(editor.body_editor.use_file(tmp_path / "body"), "read", editor)
        assert await close(desk, editor, threads.set) == []


def one_busy_thread() -> threading.Event:
    """What is given to the loop's threads waits until the event is set."""
    threads, go = ThreadPoolExecutor(1), threading.Event()
    asyncio.get_running_loop().set_default_executor(threads)
    threads.submit(go.wait, 20)
    return go


async def test_decoding_a_value_of_a_tree(tmp_path: Path) -> None:
    async with opened(tmp_path) as (desk, _, window):
        threads = one_busy_thread()
        window.detail.body.tree.view.nodes.decode_requested.emit(1, "[1]")
        assert await close(desk, window, threads.set) == []


async def test_copying_bytes(tmp_path: Path) -> None:
    async with opened(tmp_path) as (desk, _, window):
        go, begun = asyncio.Event(), asyncio.Event()

        async def read(offset: int, length: int) -> bytes:
            begun.set()
            await go.wait()
            return bytes(16)

        hexes = window.detail.body.hex
        desk.tasks.start(hexes._copy(BodySource(2**21, (), "", "x", read), 0, 2**21), "copy")
        await begun.wait()
        assert await close(desk, window, go.set) == []


@pytest.mark.parametrize("key", ["C", "Del", "E", "N"])
async def test_the_commands_of_a_window(tmp_path: Path, key: str) -> None:
    """What they do happens, except for what the closed window would have had to ask or show."""

    async with opened(tmp_path) as (desk, captures, window):
        actions, summary = window._actions, window.detail.summary
        assert summary is not None
        requests = selected_requests((summary,))
        begin: dict[str, Callable[[], object]] = {
            "C": lambda: desk.tasks.start(actions.copy_curl(requests), key),
            "Del": lambda: desk.tasks.start(actions.delete(requests), key),
            "E": lambda: actions.edit_replay(requests),
            "N": lambda: desk.tasks.start(actions.set_note(summary.id, "kept"), key),
        }
        captures.go.clear()
        captures.begun = 0
        begin[key]()
        assert await close(desk, window, captures.go.set) == []
        stored = await desk.store.captures.get(summary.id)
        assert (stored is None) == (key == "Del")
        assert getattr(stored, "note", None) == ("kept" if key == "N" else None)
