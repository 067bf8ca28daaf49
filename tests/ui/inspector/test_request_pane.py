"""One request in full: its tabs and views, large and hostile bodies, and loads that replace each other."""

from __future__ import annotations

import asyncio
import gzip
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from peewee import Database
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from app.core.bodies.body_reader import FORMATTED_MAX
from app.core.clock import DAY_US, now_us
from app.core.errors import StorageUnavailableError
from app.core.events import Purged
from app.core.model import PART_SIZE, Capture, DeliveryState, PurgeReport
from app.core.text import clock_time, day_text, full_time
from app.ui.inspector.body.body_export import SaveError, write_body
from app.ui.inspector.body.body_source import of_bytes, of_capture
from app.ui.inspector.request_pane import BY_SOMEONE, NOT_STORED
from app.ui.inspector.request_view import BODY, DELIVERIES, HEADERS, INFO, QUERY
from app.ui.replay.request_editors import load_request
from app.ui.theme.metrics import SIDE_BY_SIDE_WIDTH
from tests import damage, factories
from tests.deliveries import STATUS_500, URL, deliver, finish
from tests.factories import attempt
from tests.stored import store_request
from tests.support import while_read
from tests.ui.requests.page_desk import PageDesk, open_body, open_page
from tests.ui.waiting import Heart, notice, settle, until


async def test_a_json_body_is_pretty_and_can_be_shown_otherwise(shown: PageDesk) -> None:
    await open_body(shown, b'{"id":12345678901234567890,"a":[1.10]}', "application/json")
    body = shown.detail.body
    assert body.views.current() == "pretty"
    assert "auto" in body.facts.text()
    assert body.code.toPlainText() == '{\n  "id": 12345678901234567890,\n  "a": [\n    1.10\n  ]\n}'
    body.views.activated.emit("text")
    await until(lambda: body.code.toPlainText().startswith('{"id"'))
    body.views.activated.emit("hex")
    await until(lambda: body.stack.currentWidget() is body.hex)
    assert not body.grab().isNull()
    # The choice holds for the next body of this type.
    await open_body(shown, b"{}", "application/json")
    assert body.views.current() == "hex"


async def test_hostile_text_is_shown_plain(shown: PageDesk) -> None:
    text = "<img src=http://x/y.png><b>b</b>\n\x1b[31mred\u202egpj.exe"
    await open_body(shown, text.encode(), "text/html", headers=(("X-<b>", "<img src=x>\x1b[0m"),))
    expected = "<img src=http://x/y.png><b>b</b>\n\\x1b[31mred\\u202egpj.exe"
    assert shown.detail.body.code.toPlainText() == expected
    shown.detail.tabs.setCurrentIndex(HEADERS)
    index = shown.detail.view.headers.pairs.index(1, 1)
    assert index.data() == "<img src=x>\\x1b[0m"
    shown.detail.view.headers.selectRow(1)
    shown.detail.view.headers.copy_rows()
    assert QGuiApplication.clipboard().text() == "X-<b>: <img src=x>\x1b[0m"
    assert not shown.detail.grab().isNull()


async def test_one_endless_line_does_not_stall_the_window(shown: PageDesk) -> None:
    async with Heart() as heart:
        await open_body(shown, b"x" * 1_000_000, "text/plain")
        code = shown.detail.body.code
        await until(lambda: shown.detail.body.loader.ended)
    assert heart.longest < 0.5
    assert len(code.searchable) >= 1_000_000
    code.selectAll()
    assert code.createMimeDataFromSelection().text() == "x" * 1_000_000
    assert code.searchable.find(["x" * 4_001])[0]


