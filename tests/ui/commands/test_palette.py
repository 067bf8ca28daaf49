"""The palette in the real window: what it finds, how it is used, and where the keyboard is afterwards."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtGui import QAccessible, QAccessibleEvent, QColor, QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QWidget

from app.core.links import link_to_request
from app.core.model import Plan
from app.core.record import fields_of
from app.core.rules import FREE_ENDPOINTS
from app.core.search.query import Word
from app.ui.about_dialog import AboutDialog
from app.ui.commands.command import PaletteEntry
from app.ui.commands.palette import (
    RECENT_KEPT,
    RECENT_KEY,
    ROW,
    Palette,
    PaletteMatch,
    RecentEntries,
    find,
)
from app.ui.desktop.notifications import NotifyWhen
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.inspector.body.code_view import CodeView
from app.ui.requests.saved_filters import SavedFilters
from app.ui.settings import SavedSettings, shown_settings
from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import DASHBOARD
from tests.ui.desk import Desk, shown
from tests.ui.drawn import Drawn, drawn
from tests.ui.waiting import activate, settle, until, wait_for_widget

CTRL = Qt.KeyboardModifier.ControlModifier


async def press_open(window: MainWindow) -> Palette:
    """Ctrl+K, wherever the keyboard is."""
    await activate(window)
    QTest.keyClick(window.focusWidget() or window, Qt.Key.Key_K, CTRL)
    palette = window.commands.palette
    assert palette.isVisible()
    assert palette.field.hasFocus()
    return palette


def texts(palette: Palette) -> list[str]:
    return [palette.model.record(row).entry.text for row in range(palette.model.rowCount())]


def chosen(palette: Palette) -> str:
    return palette.model.record(palette.rows.currentIndex().row()).entry.text


async def run_first(window: MainWindow, text: str) -> str:
    """Open, type, Enter; what was run."""
    palette = await press_open(window)
    QTest.keyClicks(palette.field, text)
    what = chosen(palette)
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert not palette.isVisible()
    return what


async def with_requests(desk: Desk, window: MainWindow, count: int = 3) -> None:
    """Show the first endpoint, with some requests and the keyboard in their list."""
    endpoint = desk.store.endpoints.all()[0]
    for _ in range(count):
        await desk.capture(endpoint)
    await activate(window)
    window.enter_endpoint(endpoint.id)
    await until(lambda: window.requests.list.hasFocus() and window.requests.feed.model.rowCount() == count)


class TestKeys:
    async def test_it_opens_and_gives_the_keyboard_back(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            await with_requests(desk, window)
            line = window.requests.filter.bar.line
            row = window.sidebar.row(desk.store.endpoints.all()[1].id)
            window.requests.list.select_row(0)
            await until(window.requests.detail.header.isVisible)
            body = window.requests.detail.body.findChild(CodeView)
            places: tuple[QWidget, ...] = (window.requests.list, line, row, body)
            for place in places:
                place.setFocus()
                palette = await press_open(window)
                QTest.keyClick(palette.field, Qt.Key.Key_Escape)
                assert palette.isHidden()
                assert window.focusWidget() is place
                palette = await press_open(window)
                QTest.keyClick(palette.field, Qt.Key.Key_K, CTRL)
                assert palette.isHidden()
                assert window.focusWidget() is place

    async def test_keys_move_in_the_list_and_tab_leads_nowhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read: list[int] = []

        def note(event: QAccessibleEvent) -> None:
            if event.type() == QAccessible.Event.Focus:
                read.append(event.child())

        async with shown(tmp_path, plan=Plan.PRO, endpoints=14) as (_, window):
            palette = await press_open(window)
            monkeypatch.setattr(QAccessible, "isActive", lambda: True)
            monkeypatch.setattr(QAccessible, "updateAccessibility", note)
            last, page = palette.model.rowCount() - 1, palette.rows.viewport().height() // ROW - 1
            assert last > 20
            for key, row in (
                (Qt.Key.Key_Down, 1),
                (Qt.Key.Key_PageDown, 1 + page),
                (Qt.Key.Key_PageUp, 1),
                (Qt.Key.Key_End, last),
                (Qt.Key.Key_PageDown, last),
                (Qt.Key.Key_Down, 0),
                (Qt.Key.Key_Up, last),
                (Qt.Key.Key_Home, 0),
                (Qt.Key.Key_Tab, 0),
                (Qt.Key.Key_Backtab, 0),
            ):
                QTest.keyClick(palette.field, key)
                assert palette.rows.currentIndex().row() == row, key
                assert palette.field.hasFocus()
                assert read[-1] == row, "a screen reader reads the row though the field has the focus"
            QTest.keyClicks(palette.field, "e")
            assert palette.rows.currentIndex().row() == 0

    async def test_it_stays_closed_over_a_dialog_and_makes_room_for_one(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (_, window):
            palette = await press_open(window)
            QTest.keyClick(palette.field, Qt.Key.Key_N, CTRL)
            await until(lambda: window.findChildren(EndpointDialog))
            assert palette.isHidden()
            palette.open()
            assert palette.isHidden()
            window.findChildren(EndpointDialog)[0].reject()

    async def test_a_window_that_was_hidden_comes_back_without_it(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            await with_requests(desk, window)
            palette = await press_open(window)
            window.hide()
            window.show()
            await settle()
            assert palette.isHidden()
            assert window.focusWidget() is window.requests.list
            palette.open()
            assert texts(palette)

    async def test_another_key_of_the_window_leaves_it(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            await with_requests(desk, window)
            await desk.capture(desk.store.endpoints.all()[1])
            palette = await press_open(window)
            QTest.keyClick(palette.field, Qt.Key.Key_PageDown, CTRL)
            await until(window.requests.list.hasFocus)
            assert palette.isHidden()
            assert window.requests.endpoint_id == desk.store.endpoints.all()[1].id


class TestMouse:
    async def test_a_click_runs_a_row_and_one_beside_only_closes(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            window.show_endpoint(desk.store.endpoints.all()[0].id)
            palette = await press_open(window)
            QTest.mouseClick(palette.panel, Qt.MouseButton.LeftButton, pos=QPoint(12, 12))
            assert palette.isVisible()
            settings = window.sidebar.settings_button
            QTest.mouseClick(settings, Qt.MouseButton.LeftButton)
            assert palette.isHidden()
            assert not window.findChildren(SettingsDialog)
            palette = await press_open(window)
            QTest.keyClicks(palette.field, "dashboard")
            place = palette.rows.visualRect(palette.model.index(0, 0)).center()
            QTest.mouseClick(palette.rows.viewport(), Qt.MouseButton.LeftButton, pos=place)
            assert palette.isHidden()
            assert window.pages.currentWidget() is window.dashboard


class TestFinding:
    @pytest.mark.slow
    async def test_commands_run_with_the_keyboard_where_it_was(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            await with_requests(desk, window)
            assert await run_first(window, "copy url") == "Copy endpoint URL"
            endpoint = desk.store.endpoints.all()[0]
            assert QGuiApplication.clipboard().text() == desk.capture_url(endpoint)
            assert window.requests.list.hasFocus()
            assert await run_first(window, "filt") == "Filter"
            assert window.requests.filter.bar.line.hasFocus()
            assert await run_first(window, "hide chart") == "Hide activity chart"
            assert not window.requests.activity.open
            assert await run_first(window, "chart") == "Show activity chart"
            assert window.requests.activity.open
            assert await run_first(window, "dark") == "Theme: dark"
            await until(lambda: desk.settings.theme == "dark")
            assert await run_first(window, "send test") == "Send test request"
            await until(lambda: desk.tests_sent == [endpoint.id])
            assert await run_first(window, "mark all") == "Mark all as read"
            await until(lambda: not desk.store.captures.counts(endpoint.id).unread)
            assert await run_first(window, "setti") == "Settings"
            await until(lambda: window.findChildren(SettingsDialog))

    async def test_what_cannot_be_run_now_comes_last_with_why(self, desk: Desk, window: MainWindow) -> None:
        palette = await press_open(window)
        reasons = [palette.model.record(row).entry.reason for row in range(palette.model.rowCount())]
        count = reasons.count("")
        assert not any(reasons[:count])
        assert all(reasons[count:])
        runs, last = texts(palette)[:count], texts(palette)[count:]
        assert "New endpoint" in runs
        assert {"Dashboard", "Filter", "Find in body", "Edit endpoint…", "Next endpoint", "Theme: light"} <= set(last)
        assert "Command palette" not in (*runs, *last)
        index = palette.model.index(texts(palette).index("Edit endpoint…"), 0)
        words = index.data(Qt.ItemDataRole.AccessibleTextRole)
        assert words == "Edit endpoint…, No endpoint is shown., Endpoint"
        palette.field.setText("edit endpoint")
        assert chosen(palette) == "Edit endpoint…"
        QTest.keyClick(palette.field, Qt.Key.Key_Return)
        assert window.toast.isVisible(), "it says why"
        endpoint = await desk.endpoint()
        window.show_endpoint(endpoint.id)
        palette = await press_open(window)
        for name in ("Edit endpoint…", "Delete endpoint…", "Next endpoint", "Switch endpoint off"):
            assert not palette.model.record(texts(palette).index(name)).entry.reason

    async def test_titles_come_before_synonyms_and_reasons_are_not_searched(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            await with_requests(desk, window)
            window.requests.list.select_row(0)
            await until(lambda: window.requests.detail.capture is not None)
            for typed, first in (
                ("back up", "Back up…"),
                ("archive", "Back up…"),
                ("save", "Save body as…"),
                ("preferences", "Settings"),
                ("remove", "Delete"),
                ("import", "Restore a backup…"),
                ("export", "Copy as curl"),
                ("diagnostics", "Copy diagnostics"),
                ("plan", "Plan"),
                ("storage limit", "Storage limit"),
                ("rejected", "Refused requests"),
            ):
                palette = await press_open(window)
                palette.field.setText(typed)
                assert chosen(palette) == first, typed
                palette.dismiss()
            palette = await press_open(window)
            palette.field.setText("save")
            assert texts(palette)[:2] == ["Save body as…", "Back up…"]
            palette.field.setText("already in use")
            assert texts(palette) == ["Search all requests for “already in use”"]

    @pytest.mark.slow
    async def test_each_setting_is_found_and_shown(self, tmp_path: Path) -> None:
        async with shown(tmp_path) as (_, window):
            keys = shown_settings(window.services)
            for key in keys:
                title = fields_of(SavedSettings)[key].title
                assert await run_first(window, title) == title
                (dialog,) = [one for one in window.findChildren(SettingsDialog) if one.isVisible()]
                rows = dialog.form.rows
                assert set(rows) == set(keys)
                if rows[key].control.isEnabled():
                    assert dialog.focusWidget() is rows[key].control or rows[key].isAncestorOf(dialog.focusWidget())
                dialog.reject()
                await until(lambda: not window.findChildren(SettingsDialog))

    @pytest.mark.slow
    async def test_a_backup_begins_there_and_diagnostics_are_copied(self, tmp_path: Path) -> None:
        async with shown(tmp_path) as (_, window):
            for name in ("Back up…", "Restore a backup…"):
                assert await run_first(window, name.strip("…")) == name
                asked = await wait_for_widget(QFileDialog, window)
                asked.reject()
                (dialog,) = window.findChildren(SettingsDialog)
                dialog.reject()
                await until(lambda: not window.findChildren(SettingsDialog))
            QGuiApplication.clipboard().clear()
            assert await run_first(window, "diagnostics") == "Copy diagnostics"
            await until(lambda: "Hookline 1.2.3" in QGuiApplication.clipboard().text())
            window.findChildren(AboutDialog)[0].reject()

    async def test_an_endpoint_notifies_when_it_is_told_to(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            endpoint = desk.store.endpoints.all()[0]
            window.show_endpoint(endpoint.id)
            assert await run_first(window, "notify always") == "Notify: always"
            assert window.desktop.choices.of(endpoint.slug) is NotifyWhen.ON
            palette = await press_open(window)
            palette.field.setText("alert")
            assert texts(palette)[:2] == ["Notify: off", "Notify: while Hookline is in the background"]
            assert palette.model.record(2).entry.reason, "it does so already"

    async def test_endpoints_are_found_by_name_and_slug_and_shown_plain(self, tmp_path: Path) -> None:
        async with shown(tmp_path, plan=Plan.PRO, endpoints=10) as (desk, window):
            first = await desk.endpoint(name="<b>Émile</b> & co")
            other = await desk.endpoint(name="Other", slug="partner-uploads")
            palette = await press_open(window)
            QTest.keyClicks(palette.field, "emile")
            assert texts(palette) == ["<b>Émile</b> & co", "Search all requests for “emile”"]
            assert palette.model.record(0).entry.key_names == ()
            QTest.keyClick(palette.field, Qt.Key.Key_Return)
            assert window.requests.endpoint_id == first.id
            assert await run_first(window, "uploads") == "Other"
            assert window.requests.endpoint_id == other.id
            palette = await press_open(window)
            QTest.keyClicks(palette.field, desk.store.endpoints.all()[0].slug)
            assert palette.model.record(0).entry.key_names == ("Ctrl", "1")

    async def test_saved_filters_filter_the_list_that_is_shown_or_all(self, tmp_path: Path) -> None:
        SavedFilters(tmp_path).save("Fa\u202eiled", "is:unread path:orders")
        async with shown(tmp_path, endpoints=1) as (desk, window):
            await with_requests(desk, window)
            endpoint = desk.store.endpoints.all()[0]
            assert await run_first(window, "fa") == "Fa\\u202eiled"
            assert window.requests.endpoint_id == endpoint.id
            assert window.requests.filter.bar.line.text() == "is:unread path:orders"
            window.show_page(DASHBOARD)
            await run_first(window, "unread path")
            assert window.pages.currentWidget() is window.requests
            assert window.requests.endpoint_id is None
            assert window.requests.filter.active

    async def test_a_filter_searches_all_requests(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            await with_requests(desk, window)
            assert await run_first(window, "method:POST -is:read") == "Search all requests for method:POST -is:read"
            assert window.requests.endpoint_id is None
            await until(lambda: window.requests.filter.active and window.requests.feed.model.rowCount() == 3)
            palette = await press_open(window)
            for words in ("words alone", "method:NONE", "since:", "a OR"):
                palette.field.setText(words)
                assert [text for text in texts(palette) if text.startswith("Search")] == [
                    f"Search all requests for “{words}”"
                ]

    @pytest.mark.parametrize("as_link", [False, True])
    async def test_a_requests_id_opens_it(self, tmp_path: Path, as_link: bool) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            wanted = await desk.capture(desk.store.endpoints.all()[1])
            typed = link_to_request(wanted.id) if as_link else wanted.id.upper()
            assert await run_first(window, typed) == f"Open request {wanted.id}"
            await until(lambda: window.requests.detail.capture is not None)
            assert window.requests.detail.capture.id == wanted.id
            assert window.requests.endpoint_id == wanted.endpoint_id
            await desk.store.captures.delete([wanted.id])
            await run_first(window, typed)
            await until(desk.messages.waiting)
            assert wanted.id in desk.messages.waiting()[0].text

    async def test_the_last_row_searches_all_requests_for_the_words(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            for text in (
                *('zzqqzz "x" (y)', "-is:starred OR", "method:POST", "dash"),
                *('\\"', "  two   words ", "is:unread -x"),
            ):
                window.show_endpoint(desk.store.endpoints.all()[0].id)
                palette = await press_open(window)
                assert not any("Search all" in one for one in texts(palette))
                palette.field.setText(text)
                assert texts(palette)[-1] == f"Search all requests for “{text.strip()}”"
                for _ in texts(palette)[1:]:
                    QTest.keyClick(palette.field, Qt.Key.Key_Down)
                QTest.keyClick(palette.field, Qt.Key.Key_Return)
                assert palette.isHidden()
                assert window.pages.currentWidget() is window.requests
                assert window.requests.endpoint_id is None
                query = window.requests.filter.bar.query
                assert query is not None
                assert [term.text for term in query.terms if isinstance(term, Word)] == text.split()
                assert len(query.terms) == len(text.split())


async def test_where_the_free_plan_is_full_the_notice_leads_to_endpoints_and_plan(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=FREE_ENDPOINTS) as (desk, window):
        window.show_endpoint(desk.store.endpoints.all()[0].id)
        assert await run_first(window, "new endpoint") == "New endpoint"
        assert [button.text() for button in window.toast.buttons] == ["Manage endpoints", "Plan"]
        window.toast.buttons[0].click()
        assert window.pages.currentWidget() is window.dashboard
        await run_first(window, "new endpoint")
        assert [button.text() for button in window.toast.buttons if button.isVisible()] == ["Plan"]
        window.toast.buttons[0].click()
        dialog = await wait_for_widget(SettingsDialog, window)
        await until(dialog.form["plan"].hasFocus)
        dialog.reject()


def named(text: str, **more: str) -> PaletteEntry:
    return PaletteEntry(text, text, "", str, "search", **more)


class TestRecent:
    def test_five_of_those_that_can_be_run_come_first_with_a_line_below(self) -> None:
        found = find([named("off", reason="No."), *map(named, "abcdefgh")], " ", ["off", *"hgfedc"])
        assert [one.entry.text for one in found] == [*"hgfedabc", "off"]
        assert [one.entry.text for one in found if one.last] == ["d"]

    def test_it_decides_between_similar_matches_and_titles_come_before_other_words(self) -> None:
        entries = [
            named("Theme", synonyms="dark"),
            named("Open file"),
            named("Open path"),
            named("Make it all very dark"),
        ]
        for text, recent, first in (
            ("open", [], "Open file"),
            ("open", ["Open path"], "Open path"),
            ("d", [], "Make it all very dark"),
        ):
            assert find(entries, text, recent)[0].entry.text == first

    async def test_what_was_used_comes_first_and_is_kept(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            second = desk.store.endpoints.all()[1]
            await run_first(window, "all requests")
            await run_first(window, second.slug)
            assert texts(await press_open(window))[:2] == [second.name, "All requests"]
            window.commands.palette.dismiss()
            await desk.store.endpoints.delete(second.id)
            assert texts(await press_open(window))[0] == "All requests"
        async with shown(tmp_path) as (_, again):
            palette = await press_open(again)
            assert texts(palette)[0] == "All requests"
            assert texts(palette).count("All requests") == 1
            assert palette.model.record(0).last

    def test_it_holds_a_few_and_survives_a_spoilt_file(self, tmp_path: Path) -> None:
        recent = RecentEntries(tmp_path)
        for number in range(RECENT_KEPT + 5):
            recent.use(f"key {number}")
        recent.use("key 10")
        assert recent.keys()[:2] == ["key 10", f"key {RECENT_KEPT + 4}"]
        assert len(recent.keys()) == len(set(recent.keys())) == RECENT_KEPT
        for spoilt in ("{", '{"a": 1}', "[1]"):
            file = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
            file.setValue(RECENT_KEY, spoilt)
            file.sync()
            assert RecentEntries(tmp_path).keys() == []


class TestLook:
    async def test_it_lies_at_the_top_and_in_the_middle_of_any_window(self, tmp_path: Path) -> None:
        async with shown(tmp_path, plan=Plan.PRO, endpoints=12) as (_, window):
            palette = await press_open(window)
            for width, height in ((960, 600), (1920, 1080)):
                window.resize(width, height)
                await settle()
                place = palette.panel.mapTo(window, QPoint())
                assert abs(place.x() * 2 + palette.panel.width() - window.width()) <= 1
                assert 24 <= place.y() < window.height() // 4
                assert place.y() + palette.panel.height() < window.height()

    async def test_matched_letters_take_the_accent_in_both_themes(self, desk: Desk, window: MainWindow) -> None:
        palette = await press_open(window)
        for theme in ("light", "dark"):
            desk.theme.set_choice(theme)
            palette.field.setText("")
            plain = _strongest(palette, desk.theme.tokens.accent_text)
            palette.field.setText("refused")
            assert _strongest(palette, desk.theme.tokens.accent_text) > plain + 10

    async def test_each_part_of_a_row_is_seen(self, desk: Desk, window: MainWindow) -> None:
        palette = await press_open(window)

        def row(entry: PaletteEntry, **more: Any) -> QImage:
            palette.model.set_records([PaletteMatch(entry, **more)])
            return palette.rows.grab().toImage()

        plain = named("Fill all until still")  # some of its stems cover a pixel, whatever the font
        reasons = [row(replace(plain, reason=reason)) for reason in ("Why", "No.")]
        details = [row(replace(plain, **more)) for more in ({"detail": "a"}, {"kind": "a"}, {"key_names": ("Ctrl",)})]
        rows = [row(plain, last=True), *reasons, *details, row(plain)]
        assert [_count(one, desk.theme.tokens.text) > 0 for one in (rows[-1], *reasons)] == [True, False, False]
        palette.rows.setCurrentIndex(palette.model.index(0, 0))
        rows.append(palette.rows.grab().toImage())
        row(plain)
        QTest.mouseMove(palette.rows.viewport(), QPoint(20, ROW // 2))
        rows.append(palette.rows.grab().toImage())
        assert not any(one == other for one, other in combinations(rows, 2))
        assert not row(named("Open " * 50), places=(5, 245)).isNull()

    async def test_a_row_draws_what_matches_where_it_belongs_and_its_keys(self, desk: Desk, window: MainWindow) -> None:
        palette, tokens = await press_open(window), desk.theme.tokens

        def row(text: str) -> Drawn:
            """The first one that is found."""
            palette.field.setText(text)
            return drawn(palette.rows.viewport(), palette.rows.visualRect(palette.model.index(0, 0)))

        found = row("setti")
        marked = [one for one in found.texts if one.colour == tokens.accent_text]
        assert ("".join(one.text for one in marked), {one.bold for one in marked}) == ("Setti", {True})
        assert found.words[-len(marked) - 1 :] == [*(one.text for one in marked), "ngs"]
        assert (found.text("ngs").colour, found.text("Program").colour) == (tokens.text, tokens.text_faint)
        caps = [one for one in found.grounds_of(tokens.bg) if one.contains(found.text("Ctrl").at)]
        assert len(caps) == 1
        assert caps[0].right() < found.text(",").at.x()
        assert marked[0].at.x() < found.text("Program").at.x() < found.text("Ctrl").at.x()
        assert [one.text for one in found.icons] == ["settings"]
        assert found.icons[0].at.x() < marked[0].at.x()
        assert found.grounds_of(tokens.selection)
        refused = row("edit endpoint")
        assert "No endpoint is shown." in refused.words
        assert refused.text("…").colour == tokens.text_faint, "the part that was not typed"
        assert "Endpoint" in refused.words

    async def test_a_screen_reader_hears_the_row(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (_, window):
            palette = await press_open(window)
            palette.field.setText("new end")
            index = palette.model.index(0, 0)
            assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "New endpoint, Endpoint, Ctrl+N"
            told = QAccessible.queryAccessibleInterface(palette.rows)
            assert told.role() == QAccessible.Role.List
            assert told.child(0).text(QAccessible.Text.Name) == "New endpoint, Endpoint, Ctrl+N"
            assert palette.field.accessibleName()

    @pytest.mark.slow
    async def test_many_endpoints_make_no_more_widgets(self, tmp_path: Path) -> None:
        async with shown(tmp_path, plan=Plan.PRO, endpoints=1) as (desk, window):
            palette = await press_open(window)
            before, rows = len(palette.findChildren(QWidget)), palette.model.rowCount()
            palette.dismiss()
            for _ in range(25):
                await desk.endpoint()
            palette.open()
            await settle()
            assert palette.model.rowCount() == rows + 25
            assert len(palette.findChildren(QWidget)) == before


def _strongest(palette: Palette, colour: str) -> int:
    """How many pixels of the first row have just this colour."""
    return _count(
        palette.rows.grab(palette.rows.visualRect(palette.model.index(0, 0)).adjusted(40, 0, -200, 0)).toImage(), colour
    )


def _count(picture: QImage, colour: str) -> int:
    wanted = QColor(colour).rgb()
    return sum(picture.pixel(x, y) == wanted for x in range(picture.width()) for y in range(picture.height()))
