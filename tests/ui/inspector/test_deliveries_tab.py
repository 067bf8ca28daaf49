"""The Deliveries tab: each delivery with its attempts, what was sent and what came back."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QObject, QPoint, QRect, Qt
from PySide6.QtGui import QAction, QColor, QContextMenuEvent, QGuiApplication, QPainter, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu

from app.core.clock import now_us
from app.core.delivery import (
    RESPONSE_REMOVED,
    AttemptTrigger,
    Delivery,
    DeliveryFilter,
    FailureKind,
    RequestEdit,
    Timing,
)
from app.core.model import Capture, DeliveryState
from app.core.target import PausedBy, Target, TargetDraft
from app.core.text import clock_time, exact_time
from app.ui.deliveries.words import INTERRUPTED_MEANS, paused_text
from app.ui.inspector.attempt_list import INDENT, LEFT, AttemptRows, Attempts, row_words, rows_of
from app.ui.inspector.deliveries_tab import DeliveriesTab
from app.ui.inspector.request_view import DELIVERIES
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.fields import Segmented
from app.ui.widgets.focus import bring_into_view
from tests import factories
from tests.deliveries import NO_CONNECTION, NOT_SENT, STATUS_500, fail_replay, finish, not_sent
from tests.factories import attempt
from tests.support import while_read
from tests.ui.layout_faults import layout_faults
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import settle, until

SECOND = 1_000_000


@asynccontextmanager
async def opened(folder: Path, **fields: Any) -> AsyncIterator[tuple[PageDesk, DeliveriesTab, Capture, Delivery]]:
    """A request of an endpoint with one target, its Deliveries tab, and its delivery, still queued."""
    async with open_page(folder, forward_url="http://127.0.0.1:9/hook?own=1") as shown:
        capture = await shown.desk.capture(shown.endpoint, **fields)
        shown.detail.show_deliveries_next(capture.id)
        shown.page.open_request(capture.id)
        tab = shown.detail.view.deliveries
        await until(lambda: words(tab))
        (delivery,) = await shown.desk.store.deliveries.of_capture(capture.id)
        yield shown, tab, capture, delivery


def words(tab: DeliveriesTab) -> list[str]:
    """The rows, as screen readers read them."""
    return [row_words(row) for row in tab.list.attempts.records()]


def choose(tab: DeliveriesTab, row: int) -> None:
    tab.list.select_row(row)


def press(choices: Segmented, title: str) -> None:
    button = next(one for one in choices.findChildren(QAbstractButton) if one.text().startswith(title))
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


async def test_every_attempt_has_its_number_trigger_result_and_duration(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        made = [
            attempt(delivery, 1, **NO_CONNECTION),
            attempt(delivery, 2, **STATUS_500),
            attempt(delivery, 3, trigger=AttemptTrigger.RESENT, status=None, failure=FailureKind.TIMEOUT),
            attempt(delivery, 4, trigger=AttemptTrigger.MANUAL, ms=1500.0),
        ]
        await finish(shown.desk.store, delivery, DeliveryState.DELIVERED, *made)
        await until(lambda: len(words(tab)) == 5)
        assert words(tab) == [
            f"Delivered, 4 attempts, {made[-1].url}",
            "Attempt 1 of 4, forwarded: Could not connect after 12 ms",
            "Attempt 2 of 4, retry: 500 Internal Server Error after 12 ms",
            "Attempt 3 of 4, sent again because the open connection had closed: Timed out after 12 ms",
            "Attempt 4 of 4, retried by you: 200 OK after 1.5 s",
        ]
        for row in range(5):
            left, middle = (INDENT, 16) if row else (LEFT, 16)
            assert abs(middle_of_ink(tab, row, left) - middle) <= 2, "the icon is beside the words"
        joined = [ends_in(tab, row, INDENT + metrics.ICON // 2) for row in range(1, 5)]
        line = QColor(shown.desk.theme.tokens.border_strong)
        assert [ground == line for ground in joined] == [True, True, True, False], "a line leads to the next attempt"


def ends_in(tab: DeliveriesTab, row: int, left: int) -> QColor:
    """The colour of the last pixel of a row, so far from its left."""
    picture = tab.list.viewport().grab(tab.list.visualRect(tab.list.attempts.index(row, 0))).toImage()
    return picture.pixelColor(left, picture.height() - 1)


def middle_of_ink(tab: DeliveriesTab, row: int, left: int) -> float:
    """Of what is painted left of the middle of an icon that begins at `left`, counted from the top of the row."""
    picture = tab.list.viewport().grab(tab.list.visualRect(tab.list.attempts.index(row, 0))).toImage()
    columns = range(left, left + metrics.ICON // 2 - 1)
    ground = left - 2
    inked = [
        y for y in range(1, picture.height()) if any(picture.pixel(x, y) != picture.pixel(ground, y) for x in columns)
    ]
    return (inked[0] + inked[-1]) / 2


def tooltips(deliveries: Sequence[Delivery], attempts: Attempts, target: Target | None = None) -> list[str]:
    parent = QObject()
    rows = AttemptRows(Theme(), parent)
    rows.show_records(rows_of(deliveries, attempts, lambda _: target), lambda row: row.key)
    return [rows.index(row, 0).data(Qt.ItemDataRole.ToolTipRole) for row in range(rows.rowCount())]


@pytest.mark.usefixtures("qapp")
def test_the_tooltip_of_a_row_says_what_it_has_no_room_for() -> None:
    queued = factories.queued(url="http://127.0.0.1:9/a").delivery
    timing = Timing(connect=2.0, first_byte=4.0)
    made = [
        attempt(queued, 1, timing=timing, **STATUS_500),
        attempt(queued, 2, status=None, failure=FailureKind.INTERRUPTED, error="Cut."),
    ]
    due = now_us() + 3_600 * SECOND
    target = factories.target(queued.url, paused=PausedBy.USER)
    waiting = replace(factories.after(queued, made[-1], DeliveryState.QUEUED, due), target_id=target.id, responded=True)
    whole, first, cut, following = tooltips([waiting], {queued.id: made}, target)
    where = f"http://127.0.0.1:9/a\nQueued {exact_time(queued.queued_at)}"
    paused = paused_text(target)
    assert whole == f"{where}\n{paused}\nThe sender got this response."
    assert first.splitlines() == [
        "Attempt 1 of 2, forwarded: 500 Internal Server Error after 12 ms",
        exact_time(made[0].started_at),
        "The target responded with 500.",
        "Connect 2.0 ms, Waiting for first byte 4.0 ms, Rest 6.0 ms",
    ]
    assert cut.replace("\n", " ").endswith(f" {exact_time(made[1].started_at)} {INTERRUPTED_MEANS}")
    assert following == f"Target is paused\n{where}\nDue {exact_time(due)}\n{paused}\nThe sender got this response."


@pytest.mark.usefixtures("qapp")
def test_what_is_painted_of_deliveries_and_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    painted: list[str] = []

    def paint_line(painter: QPainter, place: QRect, text: str, *_: object, **__: object) -> int:
        painted.append(text)
        return 0

    monkeypatch.setattr("app.ui.inspector.attempt_list.paint_line", paint_line)
    queued = factories.queued(url="http://127.0.0.1:9/a").delivery
    made = attempt(queued, **STATUS_500)
    failed = replace(factories.after(queued, made, DeliveryState.FAILED), target_id=7)
    at, clock = f"queued {clock_time(queued.queued_at)[:8]}", clock_time(made.started_at)[:8]
    result = ["12 ms", "500 Internal Server Error", " · forwarded"]
    wide = ["Failed", f" · 1 attempt · target deleted · {at}", made.url, "1", clock, *result]
    narrow = ["Failed", f" · 1 attempt · {at}", made.url, "1", *result]
    parent, picture = QObject(), QPixmap(800, 60)
    for delivery, width, expected in ((failed, 800, wide), (replace(failed, target_id=None), 400, narrow)):
        rows = AttemptRows(Theme(), parent)
        rows.show_records(rows_of([delivery], {delivery.id: [made]}, lambda _: None), lambda row: row.key)
        painter = QPainter(picture)
        for row in rows.records():
            paint = rows.columns[0].paint
            assert paint is not None
            paint(painter, QRect(0, 0, width, 52), row)
        painter.end()
        assert painted == expected
        painted.clear()


async def test_the_last_attempt_says_why_it_is_not_retried(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        made = [attempt(delivery, number, **STATUS_500) for number in (1, 2)]
        why = "Not retried: status 500 is not in the target's retry rule."
        await finish(shown.desk.store, delivery, DeliveryState.FAILED, *made, next_step=why, responded=True)
        await until(lambda: tab.pane.reason.text() == f"{STATUS_500['error']} {why}")
        responded = "The sender got this response."
        assert not tab.pane.facts.text().startswith(responded), "it got the first one"
        tab.list.select_row(1)
        await until(lambda: tab.pane.reason.text() == STATUS_500["error"])
        assert tab.pane.facts.text().startswith(responded)


async def test_an_attempt_keeps_the_url_that_it_was_sent_to(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        made = attempt(delivery, **STATUS_500)
        (target,) = shown.endpoint.targets
        await shown.desk.store.targets.update(target.id, TargetDraft(url="http://127.0.0.1:9/moved"))
        await finish(shown.desk.store, delivery, DeliveryState.FAILED, made)
        await until(lambda: tab.pane.reason.text() == STATUS_500["error"])
        assert (
            tab.pane.copy_url.text_to_copy
            == made.url
            != delivery.request_url(shown.desk.store.targets.by_id(target.id))
        )


async def test_the_attempts_of_a_delivery_below_many_are_read_when_it_is_selected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.ui.inspector.deliveries_tab.LOADED_MAX", 0)
    async with opened(tmp_path) as (shown, tab, _, delivery):
        await finish(shown.desk.store, delivery, DeliveryState.FAILED, attempt(delivery, **STATUS_500))
        await until(lambda: words(tab)[0].startswith("Failed"))
        assert len(words(tab)) == 1
        tab.list.setCurrentIndex(tab.list.attempts.index(-1, -1))

        async def again() -> None:
            await finish(shown.desk.store, delivery, DeliveryState.FAILED, attempt(delivery, 2, **STATUS_500))

        happened = while_read(shown.desk.store.deliveries, "attempts", again)
        tab.list.select_row(0)
        await until(lambda: happened() and len(words(tab)) == 3)
        await finish(shown.desk.store, delivery, DeliveryState.DELIVERED, attempt(delivery, 3))
        await until(lambda: len(words(tab)) == 4)


@pytest.mark.usefixtures("each_font")
async def test_the_attempts_have_the_room_they_need_whenever_the_tab_is_opened(tmp_path: Path) -> None:
    async with open_page(tmp_path, forward_url="http://127.0.0.1:9/hook") as shown:
        capture = await shown.desk.capture(shown.endpoint)
        (delivery,) = await shown.desk.store.deliveries.of_capture(capture.id)
        made = [attempt(delivery, number, **NO_CONNECTION) for number in (1, 2, 3)]
        await finish(shown.desk.store, delivery, DeliveryState.FAILED, *made)
        shown.page.open_request(capture.id)
        tab = shown.detail.view.deliveries
        await until(lambda: words(tab))
        assert not tab.isVisible()
        shown.detail.tabs.setCurrentIndex(DELIVERIES)
        await until(lambda: tab.list.height() >= tab.list.content_height())
        before = tab.list.height()
        await shown.desk.store.deliveries.retry(DeliveryFilter())
        await until(lambda: tab.list.height() > before)


@pytest.mark.usefixtures("each_font")
async def test_in_a_low_tab_nothing_of_an_attempt_is_squeezed(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        shown.page.resize(690, 430)
        timing = Timing(lookup=1.0, connect=2.0, tls=3.0, first_byte=4.0)
        long = {**STATUS_500, "error": "The target responded with 500, and with a body that says nothing. " * 3}
        await finish(shown.desk.store, delivery, DeliveryState.FAILED, attempt(delivery, timing=timing, **long))
        await until(lambda: tab.pane.timing.isVisible() and tab.pane.body.isVisible())
        await settle(10)
        pane = tab.pane
        for part in (pane.title, pane.url, pane.facts, pane.timing, pane.sides, pane.parts):
            assert part.height() >= part.minimumSizeHint().height(), part
        assert pane.body.height() > 8 * pane.fontMetrics().height()
        assert layout_faults(shown.page) == set()
        pane.parts.setFocus()
        bring_into_view(pane.parts)
        assert pane.parts.visibleRegion().boundingRect() == pane.parts.rect()


async def test_the_parts_of_a_duration_are_named(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        timing = Timing(lookup=1.0, connect=2.0, tls=3.0, first_byte=4.0)
        await finish(shown.desk.store, delivery, DeliveryState.DELIVERED, attempt(delivery, timing=timing))
        await until(tab.pane.timing.isVisible)
        assert tab.pane.timing.accessibleName() == (
            "Lookup 1.0 ms, Connect 2.0 ms, TLS 3.0 ms, Waiting for first byte 4.0 ms, Rest 2.0 ms, 12 ms in all"
        )


async def test_parts_of_a_duration_that_have_no_room_go_to_the_next_line(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        timing = Timing(lookup=1.0, connect=2.0, tls=3.0, first_byte=4.0)
        await finish(shown.desk.store, delivery, DeliveryState.DELIVERED, attempt(delivery, timing=timing))
        await until(tab.pane.timing.isVisible)
        bar, heights = tab.pane.timing, []
        for width in (1_200, *range(320, 200, -20)):
            bar.resize(width, bar.height())
            heights.append(bar.sizeHint().height())
            picture = bar.grab().toImage()
            edge = {picture.pixel(width - 1, y) for y in range(bar.height() // 2, bar.height())}
            assert len(edge) == 1, "no name is cut"
        assert heights[0] < heights[-1] == bar.height()


async def test_the_url_shown_and_copied_is_the_one_requested(tmp_path: Path) -> None:
    async with opened(tmp_path, target="/catch/x/orders/a%2Fb?id=1&id=2") as (shown, tab, _, delivery):
        url = "http://127.0.0.1:9/hook/orders/a%2Fb?own=1&id=1&id=2"
        assert tab.pane.url.text() == url
        elsewhere = attempt(delivery, url="http://127.0.0.1:9/old")
        await finish(shown.desk.store, delivery, DeliveryState.DELIVERED, elsewhere)
        await until(lambda: tab.pane.url.text() == "http://127.0.0.1:9/old")
        tab.pane.copy_url.click()
        assert QGuiApplication.clipboard().text() == "http://127.0.0.1:9/old"


async def test_the_url_before_the_first_attempt_follows_the_target(tmp_path: Path) -> None:
    async with opened(tmp_path, target="/catch/x/orders?id=1") as (shown, tab, _, delivery):
        draft = TargetDraft(url="http://127.0.0.1:9/mended", append_path=False, keep_query=False)
        await shown.desk.store.targets.update(delivery.target_id or 0, draft)
        await until(lambda: tab.pane.url.text() == draft.url)
        assert words(tab)[0] == f"Waiting, {draft.url}"


async def test_request_and_response_have_their_headers_and_body(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        pane = tab.pane
        headers = (("Content-Type", "application/json"), ("Content-Encoding", "gzip"))
        made = attempt(delivery, response_headers=headers)
        body = gzip.compress(b'{"ok":true}')
        await finish(shown.desk.store, delivery, DeliveryState.DELIVERED, made, body=body, responded=True)
        await until(lambda: pane.body.code.toPlainText() == '{\n  "ok": true\n}')
        assert pane.facts.text().startswith("The sender got this response.")
        assert "HTTP/1.1" in pane.facts.text().split(" · ")
        press(pane.parts, "Headers 2")
        assert (pane.headers.pairs.rowCount(), pane.headers.accessibleName()) == (2, "Response headers")
        press(pane.sides, "Request")
        assert [pane.headers.pairs.record(row) for row in range(1)] == [("X-Sent", "1")]
        assert pane.headers.accessibleName() == "Headers sent"
        press(pane.parts, "Body")
        press(pane.parts, "Headers 1")
        await settle(10)
        assert pane.headers.isVisible(), "the body comes too late"
        press(pane.parts, "Body")
        await until(lambda: pane.body.code.toPlainText() == '{\n  "a": 1\n}')
        pane.copy_text.click()
        await until(lambda: QGuiApplication.clipboard().text().startswith("POST http"))
        text = QGuiApplication.clipboard().text()
        for part in ("X-Sent: 1", '{"a":1}', "--- 200 OK, 12 ms", "HTTP/1.1 200", '{"ok":true}'):
            assert part in text


@pytest.mark.parametrize(
    ("edit", "size", "text"),
    [
        (RequestEdit(body=b'{"edited":true}'), 15, '{\n  "edited": true\n}'),
        (RequestEdit(body=b'{"b":2}'), 7, '{\n  "b": 2\n}'),
        (RequestEdit(body=b"a: 1\n", headers=(("Content-Type", "text/yaml"),)), 5, "a: 1"),
        (RequestEdit(body=b"sent until here, and no further"), 15, "sent until here"),
        (RequestEdit(method="PUT"), 7, '{\n  "a": 1\n}'),
        (None, 7, '{\n  "a": 1\n}'),
    ],
)
async def test_a_replay_shows_the_body_it_sent(tmp_path: Path, edit: RequestEdit | None, size: int, text: str) -> None:
    async with opened(tmp_path) as (shown, tab, capture, _):
        await fail_replay(shown.desk.store, capture, edit, size=size)
        await until(lambda: len(words(tab)) == 4)
        choose(tab, 3)
        await until(lambda: tab.pane.body.code.isVisible() and tab.pane.body.code.toPlainText() == text)
        tab.pane.copy_text.click()
        sent = edit.body[:size] if edit is not None and edit.body is not None else b'{"a":1}'
        await until(lambda: sent.decode() in QGuiApplication.clipboard().text())


async def test_an_attempt_that_sent_no_body_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        await finish(shown.desk.store, delivery, DeliveryState.FAILED, attempt(delivery, size=0, **NO_CONNECTION))
        await until(tab.pane.body.nothing.isVisible)
        assert tab.pane.body.nothing.title.text() == "No body was sent"


async def test_the_body_of_a_replay_that_is_no_longer_stored_is_only_named(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        made = attempt(delivery, size=99, **NO_CONNECTION)
        await finish(shown.desk.store, delivery, DeliveryState.FAILED, made)
        await until(lambda: tab.pane.sides.current() == "request" and tab.pane.nothing.isVisible())
        assert tab.pane.nothing.title.text() == "Another body, 99 B"
        assert "\n\n(99 B, no longer stored)\n" in await copied(shown, tab)


async def copied(shown: PageDesk, tab: DeliveriesTab) -> str:
    """Request and response as text, once all of the request is shown: showing it again would cancel copying."""
    await until(lambda: not shown.desk.tasks.running())
    clipboard = QGuiApplication.clipboard()
    clipboard.clear()
    tab.pane.copy_text.click()
    await until(clipboard.text)
    return clipboard.text()


async def test_a_response_is_copied_as_the_text_that_it_is(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        for number, (body, text) in enumerate(
            (
                ("Größe".encode("latin-1"), "Größe"),
                (b"\x89PNG\0\0", "(6 B of binary data)"),
                (b"a" + "é".encode() * 200_000, "a" + "é" * (2**17 - 1) + "\n(cut after 256 KiB)"),
            ),
            start=1,
        ):
            await finish(shown.desk.store, delivery, DeliveryState.FAILED, attempt(delivery, number), body=body)
            await until(lambda number=number: tab.pane.title.text().startswith(f"Attempt {number} of"))
            assert (await copied(shown, tab)).endswith(f"\n\n{text}")


async def test_a_waiting_delivery_says_when_the_next_attempt_comes(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        assert words(tab)[-1] == "First attempt now"
        due = now_us() + 3_600 * SECOND
        made = [attempt(delivery, 1, **NO_CONNECTION), attempt(delivery, 2, **NO_CONNECTION)]
        await finish(shown.desk.store, delivery, DeliveryState.QUEUED, *made, due_at=due)
        await until(lambda: len(words(tab)) == 4)
        assert words(tab)[0].startswith("Waiting, 2 attempts")
        assert words(tab)[-1].startswith("Retry 2 of 4 in ")
        target_id = delivery.target_id or 0
        await shown.desk.store.targets.pause(target_id)
        await until(lambda: words(tab)[0].startswith("Paused"))
        assert words(tab)[-1] == "Target is paused"
        choose(tab, len(words(tab)) - 1)
        assert tab.pane.retry.text() == "Send now"
        assert not tab.pane.retry.isEnabled()
        assert "target is paused" in tab.pane.retry.toolTip()
        assert tab.notice.text() == "This target is paused. Deliveries wait until you resume it."
        tab.resume.click()
        await until(lambda: not tab.resume.isVisible())
        target = shown.desk.store.targets.by_id(target_id)
        assert target is not None
        assert target.paused is None


async def test_only_failed_deliveries_to_targets_can_be_retried(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, capture, delivery):
        store = shown.desk.store
        assert not tab.pane.retry.isVisible()
        replay = Delivery(
            id="00000000-0000-7000-8000-00000000000a",
            capture_id=capture.id,
            endpoint_id=capture.endpoint_id,
            url="http://127.0.0.1:9/other",
            state=DeliveryState.QUEUED,
            queued_at=1,
            replay_id="00000000-0000-7000-8000-00000000000b",
        )
        await store.deliveries.add_replay(replay)
        again = attempt(replay, trigger=AttemptTrigger.REPLAY, **STATUS_500)
        await finish(store, replay, DeliveryState.FAILED, again)
        await finish(store, delivery, DeliveryState.FAILED, attempt(delivery, **STATUS_500))
        await until(lambda: len(words(tab)) == 4 and words(tab)[0].startswith("Failed"))
        choose(tab, 3)
        assert tab.pane.retry.isVisible()
        assert (tab.pane.retry.isEnabled(), tab.pane.retry.toolTip()) == (
            False,
            "It is part of a replay. Replay the request again instead.",
        )
        choose(tab, 1)
        assert tab.pane.retry.isEnabled()
        tab.pane.retry.click()
        await until(lambda: words(tab)[2:3] == ["Next attempt now"])
        assert not tab.pane.retry.isVisible()
        row = shown.model.row_of(capture.id)
        assert row is not None
        assert shown.model.summary(row).delivery is DeliveryState.QUEUED


def open_menu(tab: DeliveriesTab) -> dict[str, QAction]:
    """The context menu of the current row, as a key opens it: its entries by their text."""
    asked = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(-1, -1), QPoint(-1, -1))
    QApplication.sendEvent(tab.list.viewport(), asked)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    row = tab.list.visualRect(tab.list.currentIndex())
    assert menu.pos() == tab.list.viewport().mapToGlobal(row.bottomLeft())
    assert menu.toolTipsVisible(), "they say why a delivery cannot be sent"
    return {action.text(): action for action in menu.actions() if action.text()}


def close_menu() -> None:
    menu = QApplication.activePopupWidget()
    assert menu is not None
    menu.close()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
async def test_the_menu_of_a_row_sends_and_copies(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        store, clipboard, both = shown.desk.store, QGuiApplication.clipboard(), "Copy request and response as text"
        await store.targets.pause(delivery.target_id or 0)
        await until(lambda: words(tab)[0].startswith("Paused"))
        menu = open_menu(tab)
        assert list(menu) == ["Send now", "Copy URL", both]
        assert not menu["Send now"].isEnabled()
        assert "target is paused" in menu["Send now"].toolTip()
        assert not menu[both].isEnabled(), "nothing was sent yet"
        menu["Copy URL"].trigger()
        assert clipboard.text() == tab.pane.url.text()
        close_menu()
        await store.targets.resume(delivery.target_id or 0)
        due = now_us() + 3_600 * SECOND
        await finish(store, delivery, DeliveryState.QUEUED, attempt(delivery, **STATUS_500), due_at=due)
        await until(lambda: words(tab)[-1].startswith("Retry 1 of 4 in "))
        menu = open_menu(tab)
        menu[both].trigger()
        await until(lambda: clipboard.text().startswith(f"POST {tab.pane.url.text()}\n"))
        menu["Send now"].trigger()
        close_menu()
        await until(lambda: words(tab)[-1] == "Retry 1 of 4 now")
        (waiting,) = await store.deliveries.of_capture(delivery.capture_id)
        await finish(store, waiting, DeliveryState.FAILED, attempt(waiting, **STATUS_500))
        await until(lambda: words(tab)[0].startswith("Failed"))
        open_menu(tab)["Retry"].trigger()
        close_menu()
        await until(lambda: words(tab)[-1] == "Next attempt now")


async def test_what_is_chosen_stays_when_another_attempt_is_made(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        store = shown.desk.store
        made = [attempt(delivery, number, **STATUS_500) for number in range(1, 41)]
        await finish(store, delivery, DeliveryState.QUEUED, *made, due_at=now_us() + SECOND)
        await until(lambda: len(words(tab)) == 42)
        assert tab.pane.title.text().startswith("Attempt 40 of 40")
        choose(tab, 3)
        press(tab.pane.sides, "Request")
        tab.list.verticalScrollBar().setValue(50)
        (waiting,) = await store.deliveries.of_capture(delivery.capture_id)
        await finish(store, waiting, DeliveryState.DELIVERED, attempt(delivery, 41))
        await until(lambda: words(tab)[0].startswith("Delivered"))
        assert tab.pane.title.text().startswith("Attempt 3 of 41")
        assert tab.pane.sides.current() == "request"
        assert tab.list.verticalScrollBar().value() == 50
        choose(tab, 0)
        assert tab.pane.title.text().startswith("Attempt 41 of 41")


async def test_the_attempt_that_is_shown_is_in_view_unless_the_user_chose_another(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, capture, delivery):
        made = [attempt(delivery, number) for number in range(1, 31)]
        await finish(shown.desk.store, delivery, DeliveryState.FAILED, *made)
        await until(lambda: len(words(tab)) == 31)
        other = await shown.add()
        for _ in range(2):
            shown.page.open_request(other.id)
            await until(lambda: not words(tab))
            shown.page.open_request(capture.id)
            await until(lambda: len(words(tab)) == 31)
            assert tab.list.viewport().rect().contains(tab.list.visualRect(tab.list.currentIndex()))
        await finish(shown.desk.store, delivery, DeliveryState.FAILED, *made, attempt(delivery, 31))
        await until(lambda: len(words(tab)) == 32)
        assert tab.list.current_row() == 31
        assert tab.list.viewport().rect().contains(tab.list.visualRect(tab.list.currentIndex()))
        choose(tab, 2)
        tab.list.verticalScrollBar().setValue(0)
        await finish(shown.desk.store, delivery, DeliveryState.FAILED, *made, attempt(delivery, 32))
        await until(lambda: len(words(tab)) == 33)
        assert (tab.list.current_row(), tab.list.verticalScrollBar().value()) == (2, 0)


async def test_an_interrupted_attempt_says_what_that_means(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        cut = attempt(delivery, status=None, failure=FailureKind.INTERRUPTED, ms=0.0, error="Cut.")
        await finish(shown.desk.store, delivery, DeliveryState.QUEUED, cut, round_attempts=0)
        await until(lambda: len(words(tab)) == 3)
        assert words(tab)[1:] == ["Attempt 1 of 1, forwarded: Interrupted", "Next attempt now"]
        assert tab.pane.nothing.text.text() == INTERRUPTED_MEANS
        assert not tab.pane.sides.isVisible()
        assert not tab.pane.timing.isVisible()


async def test_a_body_that_comes_late_does_not_replace_why_there_is_none(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        sent = attempt(delivery, 1, **NO_CONNECTION)
        cut = attempt(delivery, 2, status=None, failure=FailureKind.INTERRUPTED, ms=0.0, error="Cut.")
        await finish(shown.desk.store, delivery, DeliveryState.FAILED, sent, cut)
        await until(lambda: len(words(tab)) == 3 and tab.pane.nothing.isVisible())
        choose(tab, 1)
        choose(tab, 2)
        await until(lambda: not shown.desk.tasks.running())
        await settle()
        assert tab.pane.nothing.text.text() == INTERRUPTED_MEANS
        assert tab.pane.nothing.isVisible()


@pytest.mark.usefixtures("each_font")
async def test_a_request_that_was_not_sent_says_why_in_full(tmp_path: Path) -> None:
    async with open_page(tmp_path, forward_url="http://127.0.0.1:9/hook") as shown:
        shown.page.resize(690, 512)
        capture = await shown.desk.capture(shown.endpoint)
        (delivery,) = await shown.desk.store.deliveries.of_capture(capture.id)
        error = NOT_SENT.replace("/../", "/../" + 30 * "long/")
        await not_sent(shown.desk.store, delivery, error)
        shown.page.open_request(capture.id)
        tab = shown.detail.view.deliveries
        await until(lambda: words(tab))
        shown.detail.tabs.setCurrentIndex(DELIVERIES)
        await until(lambda: words(tab)[1:] == ["Attempt 1 of 1: Not sent"])
        assert words(tab)[0].startswith("Not sent, http")
        text = tab.pane.nothing.text
        assert text.text() == error
        await settle()
        assert text.height() >= text.heightForWidth(text.width())
        assert not tab.pane.reason.isVisible()
        assert not tab.pane.timing.isVisible()


async def test_an_attempt_whose_response_made_room_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        made = attempt(delivery, response_headers=(("X-A", "1"),))
        await finish(shown.desk.store, delivery, DeliveryState.DELIVERED, made, body=b"fine")
        shown.desk.store.limits.set_response_limit(1)
        await until(lambda: shown.desk.store._eviction._worker.is_idle)
        await shown.reload()
        shown.detail.show_deliveries(delivery.capture_id)
        await until(lambda: tab.pane.nothing.title.text() == "The response was removed")
        assert tab.pane.nothing.text.text() == RESPONSE_REMOVED
        assert (await copied(shown, tab)).endswith(f"HTTP/1.1 200\n\n({RESPONSE_REMOVED})")
        assert "response removed" in tab.pane.facts.text()


async def test_deliveries_to_several_targets_and_replays_are_listed_apart(tmp_path: Path) -> None:
    async with open_page(tmp_path, forward_url="http://127.0.0.1:9/one") as shown:
        store = shown.desk.store
        await store.targets.create(shown.endpoint.id, TargetDraft(url="http://127.0.0.1:9/two"))
        endpoint = store.endpoints.by_id(shown.endpoint.id)
        assert endpoint is not None
        capture = await shown.desk.capture(endpoint, target="/catch/x")
        shown.detail.show_deliveries_next(capture.id)
        shown.page.open_request(capture.id)
        tab = shown.detail.view.deliveries
        await until(lambda: len(words(tab)) == 4)
        assert [line.rpartition("/")[2] for line in words(tab)[::2]] == ["one", "two"]
        assert shown.detail.tabs.tabText(DELIVERIES) == "Deliveries 2"


@pytest.mark.parametrize("forwards", [False, True])
async def test_a_request_without_deliveries_says_why(tmp_path: Path, forwards: bool) -> None:
    url = "http://127.0.0.1:9/" if forwards else None
    async with open_page(tmp_path, forward_url=url) as shown:
        sent = await shown.add()
        shown.detail.show_deliveries_next(sent.id)
        shown.page.open_request(sent.id)
        empty = shown.detail.view.deliveries.empty
        await until(empty.isVisible)
        assert ("when this request arrived" in empty.text.text()) == forwards
        if not forwards:
            await shown.desk.store.targets.create(shown.endpoint.id, TargetDraft(url="http://127.0.0.1:9/"))
            await until(lambda: "when this request arrived" in empty.text.text())


async def test_nothing_of_a_request_is_shown_with_another(tmp_path: Path) -> None:
    async with opened(tmp_path) as (shown, tab, _, delivery):
        await finish(shown.desk.store, delivery, DeliveryState.FAILED, attempt(delivery, **STATUS_500))
        await until(lambda: len(words(tab)) == 2)
        second = await shown.desk.capture(shown.endpoint, target="/catch/x/second")
        visible: list[bool] = []
        shown.detail.opened.connect(lambda _: visible.append(tab.pane.isVisible()))
        shown.detail.show_deliveries_next(second.id)
        shown.page.open_request(second.id)
        await until(lambda: visible and tab.pane.isVisible())
        assert visible == [False]
        assert tab.pane.title.text() == "Nothing sent yet"
        await settle()
        assert tab.pane.nothing.isVisible()


async def test_the_deliveries_of_a_request_that_is_not_open_are_shown_as_it_opens(tmp_path: Path) -> None:
    async with open_page(tmp_path, forward_url="http://127.0.0.1:9/hook") as shown:
        capture = await shown.desk.capture(shown.endpoint)
        await until(lambda: shown.detail.capture is not None)  # the first request of an empty list opens by itself
        shown.detail.clear()
        shown.detail.show_deliveries(capture.id)
        await until(lambda: shown.detail.capture is not None)
        assert shown.detail.tabs.currentIndex() == DELIVERIES
