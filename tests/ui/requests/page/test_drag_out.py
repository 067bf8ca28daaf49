"""Requests dragged out of the window: their exact bytes as files, and text to paste."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QDrag, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.core.errors import DamagedBodyError
from app.core.model import PART_SIZE, Capture
from app.ui.inspector.body.body_export import SaveError
from app.ui.requests.page import drag_out
from tests import damage
from tests.factories import capture
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import notice, settle, until

BODIES = (b'{"a": 1}\n', bytes(range(256)) * 5_000, b"\xff\xfe\x00" + b"x" * PART_SIZE)


def files(data: QMimeData) -> list[Path]:
    return [Path(url.toLocalFile()) for url in data.urls()]


async def test_each_body_becomes_a_file_byte_for_byte(tmp_path: Path, shown: PageDesk) -> None:
    kinds = ("application/json", "application/octet-stream", "text/plain; charset=latin-1")
    made = [await shown.add(body, content_type=kind) for body, kind in zip(BODIES, kinds, strict=True)]
    data = await shown.page.drag_files.mime([one.summary() for one in made])
    written = files(data)
    assert [path.read_bytes() for path in written] == list(BODIES)
    assert [path.suffix for path in written] == [".json", ".bin", ".txt"]
    assert written[0].name == f"request-{made[0].id[:13]}.json"
    assert data.text().splitlines() == ["http://127.0.0.1:8787/catch/sample/orders?x=1"] * 3
    folder = written[0].parent.parent
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o077 == 0
    shown.page.stop()
    assert not folder.exists()


async def test_requests_of_one_moment_and_kind_get_names_of_their_own(shown: PageDesk) -> None:
    at = 1_800_000_000_000_000
    made = [await shown.add(f"{n}".encode(), received_at=at) for n in range(3)]
    first = files(await shown.page.drag_files.mime([one.summary() for one in made]))
    again = files(await shown.page.drag_files.mime([made[0].summary()]))
    stem = first[0].stem
    assert [path.stem for path in first] == [stem, f"{stem} (2)", f"{stem} (3)"]
    assert [path.read_bytes() for path in first] == [b"0", b"1", b"2"]
    assert again[0].name == first[0].name
    assert again[0].read_bytes() == b"0"


async def test_what_a_killed_program_left_goes_at_the_start(tmp_path: Path) -> None:
    left = tmp_path / drag_out.FOLDER / "1" / "request.json"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"secret")
    async with open_page(tmp_path) as shown:
        await until(lambda: not left.parent.parent.exists())
        one = await shown.add(b"new")
        assert [path.read_bytes() for path in files(await shown.page.drag_files.mime([one.summary()]))] == [b"new"]


async def test_where_no_files_can_be_written_it_is_said(tmp_path: Path) -> None:
    (tmp_path / drag_out.FOLDER).write_bytes(b"in the way")
    async with open_page(tmp_path) as shown:
        one = await shown.add(b"new")
        with pytest.raises(SaveError, match="Files to drag could not be written"):
            await shown.page.drag_files.mime([one.summary()])


async def test_a_damaged_body_is_not_dragged_out_and_a_deleted_request_not_missed(
    tmp_path: Path, shown: PageDesk
) -> None:
    damaged, deleted, whole = [await shown.add(body) for body in (bytes(PART_SIZE + 1), b"deleted", b"whole")]
    damage.change_body(tmp_path, damaged.id, part=1)
    with pytest.raises(DamagedBodyError):
        await shown.page.drag_files.mime([damaged.summary()])
    await shown.desk.store.captures.delete([deleted.id])
    data = await shown.page.drag_files.mime([deleted.summary(), whole.summary()])
    assert [path.read_bytes() for path in files(data)] == [b"whole"]


async def test_one_request_is_also_its_curl_command_and_one_without_a_body_is_only_that(shown: PageDesk) -> None:
    full, empty = await shown.add(b"a=1"), await shown.add(b"", method="GET")
    data = await shown.page.drag_files.mime([full.summary()])
    assert data.text().startswith("curl ")
    assert "--data-raw a=1" in data.text()
    data = await shown.page.drag_files.mime([empty.summary()])
    assert not data.hasUrls()
    assert data.text().startswith("curl ")


def test_too_much_to_drag_is_said() -> None:
    big, half = capture(size=drag_out.BYTES_MAX + 1).summary(), capture(size=drag_out.BYTES_MAX // 2 + 1).summary()
    assert drag_out.refused([half]) is None
    assert "too large to drag out" in (drag_out.refused([big]) or "")
    assert "one by one" in (drag_out.refused([half, half]) or "")
    assert "At most 100" in (drag_out.refused([capture().summary()] * 101) or "")


def move(shown: PageDesk, place: QPoint) -> None:
    """As the system tells of a mouse that moves with its button held."""
    glob = QPointF(shown.list.viewport().mapToGlobal(place))
    left, no_keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    event = QMouseEvent(QEvent.Type.MouseMove, QPointF(place), glob, Qt.MouseButton.NoButton, left, no_keys)
    QApplication.sendEvent(shown.list.viewport(), event)


class Seen:
    """Stands for the system's own part of a drag, which needs a display: notes what is dragged."""

    def __init__(self) -> None:
        self.data: list[tuple[list[Path], str]] = []
        self.inside_a_task = False

    def drag(self, drag: QDrag, action: Qt.DropAction) -> Qt.DropAction:
        self.inside_a_task |= asyncio.current_task() is not None
        data = drag.mimeData()
        assert not drag.pixmap().isNull()
        self.data.append((files(data), data.text()))
        return action


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    seen = Seen()
    monkeypatch.setattr(drag_out, "run_drag", seen.drag)
    return seen


