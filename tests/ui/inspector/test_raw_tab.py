"""A request as it was received: nothing is hidden, it is loaded in parts, and saved and copied byte for byte."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton

from app.core.errors import StorageUnavailableError
from app.core.model import PART_SIZE
from app.ui.inspector.body.body_export import write_body
from app.ui.inspector.body.body_source import of_capture, of_raw
from app.ui.inspector.request_view import BODY, RAW
from tests.ui.requests.page_desk import PageDesk, open_body, open_page
from tests.ui.waiting import notice, settle, until

HEADERS = (
    ("host", "127.0.0.1:8787"),
    ("X-Dup", "1"),
    ("x-dup", "J\xfcrgen"),
    ("Content-Encoding", "gzip"),
    ("Transfer-Encoding", "chunked"),
)


async def open_raw(shown: PageDesk, body: bytes, **fields: Any) -> None:
    """Capture a request, show it and its raw bytes."""
    sent = await shown.add(body, **fields)
    shown.page.open_request(sent.id)
    await until(lambda: shown.detail.capture is not None and shown.detail.capture.id == sent.id)
    shown.detail.tabs.setCurrentIndex(RAW)
    await until(lambda: shown.detail.view.raw.code.line_count() > 0)


async def test_all_bytes_are_there_and_nothing_is_hidden(tmp_path: Path, shown: PageDesk) -> None:
    raw = shown.detail.view.raw
    body = gzip.compress(b"{}", mtime=0)
    await open_raw(
        shown,
        body,
        method="PUT",
        target="/catch/x/a%2Fb?q=\xe9",
        http_version="1.1",
        headers=HEADERS,
        trailers=(("X-Sum", "9f"), ("x-done", "yes")),
    )
    lines = raw.code.toPlainText().split("\n")
    assert lines[:7] == [
        "PUT /catch/x/a%2Fb?q=\\xe9 HTTP/1.1",
        "host: 127.0.0.1:8787",
        "X-Dup: 1",
        "x-dup: J\\xfcrgen",
        "Content-Encoding: gzip",
        "Transfer-Encoding: chunked",
        "",
    ]
    assert lines[7].startswith("\\x1f\\x8b\\x08\\x00")
    assert lines[-3:-1] == ["X-Sum: 9f", "x-done: yes"]
    shown.page.resize(1_800, 700)
    await until(lambda: raw.facts.text().endswith("body in gzip · chunked framing removed"))
    assert raw.rest.isHidden()
    sent = shown.detail.capture
    assert sent is not None
    source = of_raw(sent, of_capture(sent, shown.desk.store.captures))
    target = tmp_path / "saved.http"
    await write_body(source, target, "request")
    head = "PUT /catch/x/a%2Fb?q=\xe9 HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in HEADERS)
    whole = head.encode("latin-1") + b"\r\n" + body + b"\r\nX-Sum: 9f\r\nx-done: yes\r\n\r\n"
    assert target.read_bytes() == whole
    assert source.size == len(whole)
    # However it is cut into reads, the seams between head, body and trailers do not show.
    for step in (1, 7, len(whole) - 1):
        pieces = [await source.read(at, step) for at in range(0, len(whole), step)]
        assert b"".join(pieces) == whole


async def test_it_is_copied_with_its_line_ends(shown: PageDesk) -> None:
    body = '{"é":\n1}'.encode()
    await open_raw(shown, body, target="/catch/x", headers=(("Host", "h"), ("X-A", "1")))
    shown.detail.view.raw.copy.click()
    clipboard = QGuiApplication.clipboard()
    expected = b"POST /catch/x HTTP/1.1\r\nHost: h\r\nX-A: 1\r\n\r\n" + body
    await until(lambda: clipboard.text() == expected.decode())
    assert bytes(clipboard.mimeData().data("application/http").data()) == expected
    await until(lambda: notice(shown.detail.view.raw) == "Copied the request.")


async def test_only_text_and_hex_are_offered_and_both_can_be_searched(shown: PageDesk) -> None:
    await open_raw(shown, b'{"a": 1}', content_type="application/json", target="/catch/x/needle")
    raw = shown.detail.view.raw
    choices = [button.text() for button in raw.views.findChildren(QToolButton) if button.isVisible()]
    assert choices == ["Text", "Hex"]
    assert raw.code.accessibleName() == "Request as received"
    raw.views.activated.emit("hex")
    await until(raw.hex.isVisible)
    shown.detail.open_find()
    assert raw.find_bar.field.placeholderText() == "Find in request"
    raw.find_bar.field.setText("NEEDLE")
    await until(lambda: raw.find_bar.count.text() == "1 of 1")
    assert raw.stack.currentWidget() is raw.hex
    # The choice stays for the next request, also of another type.
    await open_body(shown, b"<a/>", "text/xml")
    shown.detail.tabs.setCurrentIndex(RAW)
    await until(raw.hex.isVisible)
    assert raw.views.current() == "hex"


@pytest.mark.slow
async def test_a_huge_request_is_shown_in_parts(shown: PageDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.core.bodies.body_reader.FORMATTED_MAX", 300_000)
    monkeypatch.setattr("app.ui.inspector.body.body_source.READ", 100_000)
    raw, captures = shown.detail.view.raw, shown.desk.store.captures
    body = b"".join(b"line %06d %b\n" % (number, b"." * 88) for number in range(PART_SIZE // 100))
    await open_body(shown, body, "text/plain")
    read: list[int] = []
    stored = captures.body

    async def counted(capture_id: str, offset: int = 0, length: int | None = None) -> bytes:
        data = await stored(capture_id, offset, length)
        read.append(len(data))
        return data

    captures.body = counted  # type: ignore[method-assign]
    await settle()
    assert not read  # nobody looks at it
    shown.detail.tabs.setCurrentIndex(RAW)
    await until(raw.rest.isVisible)
    assert sum(read) <= 300_000
    assert raw.rest.text.text() == "Showing the first 293 KiB of 1.0 MiB"
    last = raw.code.rows.last_number()
    raw.rest.more.click()
    await until(lambda: raw.code.rows.number_text(0) == str(last + 1))
    # The search goes on behind what is shown.
    shown.detail.open_find()
    assert shown.detail.tabs.currentIndex() == RAW
    raw.find_bar.field.setText("line 009000")
    await until(lambda: raw.find_bar.count.text() == "1 of 1")
    await until(lambda: raw.code.textCursor().block().text().startswith("line 009000"))
    raw.find_bar.field.setText("nowhere")
    await until(lambda: raw.find_bar.count.text() == "No matches")
    raw.views.activated.emit("hex")
    await until(lambda: raw.stack.currentWidget() is raw.hex)


async def unreadable(*_: object) -> bytes:
    raise StorageUnavailableError("The stored requests cannot be read.")


async def test_what_can_be_read_only_later_is_copied_and_shown_as_hex_then(
    shown: PageDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.ui.tasks.AGAIN_S", 0.01)
    raw = shown.detail.view.raw
    with monkeypatch.context() as broken:
        broken.setattr(shown.desk.store.captures, "body", unreadable)
        sent = await shown.add(b"hello", headers=(), target="/catch/x")
        shown.page.open_request(sent.id)
        await until(lambda: shown.detail.capture is not None)
        shown.detail.tabs.setCurrentIndex(RAW)
        await until(raw.unread.isVisible)
    await until(raw.code.isVisible)
    raw.copy.click()
    await until(lambda: QGuiApplication.clipboard().text() == "POST /catch/x HTTP/1.1\r\n\r\nhello")
    raw.views.activated.emit("hex")
    await until(raw.hex.isVisible)
    QTest.keyClick(raw.hex, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    raw.hex.copy()
    await until(lambda: QGuiApplication.clipboard().text().startswith("000000"))


async def test_one_request_is_never_mixed_with_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_page(tmp_path) as shown:
        raw = shown.detail.view.raw
        await open_raw(shown, b"first", content_type="text/plain", target="/catch/x/first")
        shown.detail.tabs.tabBarClicked.emit(RAW)
        second = await shown.add(b"second", content_type="text/plain", target="/catch/x/second")
        with monkeypatch.context() as broken:
            broken.setattr(shown.desk.store.captures, "body", unreadable)
            shown.page.open_request(second.id)
            body = shown.detail.body
            await until(lambda: raw.unread.isVisible() and body.stack.currentWidget() is body.unread)
            assert "first" not in raw.code.toPlainText()
        assert raw.unread.button is not None
        raw.unread.button.click()
        await until(lambda: raw.code.isVisible() and raw.code.line_count() > 0)
        assert raw.code.toPlainText().startswith("POST /catch/x/second")
        assert raw.code.toPlainText().endswith("second")
        await shown.desk.store.captures.delete([second.id])
        await until(shown.detail.view.deleted_bar.isVisible)
        assert raw.code.toPlainText().endswith("second")
        raw.copy.click()
        await until(lambda: notice(raw) == "Copied the request.")
        assert QGuiApplication.clipboard().text().endswith("second")
        await open_raw(shown, b"", headers=(), target="/catch/x")
        assert raw.code.toPlainText() == "POST /catch/x HTTP/1.1\n"
        shown.detail.tabs.setCurrentIndex(BODY)
        for message in shown.desk.messages.waiting():
            assert message.text == "The stored requests cannot be read."
            shown.desk.messages.withdraw(message.key)
