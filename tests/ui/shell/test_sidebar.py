"""The sidebar's endpoints: keys, filter, order, and what is seen of many."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QAccessible, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.core.events import StorageTrouble
from app.core.model import DeliveryState, Plan
from app.core.worst_state import State
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.shell import endpoint_list
from app.ui.shell.endpoint_list import OFFERED_ABOVE, DropLine
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import ALL_REQUESTS, REFUSED, StatusDot
from app.ui.shell.sidebar_rows import EndpointRow, SidebarRow
from app.ui.theme import metrics
from app.ui.widgets.dialog import Question
from app.ui.widgets.fields import Switch
from tests import factories
from tests.ui.desk import Desk, shown
from tests.ui.drawn import drawn
from tests.ui.on_screen import on_screen
from tests.ui.waiting import settle, until, wait_for_widget

pytestmark = pytest.mark.smoke


def press(window: MainWindow, *keys: str) -> None:
    """Wherever the keyboard is."""
    for key in keys:
        QTest.keySequence(window.focusWidget() or window, QKeySequence(key))


def ids_of(desk: Desk) -> list[int]:
    return [endpoint.id for endpoint in desk.store.endpoints.all()]


def order_of(window: MainWindow) -> list[int]:
    """The endpoints as the sidebar lists them, from top to foot."""
    rows = window.sidebar.findChildren(EndpointRow)
    return [row.endpoint.id for row in sorted(rows, key=QWidget.y) if not row.isHidden()]


def focus(window: MainWindow, endpoint_id: int) -> None:
    window.sidebar.row(endpoint_id).setFocus(Qt.FocusReason.TabFocusReason)


def in_view(window: MainWindow, endpoint_id: int) -> bool:
    """Whether all of the row is seen."""
    row = window.sidebar.row(endpoint_id)
    return row.visibleRegion().boundingRect() == row.rect()


async def confirmed(window: MainWindow) -> None:
    """The question that was asked is answered with yes, and is gone."""
    await until(lambda: window.findChildren(Question))
    window.findChildren(Question)[-1].confirm.click()
    await until(lambda: not window.findChildren(Question))


class TestKeys:
    async def test_thirty_endpoints_are_one_stop_of_the_tab_key(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=30, plan=Plan.PRO) as (desk, window):
            ids = ids_of(desk)
            window.show_endpoint(ids[20])
            sidebar = window.sidebar
            for chosen in (ids[20], ids[3]):
                if chosen == ids[3]:
                    focus(window, chosen)  # Tab comes back to where the keyboard was
                sidebar.add_button.setFocus()
                stops = []
                while window.focusWidget() is not sidebar.keys_button:
                    press(window, "Tab")
                    stops.append(window.focusWidget())
                assert stops == [sidebar.filter, sidebar.row(chosen), sidebar.tunnel, sidebar.keys_button]
            sidebar.add_button.setFocus()
            press(window, "Shift+Tab")
            assert window.focusWidget() is sidebar.findChild(QWidget, "dashboard")
            press(window, "Shift+Tab")
            assert window.focusWidget() is sidebar.head.palette_button

    async def test_arrows_lead_through_the_rows_and_to_a_switch(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=3) as (desk, window):
            first, second, third = ids_of(desk)
            focus(window, first)
            press(window, "Right")
            assert window.focusWidget() is window.sidebar.row(first)
            press(window, "Down", "Left")
            switch = window.focusWidget()
            assert isinstance(switch, Switch)
            assert switch.parentWidget() is window.sidebar.row(second)
            assert abs(switch.geometry().center().y() - window.sidebar.row(second).rect().center().y()) <= 1
            press(window, "Space")
            await until(lambda: not desk.store.endpoints.all()[1].active)
            press(window, "Return")
            await until(lambda: desk.store.endpoints.all()[1].active)
            assert window.focusWidget() is switch
            press(window, "Right")
            assert window.focusWidget() is window.sidebar.row(second)
            press(window, "Left", "Down")
            assert window.focusWidget() is window.sidebar.row(third)
            press(window, "Home")
            assert window.focusWidget() is window.sidebar.findChild(QWidget, "dashboard")
            press(window, "End", "Return")
            assert window.requests.endpoint_id == third
            press(window, "F2")
            dialog = await wait_for_widget(EndpointDialog, window)
            assert dialog.form["name"].text() == desk.store.endpoints.all()[2].name
            dialog.reject()

    async def test_screen_readers_know_the_switch(self, desk: Desk, window: MainWindow) -> None:
        made = await desk.endpoint(name="Stripe")
        await until(lambda: made.id in window.sidebar.list.rows)
        switch = window.sidebar.row(made.id).findChild(Switch)
        interface = QAccessible.queryAccessibleInterface(switch)
        assert interface.role() == QAccessible.Role.CheckBox
        assert interface.text(QAccessible.Text.Name) == "Stripe active"
        assert interface.state().checked

    async def test_after_a_delete_the_keyboard_is_in_a_row_and_on_no_switch(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=4) as (desk, window):
            first, second, third, fourth = ids_of(desk)
            for gone, on_switch, heir in ((second, False, third), (third, True, fourth), (fourth, False, first)):
                focus(window, gone)
                if on_switch:
                    press(window, "Left")
                endpoint = desk.store.endpoints.by_id(gone)
                assert endpoint is not None
                if gone == second:  # elsewhere, by a command
                    await desk.store.endpoints.delete(gone)
                else:
                    window.endpoint_actions.delete(endpoint)
                    await confirmed(window)
                await until(lambda gone=gone: gone not in window.sidebar.list.rows)
                await settle()
                assert window.focusWidget() is window.sidebar.row(heir)
                press(window, "Space")
                await settle()
                assert all(endpoint.active for endpoint in window.services.store.endpoints.all())

    async def test_after_a_delete_from_elsewhere_too(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=4) as (desk, window):
            first, second, third, _ = desk.store.endpoints.all()
            line = window.dashboard.rows.row(first.id)
            assert line is not None
            line.menu_button.setFocus(Qt.FocusReason.TabFocusReason)
            window.endpoint_actions.delete(first)
            await confirmed(window)
            await until(lambda: first.id not in window.sidebar.list.rows)
            await settle()
            assert not isinstance(window.focusWidget(), Switch)
            for by_key in (False, True):
                endpoint = third if by_key else second
                window.enter_endpoint(endpoint.id)
                if not by_key:
                    window.requests.header.more.setFocus()
                window.endpoint_actions.delete(endpoint)
                await confirmed(window)
                await until(lambda endpoint=endpoint: endpoint.id not in window.sidebar.list.rows)
                await settle()
                assert not isinstance(window.focusWidget(), Switch)


class TestFilter:
    async def test_it_comes_with_many_and_narrows_by_name_description_tag_and_slug(self, tmp_path: Path) -> None:
        async with shown(tmp_path, plan=Plan.PRO) as (desk, window):
            line = window.sidebar.filter
            made = [await desk.endpoint(name=f"Shop {n}", slug=f"slug-{n}x3") for n in range(OFFERED_ABOVE)]
            await until(lambda: len(window.sidebar.list.rows) == len(made))
            assert not line.isVisible()
            other = await desk.endpoint(
                name="Stripe Live", description="Invoices of 2026", slug="payments-3x", tags=("eu",)
            )
            await until(line.isVisible)
            line.setFocus()
            for text, wanted in (
                ("live STRIPE", [other.id]),
                ("paym", [other.id]),
                ("EU", [other.id]),
                ("slug-3x", [made[3].id]),
                ("ments", []),
                ("shop 3", [made[3].id]),  # though a slug ends in 3x
                ("live invoice", [other.id]),
                (" ", [*(one.id for one in made), other.id]),
            ):
                line.setText(text)
                await settle()
                assert order_of(window) == wanted, text
            line.setText("nowhere")
            assert order_of(window) == []
            assert window.sidebar.list.none.isVisible()
            assert window.sidebar.list.none.text() == "No matches"
            press(window, "Down")
            assert window.focusWidget() is line
            press(window, "Esc")
            assert line.text() == ""
            assert len(order_of(window)) == len(made) + 1
            assert not window.sidebar.list.none.isVisible()
            line.setText("shop")
            press(window, "Down", "Down")
            assert window.focusWidget() is window.sidebar.row(made[1].id)
            line.setFocus()
            line.setText("stripe")
            press(window, "Return")
            assert window.requests.endpoint_id == other.id

    async def test_it_hides_neither_what_is_chosen_nor_all_when_few_are_left(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=9) as (desk, window):
            ids, line = ids_of(desk), window.sidebar.filter
            line.setText(desk.store.endpoints.all()[0].slug)
            assert order_of(window) == ids[:1]
            window.show_endpoint(ids[5])
            assert line.text() == ""
            assert order_of(window) == ids
            line.setText("x")
            for number in ids[1:]:
                await desk.store.endpoints.delete(number)
            await until(lambda: len(window.sidebar.list.rows) == 1)
            line.clear()
            await desk.store.endpoints.update(ids[0], desk.store.endpoints.all()[0].draft())
            await until(window.sidebar.filter.isHidden)
            assert order_of(window) == ids[:1]

    async def test_hidden_it_takes_no_room(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=OFFERED_ABOVE, plan=Plan.PRO) as (desk, window):
            above = window.sidebar.list.y()
            await desk.endpoint(name="One more")
            await until(window.sidebar.filter.isVisible)
            await settle()
            assert window.sidebar.list.y() == above + window.sidebar.filter.height() + metrics.SPACE_2


class TestOrder:
    async def test_alt_with_arrows_moves_an_endpoint_and_the_keyboard_with_it(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=4) as (desk, window):
            a, b, c, d = ids_of(desk)
            focus(window, a)
            press(window, "Alt+Down", "Alt+Down")  # faster than they are stored
            await until(lambda: ids_of(desk) == [b, c, a, d])
            await until(lambda: order_of(window) == [b, c, a, d])
            assert window.focusWidget() is window.sidebar.row(a)
            press(window, "Alt+Up")
            await until(lambda: order_of(window) == [b, a, c, d])
            press(window, "Up", "Alt+Up")
            await settle()
            assert ids_of(desk) == [b, a, c, d]
            lines = [window.dashboard.rows.row(number) for number in ids_of(desk)]
            tops = [line.y() for line in lines if line is not None]
            assert tops == sorted(tops)
            assert len(tops) == 4
            press(window, "Ctrl+2")
            assert window.requests.endpoint_id == a

    async def test_menu_and_palette_move_where_there_is_room(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            a, b = desk.store.endpoints.all()
            verbs = {action.text().partition("\t")[0]: action for action in window.endpoint_actions.menu(a).actions()}
            assert (verbs["Move up"].isEnabled(), verbs["Move down"].isEnabled()) == (False, True)
            verbs["Move down"].trigger()
            await until(lambda: ids_of(desk) == [b.id, a.id])
            window.show_endpoint(a.id)
            commands = window.requests.endpoint_commands
            assert (commands.up.isEnabled(), commands.down.isEnabled()) == (True, False)
            commands.up.trigger()
            await until(lambda: ids_of(desk) == [a.id, b.id])
            await settle()
            assert (commands.up.isEnabled(), commands.down.isEnabled()) == (False, True)

    async def test_a_row_is_dragged_to_where_the_line_is(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=4) as (desk, window):
            a, b, c, d = ids_of(desk)
            row, line = window.sidebar.row(a), window.sidebar.list._line

            def seems_held() -> tuple[bool, bool]:
                """By the pointer, and because the row is faint."""
                veil = drawn(row).grounds_of(desk.theme.tokens.sidebar)
                return row.cursor().shape() is Qt.CursorShape.ClosedHandCursor, QRectF(row.rect()) in veil

            def drag(to: int) -> QPoint:
                """Hold the first row and go behind the row of `to`."""
                target = window.sidebar.row(to)
                place = row.mapFromGlobal(target.mapToGlobal(QPoint(60, target.height() - 4)))
                QTest.mousePress(row, Qt.MouseButton.LeftButton, pos=QPoint(60, 10))
                for at in (QPoint(60, 14), QPoint(60, 30), place):
                    QTest.mouseMove(row, at)
                return place

            assert seems_held() == (False, False)
            place = drag(c)
            assert seems_held() == (True, True)
            assert line.isVisible()
            assert window.sidebar.row(c).geometry().bottom() <= line.geometry().center().y()
            assert line.geometry().center().y() <= window.sidebar.row(d).geometry().top()
            press(window, "Esc")
            assert not line.isVisible()
            assert seems_held() == (False, False)
            QTest.mouseRelease(row, Qt.MouseButton.LeftButton, pos=place)
            place = drag(c)
            QTest.mouseRelease(row, Qt.MouseButton.LeftButton, pos=place)
            await until(lambda: order_of(window) == [b, c, a, d])
            assert not line.isVisible()
            assert seems_held() == (False, False)
            assert window.requests.endpoint_id is None, "a drag is no click"
            place = drag(b)
            QTest.mouseMove(row, QPoint(60, 20))
            assert not line.isVisible()  # back where it was
            QTest.mouseRelease(row, Qt.MouseButton.LeftButton, pos=QPoint(60, 20))
            await settle()
            assert ids_of(desk) == [b, c, a, d]

    @pytest.mark.slow
    async def test_a_row_that_is_dragged_to_the_edge_scrolls_the_others_and_is_dropped_at_the_end(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(endpoint_list, "_SCROLL_MS", 2)
        async with shown(tmp_path, endpoints=20, plan=Plan.PRO) as (desk, window):
            ids, window_list = ids_of(desk), window.sidebar.list
            window.resize(960, 540)
            await settle()
            row, bar = window.sidebar.row(ids[0]), window_list.verticalScrollBar()
            height = window_list.viewport().height()

            def hold(y: int) -> None:
                """Move the pointer to this height of the list."""
                QTest.mouseMove(row, row.mapFromGlobal(window_list.viewport().mapToGlobal(QPoint(60, y))))

            QTest.mousePress(row, Qt.MouseButton.LeftButton, pos=QPoint(60, 10))
            for y in (30, 60, height - 3):
                hold(y)
            await until(lambda: bar.value() == bar.maximum())
            hold(height // 2)
            await settle(30)
            assert bar.value() == bar.maximum(), "in the middle nothing scrolls"
            hold(3)
            await until(lambda: bar.value() == 0)
            hold(height - 3)
            await until(lambda: bar.value() == bar.maximum())
            line = window_list.findChild(DropLine)
            assert line.geometry().top() >= window.sidebar.row(ids[-1]).geometry().center().y()
            colours = {line.grab().toImage().pixelColor(x, line.height() // 2).name() for x in range(20, line.width())}
            assert desk.theme.tokens.accent in colours
            place = row.mapFromGlobal(window_list.viewport().mapToGlobal(QPoint(60, height - 3)))
            QTest.mouseRelease(row, Qt.MouseButton.LeftButton, pos=place)
            await until(lambda: order_of(window) == [*ids[1:], ids[0]])
            await settle(30)
            bar.setValue(0)
            await settle(30)
            assert bar.value() == 0, "it goes on scrolling"

    async def test_among_filtered_rows_keys_move_past_the_next_that_is_seen(self, tmp_path: Path) -> None:
        async with shown(tmp_path) as (desk, window):
            names = ("Shop 1", "Other", "Shop 2", "Shop 3")
            a, other, b, c = [(await desk.endpoint(name=name)).id for name in names]
            await until(lambda: len(window.sidebar.list.rows) == len(names))
            window.sidebar.filter.setText("shop")
            focus(window, a)
            press(window, "Alt+Down")
            await until(lambda: ids_of(desk) == [other, b, a, c])
            await until(lambda: order_of(window) == [b, a, c])
            focus(window, c)
            press(window, "Alt+Down")  # it is the last
            press(window, "Alt+Up")
            await until(lambda: ids_of(desk) == [other, b, c, a])

    async def test_a_row_that_is_filtered_out_or_deleted_elsewhere_while_it_is_dragged_is_not_dropped(
        self, tmp_path: Path
    ) -> None:
        async with shown(tmp_path, endpoints=3) as (desk, window):
            ids, sidebar = ids_of(desk), window.sidebar
            row, line = sidebar.row(ids[0]), sidebar.list.findChild(DropLine)

            def drag() -> None:
                QTest.mousePress(row, Qt.MouseButton.LeftButton, pos=QPoint(60, 10))
                for y in (30, 3 * row.height()):
                    QTest.mouseMove(row, QPoint(60, y))
                assert line.isVisible()

            drag()
            sidebar.filter.setText(desk.store.endpoints.all()[2].slug)
            assert order_of(window) == ids[2:]
            QTest.mouseRelease(row, Qt.MouseButton.LeftButton, pos=QPoint(60, 3 * row.height()))
            assert not line.isVisible()
            sidebar.filter.clear()
            await settle()
            assert order_of(window) == ids_of(desk) == ids
            drag()
            await desk.store.endpoints.delete(ids[0])
            await until(lambda: order_of(window) == ids[1:])
            assert not line.isVisible()


@pytest.mark.usefixtures("each_font")
async def test_a_narrow_sidebar_names_the_port_rather_than_half_of_it(desk: Desk, window: MainWindow) -> None:
    sidebar = window.sidebar
    place = desk.services.listening()
    assert place is not None
    whole = sidebar.head.listening.fontMetrics().horizontalAdvance(place)
    for width, text in ((whole - 4, f"Port {place.rpartition(':')[2]}"), (260, place)):
        sidebar.head.listening.setFixedWidth(width)
        await settle()
        assert sidebar.head.listening.shown_text() == text
        assert sidebar.head.listening.accessibleName() == f"Listening on {place}"


async def test_the_head_says_whether_requests_are_received(desk: Desk, window: MainWindow) -> None:
    head = window.sidebar.head
    (dot,) = head.findChildren(StatusDot)

    def says() -> tuple[str, str]:
        return dot.accessibleName(), head.listening.accessibleName()

    listening, picture = ("Listening", "Listening on 127.0.0.1:8787"), await on_screen(dot)
    assert says() == listening
    desk.bus.publish(StorageTrouble(reason="The disk is full."))
    assert says() == ("Not listening", "The disk is full.")
    assert await on_screen(dot) != picture
    desk.bus.publish(StorageTrouble(reason=None))
    assert says() == listening
    assert await on_screen(dot) == picture
    desk.place = None
    await desk.services.change_settings({"port": 9000})
    assert head.listening.shown_text() == "Not listening"
    assert says() == ("Not listening", "Requests cannot be received.")


async def test_a_row_shows_by_its_look_what_is_selected_new_wrong_or_off(desk: Desk, window: MainWindow) -> None:
    endpoint = await desk.endpoint(name="Shop", tags=("live",), forward_url="http://127.0.0.1:9/")
    off = await desk.endpoint(name="Old", active=False)
    await until(lambda: off.id in window.sidebar.list.rows)
    tokens = desk.theme.tokens
    row, other = window.sidebar.row(endpoint.id), window.sidebar.row(off.id)
    quiet = drawn(row)
    assert quiet.words == ["Shop", "live"]
    assert (quiet.text("Shop").bold, quiet.text("Shop").colour) == (False, tokens.text_muted)
    assert not quiet.grounds_of(tokens.selection)
    assert drawn(other).text("Old").colour == tokens.text_faint
    before = await on_screen(row)
    _, capture = [await desk.capture(endpoint) for _ in range(2)]
    await until(lambda: row.count == 2)
    assert await on_screen(row) != before
    (delivery,) = await desk.store.deliveries.of_capture(capture.id)
    made = factories.attempt(delivery)
    await desk.store.deliveries.finish(factories.after(delivery, made, DeliveryState.FAILED), [(made, b"")])
    await until(lambda: row.state is State.FAILED and row.count == 2)
    fresh = drawn(row)
    assert fresh.words == ["2", "Shop", "live"]
    assert (fresh.text("Shop").bold, fresh.text("Shop").colour) == (True, tokens.text)
    assert [(one.text, one.colour) for one in fresh.icons] == [("failed", tokens.danger)]
    assert fresh.text("live").at.x() < fresh.icons[0].at.x() < fresh.text("2").at.x() < row.width()
    window.show_page(REFUSED)
    page = window.sidebar.findChild(SidebarRow, REFUSED)
    assert drawn(page).grounds_of(tokens.selection) == [QRectF(page.rect()).adjusted(1, 1, -1, -1)]
    assert (drawn(page).text("Refused").bold, drawn(page).icons[0].colour) == (True, tokens.accent_text)
    window.show_endpoint(endpoint.id)
    assert drawn(row).grounds_of(tokens.selection)
    assert not drawn(page).grounds_of(tokens.selection)
    before = await on_screen(row)
    await desk.store.endpoints.update(endpoint.id, replace(endpoint.draft(), tags=("test",)))
    await until(lambda: row.endpoint.tags == ("test",))
    assert await on_screen(row) != before
    assert [(one.text, one.colour) for one in drawn(page).icons] == [("refused", tokens.text_muted)]


class TestMany:
    @pytest.mark.slow
    @pytest.mark.usefixtures("each_font")
    async def test_what_is_chosen_is_in_view_and_the_foot_too(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=30, plan=Plan.PRO) as (desk, window):
            ids = ids_of(desk)
            window.setMinimumHeight(400)
            window.resize(960, 540)
            await settle()
            sidebar = window.sidebar
            assert sidebar._plan.text() == "30 · Pro"
            for widget in (sidebar._plan, sidebar.settings_button, sidebar.filter):
                assert widget.visibleRegion().boundingRect() == widget.rect()
            press(window, "Ctrl+PgUp")
            await until(lambda: in_view(window, ids[-1]))
            assert not in_view(window, ids[0])
            press(window, "Ctrl+PgDown")
            await until(lambda: in_view(window, ids[0]))
            made = await desk.endpoint()
            window._endpoint_created(made)
            await until(lambda: in_view(window, made.id))
            window.show_page(ALL_REQUESTS)
            window.hide()
            window.show_endpoint(ids[15])
            window.show()
            await until(lambda: in_view(window, ids[15]))
            focus(window, ids[15])
            press(window, *["Up"] * 12)
            await settle()
            assert window.focusWidget() is sidebar.row(ids[3])
            assert in_view(window, ids[3])
            window.show_page(REFUSED)
            assert not sidebar.row(ids[15]).isChecked()
