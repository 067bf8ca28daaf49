"""The window that compares two targets of an endpoint, over a real store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QAction, QColor, QContextMenuEvent, QGuiApplication, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QPlainTextEdit, QSplitter

from app.core.comparison import IGNORED_HEADERS
from app.core.delivery import Delivery
from app.core.model import Endpoint
from app.core.rules import TOO_FEW
from app.core.target import TargetDraft
from app.ui.comparison import runner
from app.ui.comparison.compared_view import add_ignore_actions
from app.ui.comparison.dialog import MARGIN, MARK_WIDTH, ComparisonDialog
from app.ui.comparison.runner import IgnoredDialog, compare_command, stored_choice
from app.ui.endpoints.endpoint_actions import EndpointCommands
from app.ui.shell.main_window import MainWindow
from app.ui.theme import metrics
from app.ui.throttle import TICK_MS
from app.ui.window_file import WindowFile
from tests import deliveries
from tests.support import while_read
from tests.ui.desk import Desk, shown
from tests.ui.waiting import settle, until


async def answered(desk: Desk, endpoint: Endpoint, first: bytes, second: bytes, status: int = 200) -> list[Delivery]:
    """A request that both targets responded to with these bodies, the second with `status`; its deliveries."""
    rows = await deliveries.queued(desk.store, endpoint)
    await deliveries.respond(desk.store, rows[0], body=first)
    await deliveries.respond(desk.store, rows[1], status, second)
    return rows


async def opened(window: MainWindow, endpoint: Endpoint) -> ComparisonDialog:
    """The comparison of the endpoint, once all is compared."""
    window.endpoint_actions.compare_requested.emit(endpoint)
    dialog = window.findChildren(ComparisonDialog)[-1]
    await until(lambda: dialog.runner.ended and not dialog.runner.running)
    return dialog


@asynccontextmanager
async def comparison(
    folder: Path, *bodies: tuple[bytes, bytes]
) -> AsyncIterator[tuple[Desk, Endpoint, ComparisonDialog]]:
    """The comparison of an endpoint with requests that got these responses, oldest first."""
    async with shown(folder) as (desk, window):
        endpoint = await deliveries.two_targets(desk.store)
        for first, second in bodies:
            await answered(desk, endpoint, first, second)
        yield desk, endpoint, await opened(window, endpoint)


def listed(dialog: ComparisonDialog) -> list[str]:
    model = dialog.model
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def command(dialog: ComparisonDialog, endpoint: Endpoint) -> str:
    return compare_command(endpoint, dialog.choice)


def texts(dialog: ComparisonDialog) -> list[str]:
    return [side.toPlainText() for side in dialog.responses.body.sides]


async def test_what_differs_in_one_line_each(tmp_path: Path) -> None:
    bodies = ((b'{"id":1}', b'{"id":1}'), (b'{"id":1,"at":5}', b'{"id":2,"at":6}'))
    async with comparison(tmp_path, *bodies) as (_, _, dialog):
        assert len(listed(dialog)) == 1
        assert listed(dialog)[0].startswith("Different: POST ")
        assert listed(dialog)[0].endswith(". id: 1 → 2 · 1 more")
        assert dialog.progress.text() == "2 requests: 1 different · 1 same"
        assert not dialog.more.isVisible()
        dialog.filter.activated.emit("all")
        assert [text.partition(":")[0] for text in listed(dialog)] == ["Different", "Same"]
        tokens = dialog.theme.tokens
        for row, ground in enumerate((tokens.danger_soft, tokens.success_soft)):
            picture = dialog.list.viewport().grab(dialog.list.visualRect(dialog.model.index(row, 0))).toImage()
            mark = [picture.pixelColor(x, 16) for x in range(MARGIN, MARGIN + MARK_WIDTH)]
            assert QColor(ground) in mark


async def test_it_says_that_it_compares_and_can_be_stopped_and_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown(tmp_path) as (desk, window):
        endpoint = await deliveries.two_targets(desk.store)
        for number in (1, 2):
            await answered(desk, endpoint, b'{"id":1}', b'{"id":%d}' % number)
        goes_on, read = asyncio.Event(), desk.store.response_pairs.page

        async def held(*arguments: Any, **named: Any) -> Any:
            await goes_on.wait()
            return await read(*arguments, **named)

        monkeypatch.setattr(desk.store.response_pairs, "page", held)
        window.endpoint_actions.compare_requested.emit(endpoint)
        dialog = window.findChildren(ComparisonDialog)[-1]
        await until(lambda: dialog.progress.text() == "Comparing… Nothing compared yet")
        assert dialog.more.text() == "Stop"
        dialog.more.click()
        assert (dialog.more.text(), dialog.progress.text()) == ("Compare older requests", "Nothing compared yet")
        goes_on.set()
        dialog.more.click()
        await until(lambda: dialog.progress.text() == "2 requests: 1 different · 1 same")
        await until(lambda: not dialog.more.isVisible())


async def test_a_response_that_comes_while_earlier_ones_are_read_is_the_one_compared(tmp_path: Path) -> None:
    async with shown(tmp_path) as (desk, window):
        endpoint = await deliveries.two_targets(desk.store)
        first, second = await deliveries.queued(desk.store, endpoint)
        await deliveries.respond(desk.store, first, body=b'{"id":1}')
        failed = await deliveries.respond(desk.store, second, 500)

        async def retried() -> None:
            await deliveries.respond(desk.store, failed, body=b'{"id":1}')
            await settle(30)  # by then it could be compared

        happened = while_read(desk.store.response_pairs, "page", retried)
        window.endpoint_actions.compare_requested.emit(endpoint)
        dialog = window.findChildren(ComparisonDialog)[-1]
        await until(lambda: happened() and dialog.runner.ended and not dialog.runner.running)
        await until(lambda: dialog.progress.text() == "1 request: 0 different · 1 same")


async def test_the_first_one_is_open_with_both_responses_aligned(tmp_path: Path) -> None:
    async with comparison(tmp_path, (b'{"id":1,"ok":true}', b'{"ok":true,"new":null}')) as (_, _, dialog):
        await until(lambda: dialog.right.currentWidget() is dialog.responses)
        assert texts(dialog) == [
            '  {\n-   "id": 1,\n    "ok": true\n\n  }',
            '  {\n\n    "ok": true,\n+   "new": null\n  }',
        ]
        assert dialog.responses.body_title.text() == "Body · 2 differences"
        assert dialog.filter.accessibleName() == "Which requests are listed"
        assert [side.status.text() for side in dialog.responses.sides] == ["200", "200"]
        lengths = [side.length.text().partition(" · ")[2] for side in dialog.responses.sides]
        assert lengths == ["2.5 ms", "2.5 ms (+0.0 ms)"]
        first = dialog.responses.body.sides[0]
        assert first.textCursor().blockNumber() == 1
        alt = Qt.KeyboardModifier.AltModifier
        for key, line in ((Qt.Key.Key_Down, 3), (Qt.Key.Key_Down, 1), (Qt.Key.Key_Up, 3), (Qt.Key.Key_Up, 1)):
            QTest.keyClick(dialog, key, alt)
            assert first.textCursor().blockNumber() == line


async def test_how_each_target_responded_is_said(desk: Desk, window: MainWindow) -> None:
    endpoint = await deliveries.two_targets(desk.store)
    for status, body in ((200, b""), (404, b"1"), (500, b"1")):
        await answered(desk, endpoint, body, body, status)
    first, second = await deliveries.queued(desk.store, endpoint)
    await deliveries.respond(desk.store, first, body=b"1", headers=(("Date", "1"),))
    await deliveries.fail(desk.store, second)
    dialog = await opened(window, endpoint)
    dialog.filter.activated.emit("all")
    view = dialog.responses
    for row, said, tone, parts, differs in (
        (3, "200", "success", ("Headers · same", "Body · none"), False),
        (2, "≠ 404", "warning", ("Headers · same", "Body · same"), False),
        (1, "≠ 500", "danger", ("Headers · same", "Body · same"), False),
        (0, "≠ No response", "danger", ("Headers · same except ignored ones", "Body · 1 difference"), True),
    ):
        dialog.list.select_row(row)
        status = view.sides[1].status
        await until(lambda said=said, status=status: status.text() == said)
        assert (status.property("tone"), view.sides[0].status.property("tone")) == (tone, "success")
        assert (view.headers_title.text(), view.body_title.text()) == parts
        assert (view.previous.isEnabled(), view.following.isEnabled()) == (differs, differs)
    assert status.accessibleName() == "Status No response, different"
    assert view.sides[1].failure.text() == deliveries.REFUSED
    assert [side.length.text() for side in view.sides] == ["1 B · 2.5 ms", ""]


async def test_the_first_difference_is_where_it_opens_also_in_the_first_line(tmp_path: Path) -> None:
    async with comparison(tmp_path, (b"a\nsame\nb", b"x\nsame\ny")) as (_, _, dialog):
        await until(lambda: dialog.right.currentWidget() is dialog.responses)
        body = dialog.responses.body
        assert body.differences() == [0, 2]
        assert [side.textCursor().blockNumber() for side in body.sides] == [0, 0]


async def test_what_is_not_shown_of_the_bodies_is_said(tmp_path: Path) -> None:
    async with comparison(tmp_path, (b"{}", b"[1]"), (b"\0\1", b"{}")) as (_, _, dialog):
        notes = dialog.responses.notes
        await until(lambda: notes.text() == "First response: 2 bytes that are not text.")
        assert notes.isVisible()
        dialog.list.select_row(1)
        await until(lambda: all(texts(dialog)))
        assert not notes.isVisible()


async def test_bytes_that_differ_are_not_said_to_be_without_differences(tmp_path: Path) -> None:
    async with comparison(tmp_path, (b"\0\1", b"\0\2")) as (_, _, dialog):
        await until(lambda: dialog.responses.body_title.text() == "Body · different")
        assert dialog.responses.notes.text().endswith("\nBody differs at byte 1: 0x01 → 0x02 (2 → 2 bytes).")


async def test_ages_go_on_while_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    painted: list[int] = []

    def age(at_us: int, now_us: int) -> str:
        painted.append(now_us)
        return "9s"

    async with comparison(tmp_path, (b'{"id":1}', b'{"id":2}')) as (_, _, dialog):
        await until(lambda: dialog.right.currentWidget() is dialog.responses)
        monkeypatch.setattr("app.ui.comparison.dialog.ago_text", age)
        await until(lambda: painted and painted[-1] - painted[0] > 1_500_000)
        clock = dialog.list.findChildren(QTimer)
        assert any(timer.isActive() and timer.interval() == TICK_MS for timer in clock)
        dialog.list.hide()
        assert not any(timer.isActive() and timer.interval() == TICK_MS for timer in clock)


async def test_an_ignored_field_no_longer_counts_and_is_remembered(tmp_path: Path) -> None:
    async with comparison(tmp_path, (b'{"id":1}', b'{"id":2}')) as (desk, endpoint, dialog):
        await until(lambda: dialog.right.currentWidget() is dialog.responses)
        dialog.responses.body.sides[1].ignore_requested.emit("id")
        await until(lambda: dialog.progress.text() == "1 request: 0 different · 1 same")
        assert listed(dialog) == []
        assert dialog.empty.title.text() == "No differences"
        await until(lambda: "~" in texts(dialog)[0])
        assert texts(dialog)[0].splitlines()[1] == '~   "id": 1'
        assert stored_choice(WindowFile(desk.folder), endpoint).ignored.json_paths == ("id",)
        slug, (first, second) = endpoint.slug, (target.id for target in endpoint.targets)
        assert command(dialog, endpoint) == f"hookline compare {slug} {first} {second} --ignore-path id"
        dialog.copy.click()
        assert QGuiApplication.clipboard().text() == command(dialog, endpoint)


async def test_a_header_is_ignored_from_its_menu(desk: Desk, window: MainWindow) -> None:
    endpoint = await deliveries.two_targets(desk.store)
    for version, row in enumerate(await deliveries.queued(desk.store, endpoint)):
        headers = (("X-Version", str(version)), ("Server", "a"), ("Date", str(version)))
        await deliveries.respond(desk.store, row, headers=headers)
    dialog = await opened(window, endpoint)
    await until(lambda: dialog.right.currentWidget() is dialog.responses)
    table = dialog.responses.headers
    marks = [table.rows.index(row, 0).data() for row in range(table.rows.rowCount())]
    assert marks == ["≠", "", "~"]
    picture, tokens = table.viewport().grab().toImage(), dialog.theme.tokens
    grounds = [
        [
            picture.pixelColor(table.visualRect(table.rows.index(row, column)).topLeft() + QPoint(1, 1))
            for column in (2, 3)
        ]
        for row in (0, 1)
    ]
    assert grounds[0] == [QColor(tokens.danger_soft), QColor(tokens.success_soft)]
    assert grounds[1] == [QColor(tokens.surface)] * 2

    def is_red(column: int) -> bool:
        place = table.visualRect(table.rows.index(0, column))
        pixels = product(range(place.left(), place.right()), range(place.top(), place.bottom()))
        return any(picture.pixelColor(*pixel) == QColor(tokens.danger) for pixel in pixels)

    assert [is_red(column) for column in (0, 1)] == [True, False], "the mark"
    assert table.menu(1) is None
    menu = table.menu(0)
    assert menu is not None
    assert menu.actions()[0].text() == "Ignore this field: X-Version"
    menu.actions()[0].trigger()
    await until(lambda: dialog.progress.text() == "1 request: 0 different · 1 same")


async def test_ignored_fields_are_edited_as_text(tmp_path: Path) -> None:
    async with comparison(tmp_path, (b'{"id":1}', b'{"id":2}')) as (_, endpoint, dialog):
        dialog.ignored.click()
        edit = dialog.findChildren(IgnoredDialog)[0]
        edit.paths.setPlainText("a...")
        assert not edit.save.isEnabled()
        assert edit.save.toolTip() == edit.paths_field.error() != ""
        edit.headers.setPlainText("X A")
        edit.paths.setPlainText("$..id\n")
        assert edit.save.toolTip() == edit.headers_field.error() == "Headers: 'X A' is not a header name."
        assert not edit.paths_field.error()
        edit.headers.setPlainText("X-A")
        edit.save.click()
        await until(lambda: dialog.progress.text() == "1 request: 0 different · 1 same")
        assert dialog.ignored.text() == "Ignored fields (2)…"
        assert "--all-headers --ignore-header X-A --ignore-path '$..id'" in command(dialog, endpoint)
        await until(lambda: not dialog.findChildren(IgnoredDialog))
        dialog.ignored.click()
        (edit,) = dialog.findChildren(IgnoredDialog)
        assert not edit.has_changes()
        edit.reset.click()
        assert edit.has_changes()
        assert edit.paths.toPlainText() == ""
        assert edit.headers.toPlainText().splitlines() == [*IGNORED_HEADERS]
        edit.save.click()
        await until(lambda: dialog.progress.text() == "1 request: 1 different · 0 same")


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
async def test_a_line_that_differs_is_ignored_from_the_menu_of_the_text(tmp_path: Path) -> None:
    async with comparison(tmp_path, (b'{"id":1,"ok":true}', b'{"id":2,"ok":true}')) as (_, endpoint, dialog):
        await until(lambda: dialog.right.currentWidget() is dialog.responses)

        def menu_at(side: QPlainTextEdit, line: int | None) -> dict[str, QAction]:
            """Its entries; asked for with the pointer on a line, or with the key."""
            block = side.document().findBlockByNumber(line or 0)
            place = side.cursorRect(QTextCursor(block)).center()
            reason = QContextMenuEvent.Reason.Keyboard if line is None else QContextMenuEvent.Reason.Mouse
            asked = QContextMenuEvent(reason, place, side.viewport().mapToGlobal(place))
            QApplication.sendEvent(side.viewport(), asked)
            menu = QApplication.activePopupWidget()
            assert isinstance(menu, QMenu)
            menu.close()
            return {action.text(): action for action in menu.actions()}

        ignore = "Ignore this field: id"
        for side in dialog.responses.body.sides:
            assert ignore in menu_at(side, 1)
            assert ignore in menu_at(side, None), "the line of the cursor"
            assert not any(text.startswith("Ignore") for text in menu_at(side, 2))
        menu_at(dialog.responses.body.sides[1], 1)[ignore].trigger()
        await until(lambda: dialog.progress.text() == "1 request: 0 different · 1 same")
        assert command(dialog, endpoint).endswith("--ignore-path id")


async def test_what_is_edited_meanwhile_is_named_as_it_is_now(tmp_path: Path) -> None:
    async with comparison(tmp_path, (b"1", b"2")) as (desk, endpoint, dialog):
        second = endpoint.targets[1]
        await desk.store.targets.update(second.id, replace(second.draft(), url="http://127.0.0.1:9/renamed"))
        names = dialog.targets.second
        await until(lambda: names.currentText() == "2. http://127.0.0.1:9/renamed")
        await desk.store.endpoints.update(endpoint.id, replace(endpoint.draft(), name="Renamed"))
        await until(lambda: dialog.windowTitle() == "Compare targets of “Renamed”")
        assert dialog.title.text() == dialog.windowTitle()
        third = await desk.store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:9/third"))
        await until(lambda: names.count() == 3)
        await desk.store.targets.delete(endpoint.targets[0].id)
        await until(lambda: (dialog.choice.first, dialog.choice.second) == (second.id, third.id))
        assert dialog.isVisible()
        assert dialog.targets.first.value() == second.id


async def test_entries_of_the_menu_for_a_json_value() -> None:
    menu = QMenu()
    ignored: list[str] = []
    add_ignore_actions(menu, "items[2].created_at", ignored.append)
    actions = [action for action in menu.actions() if not action.isSeparator()]
    for action in actions:
        action.trigger()
    assert ignored == ["items[2].created_at", "items[*].created_at", "$..created_at"]
    assert actions[2].text() == "Ignore this field anywhere: $..created_at"
    empty = QMenu()
    add_ignore_actions(empty, "$", ignored.append)
    assert empty.isEmpty()


async def test_new_responses_appear_while_it_is_open(tmp_path: Path) -> None:
    async with comparison(tmp_path, (b"1", b"2")) as (desk, endpoint, dialog):
        await until(lambda: dialog.right.currentWidget() is dialog.responses)
        selected = dialog.list.currentIndex().row()
        assert selected == 0
        await answered(desk, endpoint, b"1", b"3", status=500)
        await until(lambda: dialog.model.rowCount() == 2)
        assert "Status: 200 → 500 · 1 more" in listed(dialog)[0]
        assert dialog.list.currentIndex().row() == 1
        await settle()
        assert texts(dialog) == ["- 1", "+ 2"]


async def test_the_open_request_follows_a_new_response(tmp_path: Path) -> None:
    async with shown(tmp_path) as (desk, window):
        endpoint = await deliveries.two_targets(desk.store)
        _, second = await answered(desk, endpoint, b"1", b"2")
        await answered(desk, endpoint, b"1", b"3")
        dialog = await opened(window, endpoint)
        dialog.list.select_row(1)
        await until(lambda: texts(dialog) == ["- 1", "+ 2"])
        (ended,) = (one for one in await desk.store.deliveries.of_capture(second.capture_id) if one.id == second.id)
        await deliveries.respond(desk.store, ended, body=b"5")
        await until(lambda: texts(dialog) == ["- 1", "+ 5"])
        assert dialog.list.current_row() == 1


async def test_the_open_request_is_selected_again_once_it_is_listed_again(tmp_path: Path) -> None:
    async with comparison(tmp_path, (b"1", b"1"), (b"1", b"2")) as (_, _, dialog):
        dialog.filter.activated.emit("all")
        dialog.list.select_row(1)
        await until(lambda: texts(dialog) == ["  1", "  1"])
        dialog.filter.activated.emit("different")
        assert dialog.model.rowCount() == 1
        assert not dialog.list.selectionModel().hasSelection()
        dialog.filter.activated.emit("all")
        assert (dialog.model.rowCount(), dialog.list.current_row()) == (2, 1)


async def test_nothing_to_compare_and_all_the_same_are_said(tmp_path: Path) -> None:
    async with comparison(tmp_path) as (desk, endpoint, dialog):
        assert dialog.left.currentWidget() is dialog.empty
        assert dialog.empty.title.text() == "Nothing to compare yet"
        await answered(desk, endpoint, b"1", b"1")
        await until(lambda: dialog.empty.title.text() == "No differences")
        assert dialog.empty.text.text() == "Both targets responded the same to 1 request."
        rows = await deliveries.queued(desk.store, endpoint)
        for row in rows:
            await deliveries.fail(desk.store, row)
        await until(lambda: "1 without a response" in dialog.progress.text())
        assert dialog.empty.text.text().endswith("Neither responded to 1 request.")


async def test_it_stops_after_many_requests_until_asked(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(runner, "PAGE", 1)
    monkeypatch.setattr(runner, "STEP", 2)

    async with shown(tmp_path) as (desk, window):
        endpoint = await deliveries.two_targets(desk.store)
        for _ in range(3):
            await answered(desk, endpoint, b"1", b"2")
        window.endpoint_actions.compare_requested.emit(endpoint)
        dialog = window.findChildren(ComparisonDialog)[0]
        await until(lambda: dialog.model.rowCount() == 2 and not dialog.runner.running)
        assert (dialog.more.isVisible(), dialog.more.text()) == (True, "Compare older requests")
        dialog.more.click()
        await until(lambda: dialog.model.rowCount() == 3 and dialog.runner.ended)


async def test_swapping_and_choosing_targets(tmp_path: Path) -> None:
    async with comparison(tmp_path, (b'{"id":1}', b'{"id":2}')) as (desk, endpoint, dialog):
        dialog.targets.swap.click()
        await until(lambda: listed(dialog) and "id: 2 → 1" in listed(dialog)[0])
        first, second = (target.id for target in endpoint.targets)
        stored = stored_choice(WindowFile(desk.folder), endpoint)
        assert (stored.first, stored.second) == (second, first)
        assert (dialog.targets.first.value(), dialog.targets.second.value()) == (second, first)
        dialog.targets.first.setCurrentIndex(0)
        dialog.targets.first.activated.emit(0)
        assert (dialog.targets.first.value(), dialog.targets.second.value()) == (first, second)


async def test_late_results_of_other_targets_are_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go, begun = asyncio.Event(), asyncio.Event()

    async with comparison(tmp_path, (b'{"id":1}', b'{"id":2}')) as (desk, endpoint, dialog):
        before = (dialog.choice.first, dialog.choice.second)
        read = desk.store.response_pairs.page

        async def page(endpoint_id: int, first: int, second: int, **more: Any) -> Any:
            if (first, second) == before and "limit" in more:
                begun.set()
                await go.wait()
            return await read(endpoint_id, first, second, **more)

        monkeypatch.setattr(desk.store.response_pairs, "page", page)
        await answered(desk, endpoint, b'{"id":3}', b'{"id":4}')
        await begun.wait()
        dialog.targets.swap.click()
        await until(lambda: dialog.model.rowCount() == 2 and not dialog.runner.running)
        go.set()
        await until(lambda: not desk.tasks.running())
        assert ["id: 4 → 3" in listed(dialog)[0], "id: 2 → 1" in listed(dialog)[1]] == [True, True]


async def test_it_needs_two_targets_and_closes_without_them(desk: Desk, window: MainWindow) -> None:
    alone = await desk.endpoint(forward_url=deliveries.URL)
    current = [alone]
    commands = EndpointCommands(lambda: current[0], window.services, window.endpoint_actions, desk.theme, window)
    assert (commands.compare.isEnabled(), commands.compare.reason) == (False, TOO_FEW)
    window.show_endpoint(alone.id)
    names = {entry.text: entry.reason for entry in window.commands.palette.entries()}
    assert names["Compare targets…"] == TOO_FEW
    await desk.store.targets.create(alone.id, TargetDraft(url="http://127.0.0.1:9/new"))
    found = desk.store.endpoints.by_id(alone.id)
    assert found is not None
    current[0] = found
    commands.refresh()
    assert commands.compare.isEnabled()
    commands.compare.run()
    dialog = window.findChildren(ComparisonDialog)[0]
    assert dialog.isVisible()
    assert not dialog.isModal()
    await desk.store.targets.delete(found.targets[1].id)
    await until(lambda: not window.findChildren(ComparisonDialog))


async def test_lines_are_coloured_as_they_come_into_view(tmp_path: Path) -> None:
    lines = [b"%d" % number for number in range(1_000)]
    other = [*lines[:900], b"other", *lines[901:]]
    async with comparison(tmp_path, (b"\n".join(lines), b"\n".join(other))) as (_, _, dialog):
        await until(lambda: dialog.right.currentWidget() is dialog.responses)
        first, second = dialog.responses.body.sides
        for side in (first, second):
            assert [each.cursor.blockNumber() for each in side.extraSelections()] == [900]
        first.verticalScrollBar().setValue(0)
        assert second.verticalScrollBar().value() == 0
        assert not first.extraSelections()


async def test_both_bodies_scroll_sideways_together(tmp_path: Path) -> None:
    async with comparison(tmp_path, (b"1", b"2"), (b"x" * 900, b"y"), (b"x" * 900, b"y" * 900)) as (_, _, dialog):
        sides = dialog.responses.body.sides
        await until(lambda: texts(dialog)[1].endswith("yy"))
        first, second = (side.horizontalScrollBar() for side in sides)
        await until(lambda: min(first.maximum(), second.maximum()) > 100)
        first.setValue(70)
        assert second.value() == 70
        second.setValue(30)
        assert first.value() == 30
        for row, scrolls in ((1, True), (2, False)):
            dialog.list.select_row(row)
            await until(lambda scrolls=scrolls: first.isVisible() is second.isVisible() is scrolls)


async def test_a_line_has_the_colour_of_its_side_and_none_where_it_is_missing(tmp_path: Path) -> None:
    bodies = (b'{"id":1,"ok":true,"n":1}', b'{"ok":true,"n":2,"new":null}')
    async with comparison(tmp_path, bodies) as (_, _, dialog):
        await until(lambda: dialog.right.currentWidget() is dialog.responses)
        tokens = dialog.theme.tokens
        grounds = []
        for side in dialog.responses.body.sides:
            lines = side.toPlainText().split("\n")
            grounds.append(
                {
                    lines[each.cursor.blockNumber()].strip(): each.format.background().color().name()
                    for each in side.extraSelections()
                }
            )
        red, green, grey = (QColor(one).name() for one in (tokens.danger_soft, tokens.success_soft, tokens.hover))
        assert grounds == [
            {'-   "id": 1,': red, '-   "n": 1': red, "": grey},
            {"": grey, '+   "n": 2,': green, '+   "new": null': green},
        ]


@pytest.mark.parametrize(("size", "least"), [((1280, 800), (1232, 752)), ((2200, 1300), (2152, 1252))])
async def test_it_uses_the_room_of_the_window(tmp_path: Path, size: tuple[int, int], least: tuple[int, int]) -> None:
    async with shown(tmp_path) as (desk, window):
        window.resize(*size)
        endpoint = await deliveries.two_targets(desk.store)
        await answered(desk, endpoint, b"1", b"2")
        dialog = await opened(window, endpoint)
        await until(dialog.responses.isVisible)
        assert dialog.width() >= least[0]
        assert dialog.height() >= least[1]
        await until(lambda: dialog.left.width() < 400)  # the rest is for the responses


async def test_a_low_window_leaves_its_room_to_the_bodies(tmp_path: Path) -> None:
    lines = ",".join(f'"{number}":0' for number in range(20)).encode()
    async with comparison(tmp_path, (b"{%s}" % lines, b'{%s,"x":1}' % lines)) as (_, _, dialog):
        view = dialog.responses
        await until(view.isVisible)
        for height, same_headers in ((466, False), (760, True)):
            dialog.resize(895, height)
            await settle(10)
            assert view.headers.isVisible() is same_headers
            assert dialog.title.isVisible() is same_headers
            text = view.body.sides[0]
            assert text.viewport().height() >= 8 * text.fontMetrics().lineSpacing()
        spare = view.headers.viewport().height() - view.headers.rows.rowCount() * metrics.ROW_DENSE
        assert 0 <= spare < metrics.ROW_DENSE, "all headers, and no room that the body could have"
        (split,) = view.findChildren(QSplitter)
        split.moveSplitter(300, 1)
        dialog.resize(895, 780)
        await settle(10)
        assert abs(split.sizes()[0] - 300) < 3


async def test_of_a_request_that_was_deleted_it_says_so(tmp_path: Path) -> None:
    async with comparison(tmp_path, (b"a", b"b"), (b"c", b"d")) as (desk, _, dialog):
        await until(dialog.responses.isVisible)
        await desk.store.captures.delete([dialog.model.record(1).request.id])
        dialog.list.select_row(1)
        await until(dialog.gone.isVisible, 5)
        assert not dialog.no_selection.isVisible(), "it is selected"
        dialog.list.select_row(0)
        await until(dialog.responses.isVisible)
