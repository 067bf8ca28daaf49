"""The page of deliveries: what it lists, how it follows changes, and what can be done with a row."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace
from peewee import Database
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QScrollArea, QWidget

from app.core.clock import DAY_US, now_us
from app.core.delivery import Delivery, DeliveryFilter, no_retry
from app.core.events import DeliveriesQueued, Event
from app.core.ids import uuid7_us
from app.core.model import DeliveryState, Endpoint
from app.core.text import clock_time, count_of, day_text, exact_time
from app.ui.deliveries import commands as commands_module
from app.ui.deliveries import page as page_module
from app.ui.deliveries import table as table_module
from app.ui.deliveries.page import BESIDE_TEXT, DeliveriesPage
from app.ui.deliveries.table import (
    DETAIL,
    DURATION,
    ENDPOINT,
    METHOD,
    REQUEST,
    STATE,
    STATUS,
    TARGET,
    DeliveryModel,
    DeliveryPager,
    DeliveryTable,
)
from app.ui.deliveries.table import QUEUED as QUEUED_COLUMN
from app.ui.inspector.request_view import DELIVERIES
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import ALL_DELIVERIES, DASHBOARD
from app.ui.theme.metrics import ICON
from app.ui.widgets.dialog import Question
from tests.deliveries import NOT_SENT, REFUSED, STATUS_500, expired, fail_replay, finish, not_sent
from tests.factories import attempt, updated
from tests.support import while_read
from tests.ui.desk import Desk, open_desk, shown
from tests.ui.drawn import drawn
from tests.ui.waiting import settle, until, wait_for_widget

pytestmark = pytest.mark.smoke

DELIVERED, FAILED, QUEUED = DeliveryState.DELIVERED, DeliveryState.FAILED, DeliveryState.QUEUED


async def deliver(desk: Desk, endpoint: Endpoint, state: DeliveryState = DELIVERED, **fields: object) -> Delivery:
    """A captured request and its delivery in this state."""
    capture = await desk.capture(endpoint, **fields)
    (delivery,) = await desk.store.deliveries.of_capture(capture.id)
    if state is QUEUED:
        return delivery
    made = attempt(delivery, **(STATUS_500 if state is FAILED else {}))
    return await finish(desk.store, delivery, state, made)


async def forwarding(desk: Desk, **fields: object) -> Endpoint:
    return await desk.endpoint(**{"forward_url": "http://127.0.0.1:9/hook", **fields})


async def open_with(window: MainWindow, rows: int) -> None:
    window.enter_page(ALL_DELIVERIES)
    await until(lambda: window.deliveries.pager.ready and window.deliveries.model.rowCount() == rows)


def states(window: MainWindow) -> list[str]:
    model = window.deliveries.model
    return [str(model.index(row, STATE).data()) for row in range(model.rowCount())]


class TestRows:
    async def test_a_request_without_a_path_is_named_by_its_event_or_gist(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await forwarding(desk)
        for fields in ({"gist": "JSON · id"}, {"gist": "JSON · id", "event": "invoice.paid"}, {}):
            await deliver(desk, endpoint, target="/catch/x", **fields)
        await open_with(window, 3)
        model = window.deliveries.model
        assert [model.index(row, REQUEST).data() for row in range(3)] == ["/", "invoice.paid", "JSON · id"]

    async def test_what_was_deleted_before_it_was_sent_is_listed_with_the_reason(
        self, desk: Desk, window: MainWindow
    ) -> None:
        endpoint = await forwarding(desk)
        await open_with(window, 0)
        await expired(desk.store, endpoint, 2)
        await open_with(window, 2)
        model = window.deliveries.model
        await until(lambda: states(window) == ["Not sent"] * 2)  # the list may have been read before the purge
        assert (model.index(0, METHOD).data(), model.index(0, REQUEST).data()) == ("POST", "/orders")
        tooltip = str(model.index(0, DETAIL).data(Qt.ItemDataRole.ToolTipRole))
        assert tooltip.replace("\n", " ").endswith("deleted before it was sent: its retention ended.")
        assert no_retry(model.record(0), model.target(model.record(0))) == "Its request was deleted."
        (message,) = desk.messages.waiting()
        assert message.text == "2 requests were deleted before they were sent."
        await expired(desk.store, endpoint, 1)
        await until(lambda: desk.messages.waiting()[0].text.startswith("3 requests"))
        desk.messages.withdraw(message.key)

    async def test_a_row_says_what_went_where_and_what_came_back(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await forwarding(desk, name="Billing")
        await deliver(desk, endpoint, FAILED, target="/catch/x/orders/7?a=1", method="PUT")
        await deliver(desk, endpoint, QUEUED)
        await open_with(window, 2)
        model = window.deliveries.model
        assert states(window) == ["Waiting", "Failed"]
        failed = {column: model.index(1, column).data() for column in range(DETAIL + 1)}
        assert failed[ENDPOINT] == "Billing"
        assert (failed[METHOD], failed[REQUEST]) == ("PUT", "/orders/7")
        assert (failed[TARGET], failed[STATUS]) == ("127.0.0.1:9/hook", "500")
        assert failed[DETAIL] == "Internal Server Error"
        columns = (STATE, REQUEST, TARGET, STATUS, DETAIL)
        assert [model.index(1, column).data(Qt.ItemDataRole.ToolTipRole) for column in columns] == [
            "Failed",
            "PUT /catch/x/orders/7?a=1",
            "http://127.0.0.1:9/hook/orders/7?a=1",
            "500 Internal Server Error",
            "The target responded with 500.",
        ]
        assert model.index(0, DETAIL).data() == "First attempt now"
        await until(lambda: window.deliveries.count.text() == "2 deliveries")
        seen, tokens = drawn(window.deliveries.table.viewport()), desk.theme.tokens
        assert {"Billing", "PUT", "/orders/7", "POST"} <= set(seen.words)
        assert (seen.text("Failed").colour, seen.text("Waiting").colour) == (tokens.danger, tokens.warning)
        for icon, colour, words in (("failed", "danger", "Failed"), ("queued", "warning", "Waiting")):
            (picture,) = (one for one in seen.pictures if one.shows(desk.theme.pixmap(icon, colour, ICON, 1.0)))
            assert picture.rect.right() < seen.text(words).at.x()
            assert picture.rect.top() < seen.text(words).at.y() < picture.rect.bottom()

    async def test_a_paused_target_shows_at_its_waiting_deliveries(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await forwarding(desk)
        await deliver(desk, endpoint, QUEUED)
        await open_with(window, 1)
        await desk.store.targets.pause(endpoint.targets[0].id)
        await until(lambda: states(window) == ["Paused"])
        assert window.deliveries.model.index(0, DETAIL).data() == "Target is paused"
        tip = window.deliveries.model.index(0, STATE).data(Qt.ItemDataRole.ToolTipRole)
        assert tip == "This target is paused. Deliveries wait until you resume it."

    async def test_what_waits_is_painted_again_as_its_time_passes(
        self, desk: Desk, window: MainWindow, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.ui.throttle.TICK_MS", 20)
        endpoint = await forwarding(desk)
        waiting = await deliver(desk, endpoint, QUEUED)
        await deliver(desk, endpoint)
        await open_with(window, 2)
        counter = EventCounter(window.deliveries.table.viewport(), QEvent.Type.Paint)
        await until(lambda: counter.events > 5)
        await finish(desk.store, waiting, DELIVERED, attempt(waiting))
        await until(lambda: states(window) == ["Delivered"] * 2)
        await settle(20)
        counter.events = 0
        await settle(60)  # longer than three ticks
        assert counter.events == 0

    async def test_all_columns_fit(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await forwarding(desk)
        for _ in range(40):
            await deliver(desk, endpoint, FAILED, target="/catch/x/" + "long" * 60)
        table = window.deliveries.table
        for width in (960, 1366, 1920):
            window.show_page(DASHBOARD)
            window.resize(width, 720)
            await open_with(window, 40)
            await settle(10)
            widths = [0 if table.isColumnHidden(at) else table.columnWidth(at) for at in range(DETAIL + 1)]
            assert sum(widths) <= table.viewport().width()
            assert widths[REQUEST] >= 120
            assert widths[DETAIL] >= 120

    @pytest.mark.parametrize(("width", "fits"), [(894, "Nothing is listening"), (1366, REFUSED[:20]), (1920, REFUSED)])
    @pytest.mark.usefixtures("each_font")
    async def test_the_details_have_the_room_that_requests_and_targets_leave(
        self, width: int, fits: str, desk: Desk, window: MainWindow
    ) -> None:
        endpoint = await forwarding(desk, forward_url="http://127.0.0.1:9/webhooks/stripe")
        capture = await desk.capture(endpoint, target="/catch/x/11")
        (delivery,) = await desk.store.deliveries.of_capture(capture.id)
        refused = attempt(delivery, status=None, error=REFUSED)
        await finish(desk.store, delivery, FAILED, refused, next_step="Gave up.")
        window.resize(width, 768)
        await open_with(window, 1)
        await settle(10)
        table, model = window.deliveries.table, window.deliveries.model
        details = model.index(0, DETAIL)
        assert details.data() == details.data(Qt.ItemDataRole.ToolTipRole) == f"{REFUSED} Gave up."
        assert table.fontMetrics().horizontalAdvance(fits) <= table.columnWidth(DETAIL) - 16
        for column in (REQUEST, TARGET) if width > 1000 else (REQUEST,):
            needed = table.fontMetrics().horizontalAdvance(model.index(0, column).data())
            assert needed <= table.columnWidth(column) - 16
        await deliver(desk, endpoint, FAILED)
        before = [table.columnWidth(column) for column in range(DETAIL + 1)]
        for _ in range(30):
            await deliver(desk, endpoint, FAILED, target="/catch/x/" + "long" * 20)
        await until(lambda: model.rowCount() == 32)
        await settle(10)
        assert [table.columnWidth(column) for column in range(DETAIL)] == before[:-1]
        window.show_page(DASHBOARD)
        await open_with(window, 32)
        await until(lambda: table.columnWidth(REQUEST) > before[REQUEST])

    @pytest.mark.parametrize("width", [1280, 1366])
    @pytest.mark.usefixtures("each_font")
    async def test_what_tells_deliveries_apart_is_shared_the_room_before_the_details(
        self, width: int, desk: Desk, window: MainWindow
    ) -> None:
        endpoint = await forwarding(desk, name="Shop", forward_url="https://hooks.example.org/" + "long/" * 9)
        capture = await desk.capture(endpoint, target="/catch/x/" + "long/" * 20)
        (delivery,) = await desk.store.deliveries.of_capture(capture.id)
        await finish(desk.store, delivery, FAILED, attempt(delivery, status=None, error=REFUSED))
        window.resize(width, 768)
        await open_with(window, 1)
        await settle(10)
        table = window.deliveries.table
        assert table.columnWidth(ENDPOINT) <= 84
        assert table.isColumnHidden(DURATION)
        widths = [table.columnWidth(column) for column in (REQUEST, TARGET, DETAIL)]
        assert max(widths) - min(widths) <= 20  # the details also have the place of a scroll bar that is not there
        await desk.store.endpoints.update(endpoint.id, replace(endpoint.draft(), name="Shop " * 9))
        window.show_page(DASHBOARD)
        await open_with(window, 1)
        await until(lambda: table.columnWidth(ENDPOINT) == 128)

    async def test_rows_show_when_they_were_queued_in_that_order(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await forwarding(desk)
        first = await deliver(desk, endpoint, QUEUED)
        await deliver(desk, endpoint, QUEUED)
        late = first.queued_at + 3_600_000_000  # its attempt is newer than all that was queued since
        await finish(desk.store, first, FAILED, attempt(first, started_at=late, **STATUS_500))
        await open_with(window, 2)
        model = window.deliveries.model
        assert model.headerData(QUEUED_COLUMN, Qt.Orientation.Horizontal) == "Queued"
        queued = [model.record(row).queued_at for row in range(2)]
        assert [model.index(row, QUEUED_COLUMN).data() for row in range(2)] == [
            clock_time(at)[:8] if day_text(at, now_us()) == "Today" else day_text(at, now_us()) for at in queued
        ]
        assert queued == sorted(queued, reverse=True)
        tip = model.index(1, QUEUED_COLUMN).data(Qt.ItemDataRole.ToolTipRole)
        assert tip == f"Queued {exact_time(first.queued_at)}\nLast attempt {exact_time(late)}"

    async def test_the_state_stands_level_with_the_other_cells(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await forwarding(desk, name="Delivered")
        for _ in range(2):
            await deliver(desk, endpoint)
        window.resize(1366, 768)
        await open_with(window, 2)
        await settle(10)
        table, model = window.deliveries.table, window.deliveries.model
        image = table.viewport().grab().toImage()
        bottoms = []
        for column, skipped in ((STATE, 34), (ENDPOINT, 8)):
            rect = table.visualRect(model.index(1, column)).adjusted(skipped, 0, 0, -1)
            empty = image.pixel(rect.topLeft())
            ink = [
                y
                for y in range(rect.top(), rect.bottom() + 1)
                if any(image.pixel(x, y) != empty for x in range(rect.left(), rect.right() + 1))
            ]
            bottoms.append(ink[-1])
        assert bottoms[0] == bottoms[1]

    async def test_without_deliveries_the_page_says_what_makes_some(self, desk: Desk, window: MainWindow) -> None:
        await open_with(window, 0)
        page = window.deliveries
        await until(page.empty.isVisible)
        assert page.empty.title.text() == "No deliveries yet"
        assert page.empty.button is not None
        assert not page.empty.button.isVisible()
        endpoint = await forwarding(desk)
        await deliver(desk, endpoint)
        await until(lambda: states(window) == ["Delivered"])
        page.filters.set_state(FAILED)
        await until(page.empty.button.isVisible)
        assert page.empty.title.text() == "No deliveries match"
        assert not page.table.isVisible()
        page.empty.button.click()
        await until(lambda: states(window) == ["Delivered"])
        await until(page.table.isVisible)

    async def test_without_deliveries_the_keyboard_is_on_what_is_shown(self, desk: Desk, window: MainWindow) -> None:
        await open_with(window, 0)
        await until(window.deliveries.empty.isVisible)
        window.enter_page(DASHBOARD)
        window.enter_page(ALL_DELIVERIES)
        await settle()
        focus = QApplication.focusWidget()
        assert focus is not None
        assert focus.isVisible()
        assert window.deliveries.isAncestorOf(focus)

    async def test_what_was_not_sent_has_its_reason_and_is_retried_only_when_selected(
        self, desk: Desk, window: MainWindow
    ) -> None:
        endpoint = await forwarding(desk)
        await deliver(desk, endpoint)
        await not_sent(desk.store, await deliver(desk, endpoint, QUEUED))
        await open_with(window, 2)
        page = window.deliveries
        page.filters.set_state(DeliveryState.NOT_SENT)
        await until(lambda: states(window) == ["Not sent"])
        assert page.model.index(0, DETAIL).data() == NOT_SENT
        assert not page.retry_button.isEnabled()
        page.table.selectRow(0)
        await until(page.retry_selected.isEnabled)
        page.retry_selected.click()
        await until(lambda: not states(window))

    async def test_what_waits_says_for_what_and_the_first_is_sent_now(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await forwarding(desk)
        first, _ = [await deliver(desk, endpoint, QUEUED) for _ in range(2)]
        due_at = now_us() + 3_600_000_000
        await finish(desk.store, first, QUEUED, attempt(first, **STATUS_500), due_at=due_at)
        await open_with(window, 2)
        page, send = window.deliveries, window.deliveries.commands.send_now
        older = clock_time(uuid7_us(first.capture_id))[:8]
        assert page.model.index(0, DETAIL).data() == f"Waits for the request of {older}, in order"
        page.table.selectRow(0)
        assert not send.isEnabled()
        assert "send that one now" in send.toolTip()
        page.table.selectRow(1)
        await until(send.isEnabled)
        send.trigger()
        await until(lambda: page.model.index(1, DETAIL).data().endswith("now"))
        await finish(desk.store, first, DELIVERED, attempt(first, 2))
        await until(lambda: page.model.index(0, DETAIL).data() == "First attempt now")


class TestFollowing:
    async def test_new_and_changed_deliveries_show_and_the_selection_stays(
        self, desk: Desk, window: MainWindow
    ) -> None:
        endpoint = await forwarding(desk)
        waiting = await deliver(desk, endpoint, QUEUED)
        await open_with(window, 1)
        page = window.deliveries
        page.table.selectRow(0)
        await deliver(desk, endpoint)
        await until(lambda: states(window) == ["Delivered", "Waiting"])
        await finish(desk.store, waiting, FAILED, attempt(waiting, **STATUS_500))
        await until(lambda: states(window) == ["Delivered", "Failed"])
        assert [one.id for one in page.table.selected()] == [waiting.id]
        await until(lambda: page.count.text() == "2 deliveries")
        await desk.store.captures.delete([waiting.capture_id])
        await until(lambda: states(window) == ["Delivered"])

    async def test_a_row_that_no_longer_matches_goes(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await forwarding(desk)
        failed = [await deliver(desk, endpoint, FAILED) for _ in range(2)]
        await open_with(window, 2)
        window.deliveries.filters.set_state(FAILED)
        await until(lambda: states(window) == ["Failed"] * 2)
        await desk.store.deliveries.retry(DeliveryFilter(delivery_ids=(failed[0].id,)))
        await until(lambda: states(window) == ["Failed"])
        await deliver(desk, endpoint, FAILED)
        await until(lambda: states(window) == ["Failed"] * 2)

    async def test_older_pages_are_read_as_the_user_scrolls(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(table_module, "PAGE", 60)
        monkeypatch.setattr(table_module, "CHECKED", 60)

        async with shown(tmp_path) as (desk, window):
            endpoint = await forwarding(desk)
            made = await asyncio.gather(*(deliver(desk, endpoint, QUEUED) for _ in range(150)))
            window.enter_page(ALL_DELIVERIES)
            page = window.deliveries
            await until(lambda: page.model.rowCount() >= 60)
            bar = page.table.verticalScrollBar()

            def at_end() -> bool:
                bar.setValue(bar.maximum())
                return page.pager.at_end

            await until(at_end)
            ids = [page.model.record(row).id for row in range(page.model.rowCount())]
            assert ids == [one.id for one in reversed(made)]
            await until(lambda: bar.maximum() > 1000)
            bar.setValue(1000)
            top = page.model.record(page.table.rowAt(0)).id
            await deliver(desk, endpoint)
            await until(lambda: page.model.rowCount() == 151)
            assert page.model.record(page.table.rowAt(0)).id == top

    async def test_what_came_while_another_page_was_shown_leaves_no_hole(
        self, desk: Desk, window: MainWindow, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(table_module, "PAGE", 2)
        monkeypatch.setattr(table_module, "CHECKED", 2)
        endpoint = await forwarding(desk)
        made = [await deliver(desk, endpoint)]
        await open_with(window, 1)
        window.show_page(DASHBOARD)
        made += [await deliver(desk, endpoint) for _ in range(5)]
        await open_with(window, 6)
        page = window.deliveries
        assert [page.model.record(row).id for row in range(6)] == [one.id for one in reversed(made)]
        monkeypatch.setattr(page_module, "MAX_ROWS", 5)
        await deliver(desk, endpoint)
        listed = "the newest 5 are listed, filter to see older ones"
        await until(lambda: page.count.text() == f"7 deliveries · {listed}")

    async def test_what_expired_while_another_page_was_shown_is_not_listed(
        self, desk: Desk, window: MainWindow, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(table_module, "PAGE", 3)
        endpoint = await forwarding(desk)
        expired_one = await deliver(desk, endpoint, received_at=now_us() - 100 * DAY_US)
        for _ in range(2):
            await deliver(desk, endpoint)
        await open_with(window, 3)
        window.show_page(DASHBOARD)
        await desk.store.retention.purge()
        newest = await deliver(desk, endpoint)
        model = window.deliveries.model
        window.show_page(ALL_DELIVERIES)
        await until(lambda: model.row_of(newest.id) == 0)
        await until(lambda: model.row_of(expired_one.id) is None)
        assert model.rowCount() == 3

    async def test_what_is_about_to_be_deleted_is_not_listed(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await forwarding(desk)
        made = [await deliver(desk, endpoint) for _ in range(3)]
        await open_with(window, 3)
        await window.services.deletes.delete([made[1].capture_id])
        await until(lambda: window.deliveries.model.rowCount() == 2)
        window.pending.undo()
        await until(lambda: window.deliveries.model.rowCount() == 3)

    @pytest.mark.parametrize(
        ("column", "event"),
        [
            ("gist", lambda name: updated(name, gist="Order 7")),
            ("event", lambda name: updated(name, provider="stripe", event="Order 7")),
        ],
    )
    async def test_what_is_found_out_of_a_request_later_names_it(
        self, column: str, event: Callable[[str], Event], desk: Desk, window: MainWindow
    ) -> None:
        endpoint = await forwarding(desk)
        waiting = await deliver(desk, endpoint, QUEUED, target="/catch/x", gist="JSON · id")
        await open_with(window, 1)

        def store(database: Database) -> None:
            database.connection().execute(f"UPDATE capture SET {column} = 'Order 7'")

        await desk.store._writer.run(store)
        desk.bus.publish(event(waiting.capture_id))
        await until(lambda: window.deliveries.model.index(0, REQUEST).data() == "Order 7")

    @pytest.mark.parametrize("state", [None, QUEUED])
    async def test_what_is_delivered_while_the_list_is_read_shows_so(
        self, state: DeliveryState | None, desk: Desk, window: MainWindow, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(table_module, "MERGE_MS", 20)
        endpoint = await forwarding(desk)
        first, second = [await deliver(desk, endpoint, QUEUED) for _ in range(2)]
        await open_with(window, 2)
        page, delivered = window.deliveries, [] if state is not None else ["Delivered"]

        async def ends(delivery: Delivery) -> None:
            await finish(desk.store, delivery, DELIVERED, attempt(delivery))

        happened = while_read(desk.store.deliveries, "page", partial(ends, first), limit=table_module.PAGE)
        page.filters.set_state(state)
        page.pager.show_filtered(page.filters.current())
        await until(lambda: happened() and states(window) == ["Waiting", *delivered])
        await until(lambda: page.count.text() == count_of(1 + len(delivered), "delivery", "deliveries"))
        happened = while_read(desk.store.deliveries, "page", partial(ends, second), limit=table_module.PAGE)
        await deliver(desk, endpoint, QUEUED)
        await until(lambda: happened() and states(window) == ["Waiting", *2 * delivered])

    async def test_what_is_delivered_while_older_ones_are_read_shows_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(table_module, "PAGE", 2)
        monkeypatch.setattr(table_module, "CHECKED", 2)
        async with open_desk(tmp_path) as desk:
            endpoint = await forwarding(desk)
            first, *_ = [await deliver(desk, endpoint, QUEUED) for _ in range(3)]
            window, endpoints, targets = QWidget(), desk.store.endpoints, desk.store.targets
            model = DeliveryModel(endpoints.by_id, targets.by_id, desk.theme, window)
            table = DeliveryTable(model, window)
            pager = DeliveryPager(model, table, desk.services, desk.tasks, table)
            pager.set_watched(True)
            await until(lambda: pager.ready)
            await deliver(desk, endpoint)  # the newest are read now, and again only after a pause
            await until(lambda: model.rowCount() == 3)

            async def ends() -> None:
                await finish(desk.store, first, DELIVERED, attempt(first))

            happened = while_read(desk.store.deliveries, "page", ends, before=model.oldest())
            pager.more()
            await until(lambda: happened() and pager.at_end)
            assert model.record(3).state is DELIVERED
            pager.set_watched(False)
            window.deleteLater()

    async def test_a_slow_store_is_read_to_the_end_while_deliveries_change(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(table_module, "MERGE_MS", 10)
        endpoint = await forwarding(desk)
        await deliver(desk, endpoint)
        page = desk.store.deliveries.page

        async def slow(which: DeliveryFilter, *, limit: int) -> list[Delivery]:
            await asyncio.sleep(0.1)
            return await page(which, limit=limit)

        monkeypatch.setattr(desk.store.deliveries, "page", slow)
        window, endpoints, targets = QWidget(), desk.store.endpoints, desk.store.targets
        model = DeliveryModel(endpoints.by_id, targets.by_id, desk.theme, window)
        table = DeliveryTable(model, window)
        pager = DeliveryPager(model, table, desk.services, desk.tasks, table)
        pager.set_watched(True)
        for _ in range(50):
            desk.services.bus.publish(DeliveriesQueued(target_ids=(), shown={}))
            await asyncio.sleep(0.01)
        assert pager.ready
        pager.set_watched(False)
        window.deleteLater()

    async def test_what_is_read_on_the_way_back_is_listed_though_older_ones_are_asked_for(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(table_module, "PAGE", 2)
        endpoint = await forwarding(desk)
        for _ in range(5):
            await deliver(desk, endpoint)
        window, endpoints, targets = QWidget(), desk.store.endpoints, desk.store.targets
        model = DeliveryModel(endpoints.by_id, targets.by_id, desk.theme, window)
        table = DeliveryTable(model, window)
        pager = DeliveryPager(model, table, desk.services, desk.tasks, table)
        pager.set_watched(True)
        await until(lambda: model.rowCount() == 2)
        pager.set_watched(False)
        await deliver(desk, endpoint, QUEUED)

        async def scrolls() -> None:
            pager.more()
            await settle()

        happened = while_read(desk.store.deliveries, "page", scrolls)
        pager.set_watched(True)
        await until(lambda: happened() and not desk.tasks.running())
        assert [one.state for one in model.records()][:2] == [QUEUED, DELIVERED]
        pager.more()
        await until(lambda: model.rowCount() >= 4)
        pager.set_watched(False)
        window.deleteLater()

    async def test_nothing_is_read_while_another_page_is_shown(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await forwarding(desk)
        await open_with(window, 0)
        window.show_page(DASHBOARD)
        await deliver(desk, endpoint)
        await settle(10)
        assert window.deliveries.model.rowCount() == 0
        await open_with(window, 1)


class TestFilters:
    async def test_endpoint_target_and_state_narrow_the_list(self, desk: Desk, window: MainWindow) -> None:
        one, two = await forwarding(desk, name="One"), await forwarding(desk, name="Two")
        await deliver(desk, one, FAILED)
        await deliver(desk, two)
        await open_with(window, 2)
        filters = window.deliveries.filters
        filters.endpoint.setCurrentIndex(filters.endpoint.findData(two.id))
        filters.endpoint.activated.emit(0)
        await until(lambda: states(window) == ["Delivered"])
        assert [filters.target.itemData(at) for at in range(filters.target.count())] == [None, two.targets[0].id]
        for place, listed in ((2, []), (1, ["Delivered"]), (2, [])):
            filters.replays.setCurrentIndex(place)
            filters.replays.activated.emit(place)
            await until(lambda listed=listed: window.deliveries.pager.ready and states(window) == listed)
        await desk.store.endpoints.delete(two.id)
        await until(lambda: filters.endpoint.currentData() is None)
        filters.reset.click()
        await until(lambda: states(window) == ["Failed"])
        assert not filters.reset.isVisible()

    @pytest.mark.usefixtures("each_font")
    async def test_each_filter_shows_its_words(self, desk: Desk, window: MainWindow) -> None:
        await deliver(desk, await forwarding(desk), FAILED)
        await open_with(window, 1)
        filters = window.deliveries.filters
        scrolling = window.pages.parentWidget().parentWidget()
        assert isinstance(scrolling, QScrollArea)
        # 894: 1366 pixels at 150 %, less the frame of a window
        for width, state in product((860, 894, 1366, 1920), (None, FAILED)):
            window.resize(width, 466)
            filters.set_state(state)
            await settle(10)
            for box in (filters.endpoint, filters.target, filters.replays):
                words, room = box.currentText(), box.width() - BESIDE_TEXT
                assert box.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, room) == words, width
                assert filters.rect().contains(box.geometry()), width
            assert filters.state.width() == filters.state.sizeHint().width(), width
            assert filters.reset.isVisible() == (state is FAILED)
            assert filters.rect().contains(filters.reset.geometry()), width
            two_lines = filters.endpoint.y() > filters.state.geometry().bottom()
            assert not (two_lines and width > 1000)
            assert scrolling.horizontalScrollBar().maximum() == 0, width

    async def test_filters_that_are_arranged_ask_for_no_other_layout(self, desk: Desk, window: MainWindow) -> None:
        await deliver(desk, await forwarding(desk))
        await open_with(window, 1)
        await settle(20)
        counter = EventCounter(window.deliveries.filters, QEvent.Type.LayoutRequest)
        await settle(20)
        assert counter.events == 0


class EventCounter(QObject):
    """Counts how often a widget gets an event of this type."""

    def __init__(self, widget: QWidget, kind: QEvent.Type) -> None:
        super().__init__(widget)
        self.events, self._kind = 0, kind
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.events += event.type() == self._kind
        return False


class TestCommands:
    async def test_the_selected_failed_deliveries_are_retried(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await forwarding(desk)
        for state in (FAILED, FAILED, DELIVERED):
            await deliver(desk, endpoint, state)
        await open_with(window, 3)
        page = window.deliveries
        page.table.selectRow(0)
        assert page.commands.retry.reason.startswith("Only a delivery that failed or was not sent can be retried")
        assert not page.retry_selected.isVisible()
        page.table.selectAll()
        assert page.retry_selected.text() == "Retry 2 deliveries"
        assert page.count.text() == "3 deliveries · 3 selected"
        page.retry_selected.click()
        await until(lambda: states(window) == ["Delivered", "Waiting", "Waiting"])
        await until(window.toast.isVisible)

    async def test_all_that_match_are_counted_and_many_only_retried_after_a_question(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(commands_module, "ASKED_FROM", 1)

        async with shown(tmp_path) as (desk, window):
            one, two = await forwarding(desk), await forwarding(desk)
            for endpoint in (one, one, two):
                await deliver(desk, endpoint, FAILED)
            await open_with(window, 3)
            page = window.deliveries
            page.filters.endpoint.setCurrentIndex(page.filters.endpoint.findData(one.id))
            page.filters.endpoint.activated.emit(1)
            await until(lambda: len(states(window)) == 2)
            for confirmed in (False, True):
                await until(page.retry_button.isEnabled)
                page.retry_button.click()
                await until(lambda: [box for box in window.findChildren(Question) if box.isVisible()])
                (question,) = [box for box in window.findChildren(Question) if box.isVisible()]
                assert question.title.text() == "Retry 2 deliveries?"
                (question.confirm if confirmed else question.cancel).click()
                await until(lambda: not [box for box in window.findChildren(Question) if box.isVisible()])
                expected = ["Waiting" if confirmed else "Failed"] * 2
                await until(lambda expected=expected: states(window) == expected)
            assert await desk.store.deliveries.count(DeliveryFilter(state=FAILED)) == 1
            page.filters.set_state(DELIVERED)
            assert not page.retry_button.isEnabled()

    async def test_nothing_that_failed_is_nothing_to_retry_and_the_command_says_so(
        self, desk: Desk, window: MainWindow
    ) -> None:
        retry = window.delivery_commands.retry_all
        await until(lambda: retry.reason == "No delivery has failed.")
        one, two = await forwarding(desk), await forwarding(desk)
        await deliver(desk, one, DELIVERED)
        failed = await deliver(desk, two, FAILED)
        await until(retry.isEnabled)
        await open_with(window, 2)
        filters, button = window.deliveries.filters, window.deliveries.retry_button
        assert button.isEnabled()
        filters.endpoint.setCurrentIndex(filters.endpoint.findData(one.id))
        filters.endpoint.activated.emit(1)
        await until(lambda: not button.isEnabled())
        assert button.toolTip() == "No failed delivery matches the filter."
        of_one = {target.id for target in one.targets}
        assert {filters.target.itemData(at) for at in range(filters.target.count())} == {None, *of_one}
        filters.clear()
        of_both = of_one | {target.id for target in two.targets}
        assert {filters.target.itemData(at) for at in range(filters.target.count())} == {None, *of_both}
        await until(button.isEnabled)
        await finish(desk.store, failed, DELIVERED, attempt(failed, 2))
        await until(lambda: not button.isEnabled())
        assert button.toolTip() == "No delivery has failed."

    async def test_failed_replays_are_not_said_to_be_none(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await desk.endpoint()
        failed = await fail_replay(desk.store, await desk.capture(endpoint))
        await open_with(window, 1)
        button = window.deliveries.retry_button
        await until(lambda: button.toolTip() == "Replays are not retried. Replay the requests again.")
        assert not button.isEnabled()
        await desk.store.captures.delete([failed.capture_id])
        await until(lambda: button.toolTip() == "No delivery has failed.")

    async def test_the_palette_retries_what_is_listed_and_all_from_another_page(
        self, desk: Desk, window: MainWindow
    ) -> None:

        def question() -> Question | None:
            return next((box for box in window.findChildren(Question) if box.isVisible()), None)

        async def retry_from_palette() -> None:
            QTest.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
            await until(window.commands.palette.isVisible)
            QTest.keyClicks(window.commands.palette.field, "retry all")
            QTest.keyClick(window.commands.palette.field, Qt.Key.Key_Return)

        one, two = await forwarding(desk), await forwarding(desk)
        for endpoint in (one, two):
            await deliver(desk, endpoint, FAILED)
        await open_with(window, 2)
        filters = window.deliveries.filters
        filters.endpoint.setCurrentIndex(filters.endpoint.findData(one.id))
        filters.endpoint.activated.emit(1)
        await until(lambda: len(states(window)) == 1)
        await until(window.delivery_commands.retry_all.isEnabled)
        await retry_from_palette()
        await until(lambda: states(window) == ["Waiting"])
        filters.set_state(DELIVERED)
        window.enter_page(DASHBOARD)
        await until(window.delivery_commands.retry_all.isEnabled)
        await retry_from_palette()
        await until(question)
        asked = question()
        assert asked is not None
        assert asked.title.text() == "Retry 1 delivery?"
        assert asked.text.text().startswith("1 delivery failed in all endpoints together.")
        asked.confirm.click()
        await until(lambda: not question())
        which = DeliveryFilter(state=QUEUED)
        window.enter_page(ALL_DELIVERIES)
        filters.set_state(QUEUED)
        filters.clear()
        await until(lambda: states(window) == ["Waiting"] * 2)
        assert await desk.store.deliveries.count(which) == 2

    async def test_the_palette_retries_all_before_the_page_is_shown(self, desk: Desk, window: MainWindow) -> None:
        await deliver(desk, await forwarding(desk), FAILED)
        (retry,) = [one for one in window.commands.registry.all() if one.name == "Retry all failed deliveries…"]
        await until(retry.isEnabled)
        retry.trigger()
        question = await wait_for_widget(Question, window)
        question.confirm.click()
        failed = DeliveryFilter(state=FAILED)
        while await desk.store.deliveries.count(failed):
            await settle()
        await until(window.toast.isVisible)
        assert window.findChildren(DeliveriesPage) == []

    async def test_enter_opens_the_request_with_its_deliveries(self, desk: Desk, window: MainWindow) -> None:
        delivery = await deliver(desk, await forwarding(desk))
        await open_with(window, 1)
        window.deliveries.table.selectRow(0)
        QTest.keyClick(window.deliveries.table, Qt.Key.Key_Return)
        detail = window.requests.detail
        await until(lambda: detail.capture is not None and detail.capture.id == delivery.capture_id)
        assert detail.tabs.currentIndex() == DELIVERIES
        assert window.requests.endpoint_id == delivery.endpoint_id

    @pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
    async def test_rows_are_copied_and_the_menu_fits_the_selection(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await forwarding(desk)
        _, newest = [await deliver(desk, endpoint, target="/catch/x/a") for _ in range(2)]
        await open_with(window, 2)
        page = window.deliveries
        page.table.selectRow(0)
        menu = page.commands.menu(page.table.selected())
        verbs = [one.text().partition("\t")[0] for one in menu.actions() if not one.isSeparator()]
        assert verbs == ["Open request", "Retry", "Send now", "Copy target URL", "Copy row"]
        asked = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(-1, -1), QPoint(-1, -1))
        QApplication.sendEvent(page.table, asked)
        popup = QApplication.activePopupWidget()
        assert isinstance(popup, QMenu)
        assert [one.text() for one in popup.actions()] == [one.text() for one in menu.actions()]
        popup.close()
        page.commands.copy_url.trigger()
        assert QGuiApplication.clipboard().text() == "http://127.0.0.1:9/hook/a"
        page.table.selectAll()
        page.commands.copy_row.trigger()
        rows = QGuiApplication.clipboard().text().splitlines()
        assert len(rows) == 2
        assert rows[0].split("\t")[:4] == [exact_time(newest.queued_at), "Delivered", endpoint.name, "POST"]

    async def test_the_key_shows_the_page_and_it_is_shown_again_at_the_next_start(self, tmp_path: Path) -> None:
        async with shown(tmp_path) as (_, window):
            QTest.keySequence(window, "Ctrl+Shift+D")
            await until(window.deliveries.isVisible)
            await until(window.deliveries.empty.isVisible)
            assert window.deliveries.isAncestorOf(window.focusWidget())
            QTest.keyClick(window, Qt.Key.Key_Home)  # or Ctrl would count as held
        async with shown(tmp_path) as (_, window):
            assert window.deliveries.isVisible()
