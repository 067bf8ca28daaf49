"""The page of refused requests: its columns, and what can be done with a row."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

import pytest
from PySide6.QtCore import QPersistentModelIndex, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from app.core.model import Plan, Refusal
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.refused_page import ENDPOINT, METHOD, REASON, SOURCE, STATUS, TARGET, TIME, columns
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import ALL_DELIVERIES, DASHBOARD, REFUSED, REPLAYS
from app.ui.theme.theme import Theme
from app.ui.widgets.card import Page
from app.ui.widgets.rows import Rows
from tests.ui.desk import Desk, shown
from tests.ui.waiting import settle, until, wait_for_widget

pytestmark = pytest.mark.smoke
LONG = "/catch/stripe/webhooks/payments/" + "x" * 200


def refuse(desk: Desk, target: str, raw: bytes | None = None, status: int = 503, reason: str = "A reason.") -> None:
    if raw is None:
        raw = f"POST {target} HTTP/1.1\r\nHost: example.com\r\nX-A: b\r\nContent-Length: 2\r\n\r\nhi".encode()
    method, place = ("POST", target) if target else ("", "")
    desk.refused.add(
        Refusal(
            at=1_700_000_000_000_000 + desk.refused.total,
            source_address="203.0.113.7",
            source_port=5000,
            status=status,
            reason=reason,
            method=method,
            target=place,
        ),
        raw,
    )


def verbs(menu: QMenu) -> dict[str, bool]:
    """The entries that are offered, and whether they can be chosen."""
    return {
        action.text().partition("\t")[0]: action.isEnabled()
        for action in menu.actions()
        if not action.isSeparator() and action.isVisible()
    }


async def open_at(desk: Desk, window: MainWindow, row: int) -> None:
    window.show_page(REFUSED)
    await until(lambda: window.refused.model.rowCount() == len(desk.refused.newest()))
    window.refused.table.setFocus()
    window.refused.table.selectRow(row)


def choose(window: MainWindow, text: str) -> None:
    page = window.refused
    menu = page.commands.menu(page.selected())
    next(action for action in menu.actions() if action.text().partition("\t")[0] == text).trigger()
    menu.close()


class TestColumns:
    @pytest.mark.usefixtures("each_font")
    async def test_the_target_is_the_widest_and_all_fits(self, desk: Desk, window: MainWindow) -> None:
        for _ in range(40):
            refuse(desk, LONG)
        table = window.refused.table
        for width in (1280, 1366, 960):
            window.show_page(DASHBOARD)
            window.resize(width, 720)
            await open_at(desk, window, 0)
            await settle(10)
            widths = [
                0 if table.isColumnHidden(at) else table.columnWidth(at) for at in range(table.model().columnCount())
            ]
            assert sum(widths) <= table.viewport().width()
            assert widths[TARGET] >= 180
            if width > 960:
                assert max(widths) == widths[TARGET]
            assert table.isColumnHidden(SOURCE) == (width == 960)

    async def test_the_reason_shares_the_room_with_the_target(self, desk: Desk, window: MainWindow) -> None:
        refuse(desk, LONG)
        await open_at(desk, window, 0)
        table = window.refused.table
        window.resize(960, 540)
        await settle(10)
        assert table.columnWidth(REASON) > 210 > table.columnWidth(TARGET) >= 180
        for width in (1280, 1366, 1500):
            window.resize(width, 720)
            await settle(10)
            assert 0 <= table.columnWidth(TARGET) - table.columnWidth(REASON) <= 1, width
        window.resize(2400, 720)
        await settle(10)
        assert table.columnWidth(REASON) == 400
        assert table.columnWidth(TARGET) > 900

    @pytest.mark.usefixtures("each_font")
    async def test_the_reason_has_what_short_targets_leave(self, desk: Desk, window: MainWindow) -> None:
        window.resize(1500, 720)
        refuse(desk, "/catch/files", reason="The disk has 0 B free, and capturing needs 5.8 MiB. Delete requests.")
        await open_at(desk, window, 0)
        await settle(10)
        table = window.refused.table
        assert table.columnWidth(REASON) >= table.sizeHintForColumn(REASON)
        assert table.columnWidth(TARGET) >= table.sizeHintForColumn(TARGET)

    async def test_a_reason_of_the_users_width_keeps_it(self, desk: Desk, window: MainWindow) -> None:
        refuse(desk, LONG)
        await open_at(desk, window, 0)
        window.resize(1366, 720)
        await settle(10)
        window.refused.table.horizontalHeader().resizeSection(REASON, 300)
        window.resize(1500, 720)
        await settle(10)
        assert window.refused.table.columnWidth(REASON) == 300

    async def test_the_pane_below_does_not_cover_the_selected_row(self, desk: Desk, window: MainWindow) -> None:
        for _ in range(40):
            refuse(desk, "/x")
        window.resize(960, 540)
        await open_at(desk, window, 0)
        window.refused.table.clearSelection()
        await until(lambda: not window.refused.raw.isVisible())
        await settle(10)
        table = window.refused.table
        row = table.rowAt(table.viewport().height() - 60)
        table.selectRow(row)
        await until(window.refused.raw.isVisible)
        await settle(10)
        assert table.viewport().rect().contains(table.visualRect(window.refused.model.index(row, TIME)))

    @pytest.mark.slow
    @pytest.mark.usefixtures("each_font")
    async def test_a_target_has_room_where_columns_are_hidden(self, desk: Desk, window: MainWindow) -> None:
        refuse(desk, LONG)
        await open_at(desk, window, 0)
        for width in range(900, 1400, 20):
            window.resize(width, 720)
            await settle()
            assert window.refused.table.columnWidth(TARGET) >= 130, width

    async def test_the_badges_stand_level_with_the_text(self, desk: Desk, window: MainWindow) -> None:
        for _ in range(2):
            refuse(desk, "/x")
        window.resize(1280, 720)
        await open_at(desk, window, 0)
        await settle(10)
        image = window.refused.table.viewport().grab().toImage()
        table, model = window.refused.table, window.refused.model
        middles = []
        for column in (TIME, STATUS, METHOD):
            rect = table.visualRect(model.index(1, column)).adjusted(8, 0, 0, -1)
            empty = image.pixel(rect.topLeft())
            ink = [
                y
                for y in range(rect.top(), rect.bottom() + 1)
                if any(image.pixel(x, y) != empty for x in range(rect.left(), rect.right() + 1))
            ]
            middles.append((ink[0] + ink[-1]) / 2)
        assert max(middles) - min(middles) <= 1

    async def test_the_endpoint_is_named_as_it_is_now(self, desk: Desk, window: MainWindow) -> None:
        made = await desk.endpoint(name="Stripe", slug="stripe")
        for target in ("/favicon.ico", "/catch/other/x", LONG, "http://h:1/catch/stripe?x"):
            refuse(desk, target)
        await open_at(desk, window, 0)
        model, page = window.refused.model, window.refused

        def names() -> list[str]:
            return [model.index(row, ENDPOINT).data() for row in range(4)]

        assert names() == ["Stripe", "Stripe", "", ""]
        assert page.raw.caption.text().endswith("from 203.0.113.7 port 5000 · for “Stripe”")
        changed: list[object] = []
        model.dataChanged.connect(lambda *places: changed.append(places))
        await desk.store.endpoints.delete(made.id)
        await until(lambda: changed)
        assert names() == [""] * 4


class TestMenu:
    async def test_copies_and_leads_to_the_endpoint(self, desk: Desk, window: MainWindow) -> None:
        made = await desk.endpoint(name="Stripe", slug="stripe")
        refuse(desk, LONG)
        await open_at(desk, window, 0)
        page, clipboard = window.refused, QGuiApplication.clipboard()
        assert verbs(page.commands.menu(page.selected())) == {
            "Show as received": True,
            "Copy target": True,
            "Copy source address": True,
            "Copy as curl": True,
            "Copy row": True,
            "Open endpoint": True,
        }
        choose(window, "Copy target")
        assert clipboard.text() == LONG
        assert window.toast.isVisible()
        choose(window, "Copy source address")
        assert clipboard.text() == "203.0.113.7"
        choose(window, "Copy as curl")
        command = clipboard.text()
        assert command.startswith("curl ")
        for part in (f"http://127.0.0.1:8787{LONG}", "X-A: b", "--data-raw hi"):
            assert part in command
        choose(window, "Show as received")
        assert page.raw.view.code.hasFocus()
        choose(window, "Open endpoint")
        assert window.requests.endpoint_id == made.id

    async def test_what_is_malformed_or_cut_is_no_curl_command(self, desk: Desk, window: MainWindow) -> None:
        refuse(desk, "/catch/a", b"POST /catch/a HTTP/1.1\r\nContent-Length: 3\r\n\r\nhi", 503)
        refuse(desk, "/catch/a", b"POST /catch/a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 413)
        refuse(desk, "/catch/a", b"", 503)
        refuse(desk, "", b"GE T\r\n\r\n", 400)
        await open_at(desk, window, 0)
        page = window.refused
        for row in range(4):
            page.table.selectRow(row)
            offered = verbs(page.commands.menu(page.selected()))
            assert not offered["Copy as curl"]
            assert offered["Copy target"] == (row > 0)
        assert not verbs(page.commands.menu(page.selected())).get("Open endpoint")

    async def test_an_unknown_slug_can_be_made_an_endpoint(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=9) as (desk, window):
            refuse(desk, "/catch/No-Slug/x", status=404)
            refuse(desk, "/catch/new-one/x", status=404)
            await open_at(desk, window, 0)
            choose(window, "Create endpoint with this slug…")
            dialog = await wait_for_widget(EndpointDialog, window)
            assert dialog.form.draft().slug == "new-one"
            dialog.form["name"].setText("New")
            dialog.form["name"].textEdited.emit("New")
            dialog.submit_button.click()
            # The dialog closes after the new endpoint's page was opened; the endpoint is stored before both.
            await until(lambda: not window.findChildren(EndpointDialog))
            assert desk.store.endpoints.by_slug("new-one") is not None
            await open_at(desk, window, 0)
            page = window.refused
            assert "Open endpoint" in verbs(page.commands.menu(page.selected()))
            page.table.selectRow(1)
            offered = verbs(page.commands.menu(page.selected()))
            assert "Create endpoint with this slug…" not in offered
            refuse(desk, "/catch/eleventh", status=404)
            await open_at(desk, window, 0)
            menu = page.commands.menu(page.selected())
            assert not verbs(menu)["Create endpoint with this slug…"]
            assert "10" in page.commands.create.toolTip()
            await desk.store.account.set_plan(Plan.PRO)
            assert verbs(page.commands.menu(page.selected()))["Create endpoint with this slug…"]


class TestKeys:
    @pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # said when a menu opens
    async def test_menu_key_copy_and_enter(self, desk: Desk, window: MainWindow) -> None:
        for number in range(3):
            refuse(desk, f"/catch/a/{number}")
        await open_at(desk, window, 1)
        page = window.refused
        QTest.keySequence(page.table, QKeySequence("Ctrl+C"))
        assert QGuiApplication.clipboard().text().split("\t")[1:] == [
            "503",
            "POST",
            "/catch/a/1",
            "",
            "A reason.",
            "203.0.113.7",
        ]
        asked = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(-1, -1), QPoint(-1, -1))
        QApplication.sendEvent(page.table.viewport(), asked)
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        assert "Copy target" in verbs(menu)
        row = page.table.visualRect(page.model.index(1, 0))
        top = page.table.viewport().mapToGlobal(row.bottomLeft()).y()
        assert abs(menu.y() - top) <= 4
        QTest.keyClick(menu, Qt.Key.Key_Escape)
        page.table.selectAll()
        menu = page.commands.menu(page.selected())
        assert verbs(menu) == {"Copy 3 rows": True}
        QTest.keySequence(page.table, QKeySequence("Ctrl+C"))
        assert len(QGuiApplication.clipboard().text().splitlines()) == 3
        QTest.keyClick(page.table, Qt.Key.Key_Home)  # or Ctrl would count as held


def refusal(number: int) -> Refusal:
    reason = f"reason {number}"
    return Refusal(at=number, source_address="127.0.0.1", source_port=1, status=404, reason=reason, id=number)


class TestRows:
    def test_new_rows_come_on_top_and_a_selection_stays_with_its_row(self, qapp: QApplication) -> None:
        model = Rows(columns(Theme(), lambda refusal: None))
        rows = [refusal(3), refusal(2), refusal(1)]
        model.show_records(rows, attrgetter("id"))
        kept = QPersistentModelIndex(model.index(1, REASON))
        rows = [refusal(5), refusal(4), *rows]
        model.show_records(rows, attrgetter("id"))
        assert [model.record(row).at for row in range(model.rowCount())] == [5, 4, 3, 2, 1]
        assert kept.data() == "reason 2"
        assert kept.row() == 3

    def test_old_rows_fall_off_and_a_cleared_list_empties(self, qapp: QApplication) -> None:
        model = Rows(columns(Theme(), lambda refusal: None))
        rows = [refusal(number) for number in range(1000, 0, -1)]
        model.show_records(rows, attrgetter("id"))
        rows = [refusal(1001), *rows[:-1]]
        model.show_records(rows, attrgetter("id"))
        assert model.rowCount() == 1000
        assert model.record(0).at == 1001
        assert model.record(999).at == 2
        model.show_records([], attrgetter("id"))
        assert model.rowCount() == 0

    def test_all_new_rows_replace_all_old_ones(self, qapp: QApplication) -> None:
        model = Rows(columns(Theme(), lambda refusal: None))
        model.show_records([refusal(2), refusal(1)], attrgetter("id"))
        model.show_records([refusal(9)], attrgetter("id"))
        assert [model.record(row).at for row in range(model.rowCount())] == [9]

    def test_cells_are_one_plain_line(self, qapp: QApplication) -> None:
        model = Rows(columns(Theme(), lambda refusal: None))
        broken = Refusal(at=1, source_address="::1", source_port=5, status=400, reason="<b>bad</b>\nline")
        model.show_records([broken], attrgetter("id"))
        assert model.columnCount() == SOURCE + 1
        assert model.index(0, REASON).data() == "<b>bad</b> line"
        assert model.index(0, METHOD).data() == model.index(0, TARGET).data() == "—"


@pytest.mark.usefixtures("each_font")
async def test_what_the_pages_are_about_is_whole_in_the_smallest_window(window: MainWindow) -> None:
    window.resize(860, 400)
    for name in (ALL_DELIVERIES, REPLAYS, REFUSED):
        window.show_page(name)
        await settle()
        (about,) = (page.about for page in window.findChildren(Page) if page.isVisible())
        assert about.shown_text() == about.text()
