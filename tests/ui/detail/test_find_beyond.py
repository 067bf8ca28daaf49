"""Searching further than a body is shown: on to the next place or the body's end, with nothing kept of the way."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.core.bodies.far_search import STEP, FarSearch
from app.core.bodies.hex_view import ROW
from app.core.errors import StorageUnavailableError
from app.ui.detail.body_pane import BodyPane
from tests.ui.requests.page_desk import PageDesk, open_body, open_page
from tests.ui.waiting import settle, until

SHOWN_MAX = 1024 * 1024
Run = Callable[[Coroutine[Any, Any, Any]], Any]
LINE = b'{"name": "nothing to see", "number": 12345678},\n'


@pytest.fixture
def small_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view that ends sooner, so that a body beyond its end need not be large."""
    for module in ("body_pane", "find_beyond"):
        monkeypatch.setattr(f"app.ui.detail.{module}.SHOWN_MAX", SHOWN_MAX)


def find(shown: PageDesk, text: str) -> BodyPane:
    shown.detail.open_find()
    body = shown.detail.body
    body.find_bar.field.setText(text)
    return body


def enter(body: BodyPane) -> None:
    QTest.keyClick(body.find_bar.field, Qt.Key.Key_Return)


async def looked(body: BodyPane) -> str:
    await until(lambda: not body.find_bar.looking, timeout=20)
    return body.find_bar.count.text()


def test_a_word_further_on_is_loaded_and_shown(run: Run, tmp_path: Path) -> None:
    async def check() -> None:
        async with open_page(tmp_path) as shown:
            await open_body(shown, LINE * 30_000 + b"A Needle.\n" + LINE * 10_000, "text/plain")
            body = find(shown, "needle")
            assert body.find_bar.count.text() == "None so far"
            enter(body)
            assert body.find_bar.count.text() == "Looking… 262 kB of 1.9 MB"
            assert await looked(body) == "1 of 1 so far"
            assert body.code.textCursor().block().text() == "A Needle."
            enter(body)
            assert await looked(body) == "1 of 1"

    run(check())


@pytest.mark.usefixtures("small_view")
def test_a_word_far_beyond_the_view_is_told_with_its_place_and_shown_in_hex(run: Run, tmp_path: Path) -> None:
    async def check() -> None:
        async with open_page(tmp_path) as shown:
            begin = LINE * 60_000
            sent = begin + "ein Schlüssel, ".encode() + LINE * 20_000 + "zwei SCHLÜSSEL".encode()
            await open_body(shown, sent, "text/plain")
            body = find(shown, "schlüssel")
            enter(body)
            assert await looked(body) == f"At byte {len(begin) + 4:,}"
            assert SHOWN_MAX <= body.code.length() < SHOWN_MAX + 500_000
            enter(body)
            second = len(sent) - len("SCHLÜSSEL".encode())
            assert await looked(body) == f"At byte {second:,}"
            assert body.find_bar.hex.isVisible()
            body.find_bar.hex.click()
            await until(lambda: body.stack.currentWidget() is body.hex)
            await until(body.hex.hasFocus)
            body.hex.grab()
            first = body.hex.verticalScrollBar().value()
            assert first <= second // ROW < first + body.hex.height() // 10
            # The view for bodies of this type is still the one it was.
            await open_body(shown, b"other", "text/plain")
            assert body.stack.currentWidget() is body.code

    run(check())


@pytest.mark.usefixtures("small_view")
def test_a_failed_read_is_reported_and_retried(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        async with open_page(tmp_path) as shown:
            # The second word is beyond what is shown, so it is looked for in the bytes.
            far = b"A Needle.\n" + LINE * 60_000 + b"Another needle.\n"
            await open_body(shown, LINE * 15_000 + far, "text/plain")
            body = find(shown, "needle")
            for found in ("1 of 1 so far", f"At byte {len(LINE) * 75_000 + 18:,}"):
                with monkeypatch.context() as broken:
                    broken.setattr(shown.desk.store.captures, "body", unreadable)
                    enter(body)
                    assert await looked(body) == "The rest could not be read"
                    assert not body.loader.loading
                enter(body)
                assert await looked(body) == found
            with monkeypatch.context() as broken:
                broken.setattr(shown.desk.store.captures, "body", unreadable)
                body.find_bar.hex.click()
                await until(body.unread.isVisible)
            (message,) = shown.desk.messages.waiting()
            shown.desk.messages.withdraw(message.key)
            # The way to the place found ends with the body it was in.
            await open_body(shown, b"\x00" * 8_000_000, "application/octet-stream")
            assert body.hex.verticalScrollBar().value() == 0

    run(check())


async def unreadable(*_: object) -> bytes:
    raise StorageUnavailableError("The stored requests cannot be read.")


@pytest.mark.usefixtures("small_view")
def test_the_end_is_told_and_esc_stops(run: Run, tmp_path: Path) -> None:
    async def check() -> None:
        async with open_page(tmp_path) as shown:
            await open_body(shown, LINE * 60_000, "text/plain")
            body = find(shown, "needle")
            enter(body)
            QTest.keyClick(body.find_bar.field, Qt.Key.Key_Escape)
            assert (body.find_bar.isVisible(), body.find_bar.looking) == (True, False)
            await settle()
            assert body.find_bar.count.text() == "None so far"
            enter(body)
            assert await looked(body) == "None"
            body.find_bar.field.setText("other")
            assert body.find_bar.count.text() == "None so far"
            enter(body)
            await open_body(shown, b"short", "text/plain")
            assert not body.find_bar.looking

    run(check())


@pytest.mark.usefixtures("small_view")
def test_a_packed_body_is_looked_through_as_well(run: Run, tmp_path: Path) -> None:
    async def check() -> None:
        async with open_page(tmp_path) as shown:
            packed = await asyncio.to_thread(gzip.compress, LINE * 60_000 + b"needle", 1)
            await open_body(shown, packed, "text/plain", headers=(("Content-Encoding", "gzip"),))
            body = find(shown, "needle")
            enter(body)
            assert await looked(body) == "At byte 2,880,000 once unpacked, not shown"
            assert not body.find_bar.hex.isVisible()

    run(check())


@pytest.mark.parametrize("shift", [-9, -6, -3, -1, 0])
def test_a_word_across_two_pieces_is_found_once(shift: int) -> None:
    search = FarSearch((), "utf-8", "nÉedle", 10)
    data = b"." * (STEP + shift) + "Néedle".encode() + b"." * 100
    search.feed(data)
    found = []
    while not search.hungry:
        found.append(search.look())
    assert next(place for place in found if place is not None) == STEP + shift + 10
    assert not FarSearch((), "latin-1", "\u20ac", 0).possible
