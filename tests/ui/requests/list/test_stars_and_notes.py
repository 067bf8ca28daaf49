"""Stars and notes in the window: set, removed, and up to date wherever they are shown."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtTest import QTest

from app.core.errors import StorageUnavailableError
from app.core.rules import NOTE_MAX
from app.ui.commands.command import ActionButton
from app.ui.requests.list.delegate import tooltip
from tests import factories
from tests.ui.desk import shown as shown_window
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import activate, settle, until

CTRL = Qt.KeyboardModifier.ControlModifier


async def opened(shown: PageDesk, rows: int = 4, row: int = 1) -> list[str]:
    await shown.fill(rows)
    await shown.reload()
    await activate(shown.page)
    shown.list.select_row(row)
    shown.list.setFocus()
    ids = shown.ids()
    await until(lambda: shown.page.detail.summary is not None and shown.page.detail.summary.id == ids[row])
    return ids


def star_of(shown: PageDesk, row: int) -> QPoint:
    rect = shown.list.visualRect(shown.model.index(row))
    return shown.list.request_delegate.star_rect(rect).center()


def is_star_seen(shown: PageDesk, row: int) -> bool:
    """Whether anything but the row's ground is painted where its star belongs."""
    picture = shown.list.viewport().grab().toImage()
    place = star_of(shown, row)
    ratio = picture.devicePixelRatio()
    return len({picture.pixel(int((place.x() + x) * ratio), int(place.y() * ratio)) for x in range(-8, 9)}) > 1


async def test_a_click_on_a_star_that_is_seen_toggles_it_and_chooses_nothing(shown: PageDesk) -> None:
    ids = await opened(shown)
    viewport = shown.list.viewport()
    QTest.mouseMove(viewport, star_of(shown, 3))
    await until(lambda: is_star_seen(shown, 3))
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=star_of(shown, 3))
    await until(lambda: shown.model.summary(3).starred)
    assert [summary.id for summary in shown.list.selected()] == [ids[1]]
    assert shown.detail.capture_id == ids[1]
    QTest.mouseMove(viewport, star_of(shown, 2))
    await until(lambda: is_star_seen(shown, 2))
    assert is_star_seen(shown, 3)
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=star_of(shown, 3))
    await until(lambda: not shown.model.summary(3).starred)
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=star_of(shown, 3) + QPoint(60, 0))
    await until(lambda: shown.detail.capture_id == ids[3])
    stored = await shown.desk.store.captures.get(ids[3])
    assert stored is not None
    assert not stored.starred


async def test_where_no_star_is_seen_a_click_gives_none(tmp_path: Path) -> None:
    """As a finger clicks: the mouse was not there before, so that the row showed no star."""

    async with open_page(tmp_path) as shown:
        ids = await opened(shown)
        viewport = shown.list.viewport()
        assert not is_star_seen(shown, 3)
        QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=star_of(shown, 3))
        await until(lambda: shown.detail.capture_id == ids[3])
        assert not shown.model.summary(3).starred
        await until(lambda: is_star_seen(shown, 3))  # the row is selected now
        QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=star_of(shown, 3))
        await until(lambda: shown.model.summary(3).starred)


async def test_s_and_the_heads_star_are_the_same(shown: PageDesk) -> None:
    await opened(shown)
    command = shown.page.commands.opened.star
    button = next(b for b in shown.detail.header.findChildren(ActionButton) if b.command is command)
    assert button.accessibleName() == "Star"
    QTest.keyClick(shown.list, Qt.Key.Key_S)
    await until(lambda: shown.model.summary(1).starred)
    assert button.accessibleName() == "Remove star"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    await until(lambda: not shown.model.summary(1).starred)
    shown.detail.tabs.setFocus()
    QTest.keyClick(shown.detail.tabs, Qt.Key.Key_S)
    await until(lambda: shown.model.summary(1).starred)


async def test_who_wrote_a_note_is_said_but_not_while_it_is_edited(shown: PageDesk) -> None:
    ids = await opened(shown)
    note = shown.detail.header.note
    note.show_note(ids[1], "Look here", "ann")
    assert note.author.isVisible()
    assert note.author.text() == "by ann"
    note.start()
    assert not note.author.isVisible()
    note.cancel()
    assert note.author.isVisible()


async def test_a_list_of_the_starred_and_the_noted_follows(shown: PageDesk) -> None:
    ids = await opened(shown, 6)
    captures = shown.desk.store.captures
    shown.page.filter.bar.set_text("is:starred")
    await until(lambda: shown.page.filter.found_nothing)
    await captures.star([ids[2], ids[4]])
    await until(lambda: shown.ids() == [ids[2], ids[4]])
    shown.page.filter.bar.set_text("is:noted")
    await until(lambda: shown.page.filter.found_nothing)
    await captures.set_note(ids[5], "look")
    await until(lambda: shown.ids() == [ids[5]])
    assert shown.model.summary(0).note == "look"