async def test_the_mouse_drags_what_is_selected_once_its_files_are_there(seen: Seen, shown: PageDesk) -> None:
    await shown.fill(5)
    await shown.add(b"newest")
    await shown.reload()
    viewport = shown.list.viewport()
    rows = [shown.list.visualRect(shown.model.index(row)).center() for row in range(5)]
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=rows[0])
    move(shown, rows[0] + QPoint(30, 0))
    move(shown, rows[2])
    await until(lambda: seen.data)
    assert not seen.inside_a_task
    paths, text = seen.data[0]
    assert [path.read_bytes() for path in paths] == [b"newest"]
    assert text.startswith("curl ")
    assert [summary.id for summary in shown.list.selected()] == [shown.ids()[0]]
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=rows[2])
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=rows[1])
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier, rows[3])
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=rows[2])
    move(shown, rows[2] + QPoint(30, 0))
    await until(lambda: len(seen.data) == 2)
    assert len(seen.data[1][0]) == 3
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=rows[2])


async def test_why_nothing_is_dragged_is_said(seen: Seen, monkeypatch: pytest.MonkeyPatch, shown: PageDesk) -> None:
    monkeypatch.setattr(drag_out, "BYTES_MAX", 0)
    await shown.add(b"body")
    await until(lambda: shown.model.rowCount() == 1)
    place = shown.list.visualRect(shown.model.index(0)).center()
    QTest.mousePress(shown.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    move(shown, place + QPoint(30, 0))
    assert notice(shown.page).startswith("This body is too large to drag out (4 B, ")
    await settle()
    QTest.mouseRelease(shown.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert not seen.data


async def test_who_lets_go_meanwhile_drags_nothing(seen: Seen, shown: PageDesk) -> None:
    await shown.add(b"body")
    await until(lambda: shown.model.rowCount() == 1)
    place = shown.list.visualRect(shown.model.index(0)).center()
    QTest.mousePress(shown.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    move(shown, place + QPoint(30, 0))
    QTest.mouseRelease(shown.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    await until(lambda: not shown.page.drag_out.preparing.running)
    await settle()
    assert not seen.data


async def test_what_is_dragged_is_what_the_mouse_holds_now(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    await shown.add(b"first")
    second = await shown.add(b"second")
    await shown.reload()
    captures, released = shown.desk.store.captures, asyncio.Event()
    get = captures.get

    async def slow(capture_id: str) -> Capture | None:
        if capture_id != second.id:
            await released.wait()
        return await get(capture_id)

    monkeypatch.setattr(captures, "get", slow)
    viewport = shown.list.viewport()
    for row in (1, 0):
        place = shown.list.visualRect(shown.model.index(row)).center()
        QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=place)
        move(shown, place + QPoint(30, 0))
        await settle()
        if row:
            QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=place)
    released.set()
    await until(lambda: seen.data)
    await until(lambda: not shown.page.drag_out.preparing.running)
    assert [path.read_bytes() for paths, _ in seen.data for path in paths] == [b"second"]
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=place)