@pytest.mark.slow
async def test_a_huge_body_shows_its_beginning_at_once_and_hex_reaches_its_end(shown: PageDesk) -> None:
    size = 100 * 1024 * 1024
    captures = shown.desk.store.captures
    part = (b'{"n":1},' * (PART_SIZE // 8))[:PART_SIZE]
    read: list[int] = []
    body = captures.body

    async def counted(capture_id: str, offset: int = 0, length: int | None = None) -> bytes:
        read.append(length or size)
        return await body(capture_id, offset, length)

    captures.body = counted  # type: ignore[method-assign]
    sent = msgspec.structs.replace(
        (await shown.add(b"[" + part[1:], content_type="application/json")), id="", size=size
    )
    from app.core.ids import uuid7  # only here is an id of its own needed

    sent = msgspec.structs.replace(sent, id=uuid7(sent.received_at + 5), received_at=sent.received_at + 5)
    key = await captures.add_part(None, 0, b"[" + part[1:])
    for number in (*range(1, 8), 98):
        await captures.add_part(key, number * PART_SIZE, part)
    await captures.add(sent, part, key)
    begun: list[object] = []
    read.clear()  # the first request opened by itself
    shown.detail.body.loader.begun.connect(lambda *_: begun.append(None))
    async with Heart() as heart:
        shown.page.open_request(sent.id)
        await until(lambda: begun)
    assert heart.longest < 0.5
    assert sum(read) <= FORMATTED_MAX + PART_SIZE
    await until(lambda: "of 100 MiB" in shown.detail.body.rest.text.text())
    shown.detail.body.views.activated.emit("hex")
    await until(lambda: shown.detail.body.stack.currentWidget() is shown.detail.body.hex)
    hexes = shown.detail.body.hex
    hexes.verticalScrollBar().setValue(hexes.verticalScrollBar().maximum())
    hexes.grab()
    await until(lambda: max(hexes._pages, default=0) >= 3)
    assert sum(read) < FORMATTED_MAX + 4 * PART_SIZE


async def test_skipping_through_rows_loads_the_last_and_piles_nothing_up(shown: PageDesk) -> None:
    await shown.fill(150)
    await shown.reload()
    asked: list[str] = []
    captures = shown.desk.store.captures
    get = captures.get

    async def counted(capture_id: str) -> object:
        asked.append(capture_id)
        return await get(capture_id)

    captures.get = counted  # type: ignore[method-assign,assignment]
    for _ in range(100):
        QTest.keyClick(shown.list, Qt.Key.Key_J)
    await until(lambda: shown.detail.capture is not None and shown.detail.capture.id == shown.ids()[99])
    assert len(asked) <= 5


async def test_headers_and_query_keep_order_case_and_duplicates(shown: PageDesk) -> None:
    headers = (("x-dup", "1"), ("X-Dup", "2"), ("X-Long", "v" * 50_000))
    await open_body(shown, b"", "", headers=headers, target="/catch/x?b=2&a=1+1%20%E2%9C%93&b=1&e")
    detail = shown.detail
    detail.tabs.setCurrentIndex(HEADERS)
    rows = [detail.view.headers.pairs.record(row)[0] for row in range(detail.view.headers.pairs.rowCount())]
    assert rows == ["Content-Type", "x-dup", "X-Dup", "X-Long"]
    detail.tabs.setCurrentIndex(QUERY)
    query = [detail.view.query.pairs.record(row) for row in range(detail.view.query.pairs.rowCount())]
    assert query == [("b", "2", "b=2"), ("a", "1 1 ✓", "a=1+1%20%E2%9C%93"), ("b", "1", "b=1"), ("e", "", "e")]
    assert detail.tabs.tabText(QUERY) == "Query 4"
    detail.tabs.setCurrentIndex(HEADERS)
    await settle()
    assert detail.view.headers.rowHeight(3) < 200
    assert detail.width() < 700


async def test_the_tab_is_remembered_for_each_type(shown: PageDesk) -> None:
    tabs = shown.detail.tabs
    await open_body(shown, b"{}", "application/json")
    tabs.tabBarClicked.emit(HEADERS)
    tabs.setCurrentIndex(HEADERS)
    await open_body(shown, b"hello", "text/plain")
    assert tabs.currentIndex() == BODY
    await open_body(shown, b"[]", "application/json; charset=utf-8")
    assert tabs.currentIndex() == HEADERS


async def test_deliveries_show_and_change_as_they_end(tmp_path: Path) -> None:
    async with open_page(tmp_path, forward_url="http://127.0.0.1:9/hook") as shown:
        store, tab = shown.desk.store, shown.detail.view.deliveries
        sent = await shown.desk.capture(shown.endpoint)
        shown.page.open_request(sent.id)
        await until(lambda: shown.detail.tabs.tabText(DELIVERIES) == "Deliveries 1")
        shown.detail.tabs.setCurrentIndex(DELIVERIES)
        assert tab.pane.title.text() == "Nothing sent yet"
        (delivery,) = await store.deliveries.of_capture(sent.id)
        headers = (("Content-Type", "application/json"), ("Content-Encoding", "gzip"))
        made = attempt(delivery, response_headers=headers, **STATUS_500)
        await finish(store, delivery, DeliveryState.FAILED, made, body=gzip.compress(b'{"ok":true}'))
        await until(lambda: "500 Internal Server Error" in tab.pane.title.text())
        assert tab.pane.reason.text() == "The target responded with 500."
        await until(lambda: tab.pane.body.code.toPlainText() == '{\n  "ok": true\n}')
        row = shown.model.row_of(sent.id)
        assert row is not None
        assert shown.model.summary(row).delivery is DeliveryState.FAILED


async def test_a_body_is_saved_and_copied_as_it_was_sent(tmp_path: Path, shown: PageDesk) -> None:
    body = bytes(range(256)) * 6_000
    sent = await shown.add(body)
    target = tmp_path / "saved.bin"
    target.write_text("before")
    await write_body(of_capture(sent, shown.desk.store.captures), target)
    assert target.read_bytes() == body
    bodies = [bytes([which]) * 3 * PART_SIZE for which in range(2)]
    await asyncio.gather(*(write_body(of_bytes(body, "saved.bin"), target) for body in bodies))
    assert target.read_bytes() in bodies
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]
    (tmp_path / "link.bin").symlink_to(target)
    with pytest.raises(SaveError, match="that is a symbolic link"):
        await write_body(of_capture(sent, shown.desk.store.captures), tmp_path / "link.bin")
    assert (tmp_path / "link.bin").is_symlink()
    packed = await open_body(
        shown, gzip.compress('{"é":\t1}'.encode()), "application/json", headers=(("Content-Encoding", "gzip"),)
    )
    await shown.desk.store.captures.delete([packed])
    await until(shown.detail.view.deleted_bar.isVisible)
    shown.detail.body.copy.click()
    await until(lambda: notice(shown.detail.body) == "Copied the body.")
    assert QGuiApplication.clipboard().text() == '{"é":\t1}'


async def test_a_damaged_body_is_shown_with_what_is_wrong(tmp_path: Path, shown: PageDesk) -> None:
    detail = shown.detail
    harmed, intact = await shown.add(b"harmed, or not?"), await shown.add(b"intact")
    damage.change_body(tmp_path, harmed.id)
    shown.page.open_request(intact.id)  # the first to arrive is open, and was read before
    await until(lambda: detail.body.code.toPlainText() == "intact")
    shown.page.open_request(harmed.id)
    await until(detail.view.damaged_bar.isVisible)
    assert detail.header.state.text() == "Damaged"
    assert detail.view.damaged_bar.text.text().startswith("The stored body is damaged: it does not match the SHA-256")
    await until(lambda: detail.body.code.toPlainText().startswith("harmed, or not"))
    detail.body.copy.click()
    await until(lambda: "The stored body is damaged" in notice(detail.body))
    editable = await load_request(harmed.id, shown.desk.services)
    assert editable is not None
    assert "damaged" in str(editable.body)
    shown.page.open_request(intact.id)
    await until(lambda: detail.body.code.toPlainText() == "intact")
    assert not detail.view.damaged_bar.isVisible()


async def test_a_damaged_body_that_could_not_be_read_at_first_is_said_to_be_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_there = False

    async def read_later(read: Callable[..., Awaitable[Any]], *given: object) -> Any:
        if not is_there:
            raise StorageUnavailableError("The stored requests cannot be read.")
        return await read(*given)

    monkeypatch.setattr("app.ui.tasks.AGAIN_S", 0.01)
    async with open_page(tmp_path) as shown:
        detail, messages, captures = shown.detail, shown.desk.messages, shown.desk.store.captures
        harmed = await shown.add(b"harmed, or not?")
        await until(lambda: detail.capture is not None and not shown.desk.tasks.running())
        detail.clear()
        damage.change_body(tmp_path, harmed.id)
        for name in ("body", "check_body"):
            monkeypatch.setattr(captures, name, partial(read_later, getattr(captures, name)))
        shown.page.open_request(harmed.id)
        await until(lambda: detail.body.unread.isVisible() and messages.waiting())
        assert len(messages.waiting()) == 1
        is_there = True
        await until(detail.view.damaged_bar.isVisible)
        assert detail.header.state.text() == "Damaged"
        await until(lambda: not messages.waiting())


async def test_a_body_that_cannot_be_read_is_never_mixed_with_the_one_shown_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreadable(*_: object) -> bytes:
        raise StorageUnavailableError("The stored requests cannot be read.")

    async with open_page(tmp_path) as shown:
        body = shown.detail.body
        second = await shown.add(b"second\n" * 100_000, content_type="text/plain")
        await open_body(shown, b"first\n" * 100_000, "text/plain")
        with monkeypatch.context() as broken:
            broken.setattr(shown.desk.store.captures, "body", unreadable)
            shown.page.open_request(second.id)
            await until(body.unread.isVisible)
        assert body.code.toPlainText() == ""
        await until(shown.desk.messages.waiting)
        (message,) = shown.desk.messages.waiting()
        assert body.unread.button is not None
        body.unread.button.click()
        await until(body.code.isVisible)
        assert body.code.toPlainText().startswith("second\n")
        assert "first" not in body.code.toPlainText()
        shown.desk.messages.withdraw(message.key)  # by now all that read it have said so


async def test_a_request_that_cannot_be_marked_read_now_is_shown_once_and_marked_later(
    shown: PageDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures, messages = shown.desk.store.captures, shown.desk.messages
    mark_read, is_full = captures.mark_read, True

    async def mark_if_there_is_room(ids: Sequence[str]) -> None:
        if is_full:
            raise StorageUnavailableError("The disk is full.")
        await mark_read(ids)

    monkeypatch.setattr("app.ui.tasks.AGAIN_S", 0.0)
    first, second = await shown.add(b"first"), await shown.add(b"second")
    await until(lambda: shown.detail.capture is not None and shown.detail.capture.id == first.id)
    opened: list[str] = []
    shown.detail.opened.connect(opened.append)
    monkeypatch.setattr(captures, "mark_read", mark_if_there_is_room)
    shown.page.open_request(second.id)
    await until(messages.waiting)
    await settle(20)
    is_full = False
    await until(lambda: not messages.waiting())
    assert opened == [second.id]
    assert captures.counts(shown.endpoint.id).unread == 0


async def delivered(shown: PageDesk, capture: Capture) -> None:
    (delivery,) = await shown.desk.store.deliveries.of_capture(capture.id)
    await deliver(shown.desk.store, delivery)


async def test_a_request_is_not_shown_if_none_is_wanted_any_more_once_it_is_read(
    shown: PageDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await open_body(shown, b"first", "text/plain")
    second = await shown.add(b"second")
    captures = shown.desk.store.captures
    get, is_read, goes_on = captures.get, asyncio.Event(), asyncio.Event()

    async def held(capture_id: str) -> Capture | None:
        found = await get(capture_id)
        is_read.set()
        await goes_on.wait()
        return found

    monkeypatch.setattr(captures, "get", held)
    shown.page.open_request(second.id)
    await is_read.wait()
    shown.detail.clear()
    goes_on.set()
    await until(lambda: not shown.desk.tasks.running())
    assert shown.detail.placeholder.isVisible()
    assert captures.counts(shown.endpoint.id).unread == 1


async def test_an_empty_body_stays_when_another_that_was_still_read_is_there(
    shown: PageDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = await shown.add(b"", target="/catch/x")
    sent = await shown.add(b"sent", content_type="text/plain", target="/catch/x")
    captures, goes_on = shown.desk.store.captures, asyncio.Event()
    read = captures.body

    async def held(*arguments: Any, **named: Any) -> bytes:
        found = await read(*arguments, **named)
        await goes_on.wait()
        return found

    monkeypatch.setattr(captures, "body", held)
    for one in (sent, empty):
        shown.page.open_request(one.id)
        await until(lambda one=one: shown.detail.capture is not None and shown.detail.capture.id == one.id)
    goes_on.set()
    await until(lambda: not shown.desk.tasks.running())
    assert shown.detail.body.nothing.isVisible()
    assert shown.detail.body.code.toPlainText() == ""


async def deleted(shown: PageDesk, capture: Capture) -> None:
    await shown.desk.store.captures.delete([capture.id])


async def noted(shown: PageDesk, capture: Capture) -> None:
    await shown.desk.store.captures.set_note(capture.id, "Look here")


async def identified(shown: PageDesk, capture: Capture) -> None:
    await change(shown, capture, "provider", "stripe")
    shown.desk.bus.publish(factories.updated(capture.id, provider="stripe", event=None))


async def described(shown: PageDesk, capture: Capture) -> None:
    await change(shown, capture, "gist", "JSON · total")
    shown.desk.bus.publish(factories.updated(capture.id, gist="JSON · total"))


async def change(shown: PageDesk, capture: Capture, column: str, value: str) -> None:
    def store(database: Database) -> None:
        database.connection().execute(f"UPDATE capture SET {column} = ? WHERE id = ?", (value, capture.id))

    await shown.desk.store._writer.run(store)


MEANWHILE: dict[Callable[[PageDesk, Capture], Awaitable[None]], Callable[[PageDesk], bool]] = {
    delivered: lambda shown: shown.detail.header.state.text() == "Delivered",
    deleted: lambda shown: shown.detail.placeholder.title.text() == NOT_STORED,
    noted: lambda shown: shown.detail.header.note.text.toPlainText() == "Look here",
    identified: lambda shown: "Stripe" in shown.detail.header.title.text(),
    described: lambda shown: shown.detail.header.title.text() == "JSON · total",
}
"""What happens while a request is read, and how its pane shows it."""


@pytest.mark.parametrize("happens", MEANWHILE, ids=lambda one: one.__name__)
async def test_what_happens_while_a_request_is_read_is_shown(
    tmp_path: Path, happens: Callable[[PageDesk, Capture], Awaitable[None]]
) -> None:
    async with open_page(tmp_path, forward_url=URL) as shown:
        captures = shown.desk.store.captures
        capture = factories.capture(endpoint_id=shown.endpoint.id, delivery=DeliveryState.QUEUED)
        happened = while_read(captures, "get", partial(happens, shown, capture))
        await store_request(captures, capture, b"{}", shown.endpoint.targets)  # opened as the first
        await until(lambda: happened() and MEANWHILE[happens](shown))


@pytest.mark.parametrize("happens", [identified, described])
async def test_what_is_found_out_of_a_request_that_is_open_is_shown(
    shown: PageDesk, happens: Callable[[PageDesk, Capture], Awaitable[None]]
) -> None:
    capture = await shown.add()
    await until(lambda: shown.detail.capture is not None)
    await happens(shown, capture)
    await until(lambda: MEANWHILE[happens](shown))


async def test_a_tab_opened_later_shows_what_was_found_out(shown: PageDesk) -> None:
    capture = await shown.add()
    await until(lambda: shown.detail.capture is not None)
    await identified(shown, capture)
    await until(lambda: MEANWHILE[identified](shown))
    shown.detail.tabs.setCurrentIndex(INFO)
    info = shown.detail.view.info.pairs
    assert ("Provider", "Stripe") in [info.record(row)[:2] for row in range(info.rowCount())]


async def test_the_time_of_the_response_is_shown_once_it_is_known(
    shown: PageDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown.desk.store.captures._response_times, "delay_s", 0.0)
    shown.detail._response.setInterval(10)
    capture = await shown.add()  # opened as the first
    await until(lambda: shown.detail.capture is not None)
    assert shown.detail.header.response.text() == "200"
    shown.desk.store.captures.responded(capture.seq, 12.0)
    await until(lambda: shown.detail.header.response.text() == "200 · 12 ms")
    await until(lambda: not shown.detail._response.isActive())


async def test_a_request_deleted_while_it_is_looked_for_stays_deleted(shown: PageDesk) -> None:
    capture = await shown.add()
    await until(lambda: shown.detail.capture is not None)
    captures = shown.desk.store.captures
    gone = while_read(captures, "get", partial(captures.delete, [capture.id]))
    shown.desk.bus.publish(Purged(report=PurgeReport(at=now_us(), deleted={shown.endpoint.id: 1}, freed_bytes=0)))
    await until(lambda: gone() and not shown.desk.tasks.running())
    assert shown.detail.deleted == BY_SOMEONE
    assert shown.detail.view.deleted_bar.isVisible()


async def test_an_empty_body_and_a_request_that_is_gone(shown: PageDesk) -> None:
    name = await open_body(shown, b"", "", target="/catch/x")
    assert shown.detail.body.nothing.isVisible()
    await shown.desk.store.captures.delete([name])
    assert shown.detail.view.deleted_bar.isVisible()
    shown.detail.clear()
    shown.page.open_request(name)
    await until(lambda: "no longer stored" in shown.detail.placeholder.title.text())
    assert shown.detail.placeholder.isVisible()


async def test_themes_and_narrow_windows_are_drawn(shown: PageDesk) -> None:
    await open_body(shown, b'{"a":"b"}', "application/json")
    shown.desk.theme.set_choice("dark")
    assert not shown.page.grab().isNull()
    for body, content_type in (
        (b'{"a":"b"}', "application/json"),
        (b"a,b\n1,2\n3,4\n", "text/csv"),
        (b"<html><body>hello</body></html>", "text/html"),
        (b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--', "multipart/form-data; boundary=x"),
    ):
        await open_body(shown, body, content_type, target="/catch/x?a=1")
        # Less: beside the line between it and the sidebar. Qt lays out later.
        await until(lambda: shown.page.minimumSizeHint().width() < SIDE_BY_SIDE_WIDTH, 5)


@pytest.mark.usefixtures("each_font")
async def test_the_time_of_arrival_is_whole_in_a_narrow_head(shown: PageDesk) -> None:
    capture = await shown.add(received_at=now_us())
    await shown.reload()
    facts = shown.detail.header.facts
    clock = clock_time(capture.received_at)
    for width in (720, 1000, 1800):
        shown.page.resize(width, 600)
        shown.page.open_request(capture.id)
        await until(shown.detail.header.isVisible)
        await settle()
        assert clock in facts.text()
        assert facts.fontMetrics().horizontalAdvance(facts.text()) <= facts.width()
        assert full_time(capture.received_at) in facts.accessibleName()
    assert facts.text().endswith(f"from {capture.source_address}")
    old = await shown.add(received_at=now_us() - 40 * DAY_US)
    shown.page.resize(720, 600)
    shown.page.open_request(old.id)
    await until(lambda: day_text(old.received_at, now_us()) in facts.text())
    await settle()
    assert facts.fontMetrics().horizontalAdvance(facts.text()) <= facts.width()