@pytest.mark.slow
async def test_what_is_marked_while_it_is_being_read_shows(shown: PageDesk) -> None:
    made = await shown.fill(20)
    star, page = shown.desk.store.captures.star, shown.page
    for number, capture in enumerate(made):
        page.show_endpoint(shown.endpoint.id)
        page.detail.show_request(capture.id)
        for _ in range(number % 4):
            await asyncio.sleep(0)
        await star([capture.id])
        await until(lambda: shown.model.rowCount() == 20 and not shown.feed.pager.jumping)
        await until(lambda capture=capture: page.detail.summary and page.detail.summary.id == capture.id)
        row = shown.model.row_of(capture.id)
        assert row is not None
        assert shown.model.summary(row).starred
        assert page.detail.summary is not None
        assert page.detail.summary.starred
    await star([made[0].id], False)
    await shown.reload()
    assert not shown.model.summary(19).starred


async def test_many_starred_at_once_are_each_listed_once(shown: PageDesk) -> None:
    made = await shown.fill(5)
    await shown.reload()
    shown.page.filter.bar.line.setText("is:starred")
    await until(lambda: shown.page.filter.found_nothing)
    shown.feed._throttle.set_interval(300)
    shown.feed._throttle.call()  # what is found now waits for a moment
    # The oldest last: with each of them all that are newer are found again.
    for capture in reversed(made):
        await shown.desk.store.captures.star([capture.id])
        await until(lambda: not shown.feed.search._searching_queued)
    await until(lambda: shown.model.rowCount() >= 5)
    await settle()
    assert shown.ids() == [capture.id for capture in reversed(made)]


async def test_a_note_is_written_under_the_head_and_shown_everywhere(shown: PageDesk) -> None:
    ids = await opened(shown)
    note = shown.detail.header.note
    below = (note.hint, note.cancel_button, note.save_button)
    assert not note.isVisible()
    QGuiApplication.clipboard().clear()
    QTest.keyClick(shown.list, Qt.Key.Key_N)
    await until(note.text.hasFocus)
    QTest.keyClicks(note.text, "cluspn")
    QTest.keyClick(note.text, Qt.Key.Key_Return)
    QTest.keyClicks(note.text, "two")
    assert note.text.toPlainText() == "cluspn\ntwo"
    assert note.hint.text().startswith("10 of 2,000")
    assert all(one.isVisible() for one in below)
    QTest.keyClick(note.text, Qt.Key.Key_Return, CTRL)
    await until(lambda: shown.model.summary(1).note == "cluspn\ntwo")
    assert not note.writing
    assert note.isVisible()
    assert not any(one.isVisible() for one in below)
    assert note.text.isReadOnly()
    assert shown.page.focusWidget() is shown.list
    assert shown.page.commands.selected.note.text() == "Edit note…"
    assert not shown.model.summary(1).starred
    assert QGuiApplication.clipboard().text() == ""
    assert "Note: cluspn\ntwo" in tooltip(shown.model.summary(1), {})
    shown.list.select_row(0)
    await until(lambda: not note.isVisible())
    stored = await shown.desk.store.captures.get(ids[1])
    assert stored is not None
    assert stored.note == "cluspn\ntwo"


async def test_a_note_and_a_star_of_a_team_say_who_set_them(shown: PageDesk) -> None:
    ids = await opened(shown)
    note = shown.detail.header.note
    shown.desk.bus.publish(factories.updated(ids[1], note="seen", noted_by="mona"))
    shown.desk.bus.publish(factories.updated(ids[1], starred=True, starred_by="ann"))
    assert note.author.isVisible()
    assert note.author.text() == "by mona"
    assert "Note by mona: seen" in tooltip(shown.model.summary(1), {})
    assert shown.model.summary(1).starred_by == "ann"
    note.start()
    assert not note.author.isVisible()
    note.cancel()
    shown.desk.bus.publish(factories.updated(ids[1], note="seen", noted_by=None))
    assert not note.author.isVisible()


async def test_esc_leaves_a_note_as_it_was_and_an_empty_one_removes_it(shown: PageDesk) -> None:
    ids = await opened(shown)
    await shown.desk.store.captures.set_note(ids[1], "before")
    note = shown.detail.header.note
    await until(note.isVisible)
    QTest.mouseClick(note.edit, Qt.MouseButton.LeftButton)
    QTest.keyClicks(note.text, " and after")
    QTest.keyClick(note.text, Qt.Key.Key_Escape)
    assert note.text.toPlainText() == "before"
    assert shown.detail.capture_id == ids[1]
    note.start()
    QTest.keyClick(note.text, Qt.Key.Key_A, CTRL)
    QTest.keyClick(note.text, Qt.Key.Key_Delete)
    QTest.mouseClick(note.save_button, Qt.MouseButton.LeftButton)
    await until(lambda: shown.model.summary(1).note is None)
    assert not note.isVisible()


async def test_a_note_takes_no_more_than_can_be_saved_and_says_so(shown: PageDesk) -> None:
    await opened(shown)
    note = shown.detail.header.note
    note.start()
    QTest.keyClicks(note.text, "ab")
    note.text.moveCursor(QTextCursor.MoveOperation.Left)
    QGuiApplication.clipboard().setText("x\n\N{GRINNING FACE}" * 1_000)
    note.text.paste()
    text = note.text.toPlainText()
    assert text == "a" + ("x\n\N{GRINNING FACE}" * 1_000)[: NOTE_MAX - 2] + "b"
    assert note.hint.text() == "2,000 of 2,000 · 1,002 more did not fit"
    assert note.hint.property("kind") == "error"
    QTest.keyClicks(note.text, "y")
    assert note.text.toPlainText() == text
    assert note.hint.text() == "2,000 of 2,000 · 1 more did not fit"
    note.text.undo()
    QTest.keyClick(note.text, Qt.Key.Key_Backspace)
    assert note.hint.property("kind") == "small"
    note.text.setPlainText(f"{'z' * NOTE_MAX}\0")
    shown.list.select_row(2)
    await until(lambda: shown.model.summary(1).note == "z" * NOTE_MAX)


async def test_a_note_written_elsewhere_shows_but_not_over_what_is_being_written(shown: PageDesk) -> None:
    ids = await opened(shown)
    note, captures = shown.detail.header.note, shown.desk.store.captures
    await captures.set_note(ids[1], "from a script")
    await until(lambda: note.text.toPlainText() == "from a script")
    note.start()
    QTest.keyClicks(note.text, "!")
    await captures.set_note(ids[1], "another")
    assert note.text.toPlainText() == "from a script!"
    note.cancel()
    assert note.text.toPlainText() == "another"


async def test_a_note_that_the_store_cannot_take_is_there_to_be_saved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = count(1)

    async def refuse(capture_id: str, text: str) -> None:
        raise StorageUnavailableError(f"The disk is full: {next(numbers)}.")

    async with open_page(tmp_path) as shown:
        ids = await opened(shown)
        note, captures, messages = shown.detail.header.note, shown.desk.store.captures, shown.desk.messages
        note.start()
        note.text.setPlainText("kept")
        with monkeypatch.context() as patch:
            patch.setattr(shown.services.store.captures, "set_note", refuse)
            note.save()
            await until(lambda: note.writing)
            assert note.text.toPlainText() == "kept"
            shown.list.select_row(2)
            await until(lambda: [message.text for message in messages.waiting()] == ["The disk is full: 2."])
        shown.list.select_row(1)
        await until(lambda: note.writing and note.text.toPlainText() == "kept")
        note.save()
        await until(lambda: shown.model.summary(1).note == "kept")
        stored = await captures.get(ids[1])
        assert stored is not None
        assert stored.note == "kept"
        for message in messages.waiting():
            messages.withdraw(message.key)


async def test_a_note_that_the_store_cannot_take_leaves_the_keyboard_where_the_user_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_page(tmp_path) as shown:
        await opened(shown)
        note, line, messages = shown.detail.header.note, shown.page.filter.bar.line, shown.desk.messages

        async def refuse(capture_id: str, text: str) -> None:
            await asyncio.sleep(0)
            raise StorageUnavailableError("The disk is full.")

        monkeypatch.setattr(shown.services.store.captures, "set_note", refuse)
        shown.list.setFocus()
        note.start()
        QTest.keyClicks(note.text, "kept")
        note.save()
        await until(lambda: note.writing)
        assert note.text.hasFocus(), "the user stayed"
        note.save()
        line.setFocus()
        await until(lambda: note.writing)
        assert line.hasFocus()
        shown.list.setFocus()
        shown.list.select_row(2)
        await until(lambda: not note.writing and not shown.desk.tasks.running())
        shown.list.select_row(1)
        await until(lambda: note.writing)
        assert shown.list.hasFocus()
        assert note.text.toPlainText() == "kept"
        note.text.setFocus()
        note.cancel()
        for message in messages.waiting():
            messages.withdraw(message.key)


@pytest.mark.qt_log_ignore("This plugin does not support raise")
@pytest.mark.parametrize("own", [False, True])
async def test_a_note_being_written_as_the_program_ends_is_saved(tmp_path: Path, own: bool) -> None:
    async with shown_window(tmp_path, endpoints=1) as (desk, window):
        endpoint = desk.services.store.endpoints.all()[0]
        capture = await desk.capture(endpoint)
        window.show_endpoint(endpoint.id)
        page = window.requests
        if own:
            page.windows.open(capture.summary())
        else:
            page.open_request(capture.id)
        detail = (page.windows.open_now[capture.id] if own else page).detail
        await until(lambda: detail.summary is not None)
        note = detail.header.note
        note.start()
        QGuiApplication.clipboard().setText("not saved yet" + "!" * NOTE_MAX)
        note.text.paste()
        window.stop()
        await desk.tasks.cancel_all()
        await desk.store.captures.star([capture.id])  # written behind it
        stored = await desk.store.captures.get(capture.id)
        assert stored is not None
        assert stored.note == ("not saved yet" + "!" * NOTE_MAX)[:NOTE_MAX]


def test_a_notes_hidden_characters_are_named_in_the_tooltip() -> None:
    hostile = "a\u202eb\nc"
    summary = factories.capture(note=hostile, starred=True).summary()
    assert "Note: a\\u202eb\nc" in tooltip(summary, {})
