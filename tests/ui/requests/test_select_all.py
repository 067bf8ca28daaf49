"""Select all, loaded or not: what is selected, and what ends it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.core.activity import DASH
from app.core.clock import DAY_US, local_time, now_us
from app.core.model import Summary
from app.core.search.parse import parse
from app.ui.requests import select_all as bulk_module
from app.ui.requests.page.panes import LIST_MINIMUM
from app.ui.widgets.dialog import Question
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import activate, settle, until, wait_for_widget

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
LEFT = Qt.MouseButton.LeftButton


async def filled(shown: PageDesk, count: int) -> None:
    await shown.fill(count)
    await shown.reload()
    await activate(shown.page)
    shown.list.setFocus()


async def select_loaded(shown: PageDesk) -> None:
    QTest.keyClick(shown.list, Qt.Key.Key_A, CTRL)
    await until(shown.page.list_footer.bar.select_all.isVisible)


def offered(shown: PageDesk) -> list[str]:
    """What the palette has about the list now."""
    return [one.text() for one in shown.page.commands.all() if one.isEnabled() and one.group == "List"]


async def select_everything(shown: PageDesk) -> None:
    await select_loaded(shown)
    QTest.mouseClick(shown.page.list_footer.bar.select_all, LEFT)
    await until(lambda: shown.page.select_all.requests)
    await until(lambda: shown.page.list_footer.bar.text.whole_text().startswith("All "))


def total(shown: PageDesk) -> int:
    return shown.desk.store.captures.counts(shown.endpoint.id).total


async def answer(shown: PageDesk) -> Question:
    QTest.keyClick(shown.list, Qt.Key.Key_Delete)
    asked = await wait_for_widget(Question, shown.page)
    QTest.mouseClick(asked.confirm, LEFT)
    return asked


async def test_all_is_offered_where_more_is_stored_than_loaded(shown: PageDesk) -> None:
    await filled(shown, 450)
    bar = shown.page.list_footer.bar
    QTest.keyClick(shown.list, Qt.Key.Key_Down)
    QTest.keyClick(shown.list, Qt.Key.Key_Down, SHIFT)
    await until(lambda: bar.text.whole_text() == "2 selected")
    assert not bar.select_all.isVisible()
    await select_loaded(shown)
    assert bar.text.whole_text() == "200 selected"
    assert bar.select_all.text() == "Select all 450"
    assert "not loaded" in bar.select_all.toolTip()
    assert "Select all 450 requests" in offered(shown)
    bar.select_all.setFocus()
    told: list[str] = []
    shown.page.batch.changed.connect(lambda: told.append(bar.progress_text.text()))
    await select_everything(shown)
    assert "Selecting 450 of 450…" in told
    assert shown.list.hasFocus()
    assert bar.text.whole_text() == "All 450 selected"
    assert not bar.select_all.isVisible()
    delete = shown.page.commands.selected.delete
    await until(lambda: delete.text() == "Delete 450 requests…")


async def test_what_came_in_is_offered_too_where_the_newest_are_not_loaded(shown: PageDesk) -> None:
    await filled(shown, 450)
    QTest.keyClick(shown.list, Qt.Key.Key_End)
    await until(lambda: shown.model.at_tail and not shown.model.at_head)
    await shown.add()
    await until(lambda: shown.feed.new_count == 1)
    await select_loaded(shown)
    assert shown.page.list_footer.bar.select_all.text() == "Select all 451"


@pytest.mark.usefixtures("each_font")
async def test_where_room_is_short_the_offer_is_not_cut(shown: PageDesk) -> None:
    await filled(shown, 450)
    await select_loaded(shown)
    bar = shown.page.list_footer.bar
    shown.page.splitter.setSizes([460, 540])
    await settle()
    assert bar.text.isVisible()
    shown.page.splitter.setSizes([340, 660])
    shown.pause.set(True)
    await settle()
    row = bar.select_all.parentWidget().layout()
    whole: list[tuple[bool, bool, bool]] = []
    for digits in range(4, 18):
        bar.say("200 selected", offer=f"Select all {10**digits:,}")
        assert row.sizeHint().width() <= bar.width()
        words = bar.select_all.text()
        whole.append((bar.text.isVisible(), words.startswith("Select all "), bar.buttons[0].isVisible()))
        if not any(whole[-1]):
            break
    assert whole == sorted(whole, reverse=True)
    assert whole[-1] == (False, False, False), "the last is Replay: R and the menu replay too"
    assert words == f"All {10**digits:,}"
    assert bar.select_all.accessibleName() == f"Select {words[0].lower()}{words[1:]}"
    bar.say("200 selected", offer="Select all 450")
    shown.page.splitter.setSizes([600, 400])
    await until(bar.text.isVisible)
    assert bar.buttons[0].isVisible()
    assert bar.select_all.text() == "Select all 450"


@pytest.mark.usefixtures("each_font")
async def test_the_number_of_two_selected_requests_is_not_cut(shown: PageDesk) -> None:
    await filled(shown, 3)
    shown.list.selection.add([0, 2])
    bar = shown.page.list_footer.bar
    await until(bar.compare.isVisible)
    for width in (300, 340, 460):
        shown.page.splitter.setSizes([width, 1000 - width])
        await settle()
        assert bar.text.shown_text() in ("2", "2 selected")
        assert bar.text.accessibleName() == "2 selected"


@pytest.mark.usefixtures("each_font")
async def test_the_buttons_of_a_selection_have_whole_words_or_none(shown: PageDesk) -> None:
    await filled(shown, 30)
    QTest.keyClick(shown.list, Qt.Key.Key_A, CTRL)
    bar = shown.page.list_footer.bar
    await until(lambda: bar.text.whole_text() == "30 selected")
    *worded, clear = bar.buttons
    seen = set()
    for width in (1200, 720, 690, 639, 400):  # one pane below 730
        shown.page.resize(width, 480)
        await settle(10)
        words = [button.text().strip() for button in worded]
        assert words == ["Replay…", "Mark read", "Mark unread", "Star", "Delete…"]
        (style,) = {button.toolButtonStyle() for button in worded}
        assert all(button.width() >= button.sizeHint().width() for button in worded)
        assert bar.text.shown_text() == "30 selected"
        assert clear.toolButtonStyle() is Qt.ToolButtonStyle.ToolButtonIconOnly
        seen.add(style)
    assert len(seen) == 2
    shown.page.resize(LIST_MINIMUM, 480)
    await settle(10)
    assert bar.text.isVisible()


async def test_nothing_more_is_offered_where_all_is_loaded(shown: PageDesk) -> None:
    await filled(shown, 20)
    QTest.keyClick(shown.list, Qt.Key.Key_A, CTRL)
    await until(lambda: shown.page.list_footer.bar.text.whole_text() == "20 selected")
    assert not shown.page.list_footer.bar.select_all.isVisible()
    assert [text for text in offered(shown) if text.startswith("Select all")] == ["Select all"]


async def test_what_comes_in_later_is_not_deleted(shown: PageDesk) -> None:
    await filled(shown, 450)
    await select_everything(shown)
    late = await shown.add()
    await until(lambda: shown.model.row_of(late.id) == 0)
    await settle()
    asked = await answer(shown)
    assert asked.windowTitle() == "Delete all 450 requests?"
    text = asked.text.text()
    assert text.startswith(f"This deletes 450 requests in “{shown.endpoint.name}”, received ")
    assert "Requests received since you selected them are kept." in text
    later = await shown.add()
    await until(lambda: not shown.page.batch.busy and total(shown) == 2)
    await until(lambda: shown.ids() == [later.id, late.id])


async def test_what_is_held_back_is_not_among_all(shown: PageDesk) -> None:
    await filled(shown, 450)
    shown.pause.set(True)
    held = await shown.add()
    await until(lambda: shown.feed.new_count == 1)
    await select_loaded(shown)
    assert shown.page.list_footer.bar.select_all.text() == "Select all 450"
    await select_everything(shown)
    chosen = shown.page.select_all.requests
    assert chosen is not None
    assert chosen.count == 450
    assert not chosen.has(held.id)


async def test_all_of_a_list_are_meant_wherever_it_is_scrolled_to(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    await filled(shown, 450)
    shown.feed.tail()
    await until(lambda: not shown.model.at_head)
    search, late = shown.desk.store.captures.search, []

    async def while_one_comes(*given: Any, **named: Any) -> AsyncIterator[list[Summary]]:
        late.append(await shown.add())
        await until(lambda: shown.feed.new_count == 1)
        async for batch in search(*given, **named):
            yield batch

    monkeypatch.setattr(shown.desk.store.captures, "search", while_one_comes)
    await select_everything(shown)
    chosen = shown.page.select_all.requests
    assert chosen is not None
    assert (chosen.count, chosen.has(late[0].id)) == (450, False)
    QTest.mouseClick(shown.page.pill, LEFT)
    await until(lambda: shown.ids()[0] == late[0].id)
    await until(lambda: len(shown.list.selection.loaded()) == shown.model.rowCount() - 1)
    assert shown.page.select_all.requests == chosen


async def test_what_is_marked_while_all_are_read_counts_as_it_is_then(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    await filled(shown, 450)
    captures, (read, starred, *_, unread, unstarred) = shown.desk.store.captures, shown.ids()
    await captures.mark_read([unread])
    await captures.star([unstarred])
    search = captures.search

    async def while_marked(*given: Any, **named: Any) -> AsyncIterator[list[Summary]]:
        batches = [batch async for batch in search(*given, **named)]
        await captures.mark_read([read])
        await captures.star([unstarred], starred=False)
        for batch in batches:
            yield batch
        await captures.mark_read([unread], read=False)
        await captures.star([starred, (await shown.add()).id])

    monkeypatch.setattr(captures, "search", while_marked)
    await select_everything(shown)
    chosen = shown.page.select_all.requests
    assert chosen is not None
    assert (chosen.count, chosen.unread, chosen.starred) == (450, 449, 1)
    await captures.mark_all_read((await shown.desk.endpoint()).id)
    await settle()
    assert shown.page.select_all.requests == chosen


async def test_of_a_filtered_list_all_that_match_are_meant(shown: PageDesk) -> None:
    await shown.fill(300, method="PUT")
    await filled(shown, 50)
    shown.page.filter.bar.line.setText("method:PUT")
    await until(lambda: shown.feed.query == parse("method:PUT") and shown.model.rowCount() == 200)
    await until(lambda: not shown.feed.search.busy)
    await select_loaded(shown)
    assert shown.page.list_footer.bar.select_all.text() == "Select all matches"
    await select_everything(shown)
    assert shown.page.list_footer.bar.text.whole_text() == "All 300 selected"
    counts = shown.desk.store.captures.counts
    QTest.keyClick(shown.list, Qt.Key.Key_U)
    await until(lambda: counts(shown.endpoint.id).unread == 50)
    assert shown.page.list_footer.bar.text.whole_text() == "All 300 selected"
    await until(lambda: "unread" in shown.page.commands.selected.toggle_read.text())
    asked = await answer(shown)
    assert "matching “method:PUT”" in asked.text.text()
    await until(lambda: total(shown) == 50)


@pytest.mark.slow
async def test_all_are_starred_and_all_stars_taken(shown: PageDesk) -> None:
    await filled(shown, 450)
    await select_everything(shown)
    star = shown.page.commands.selected.star
    await until(star.isEnabled)
    QTest.keyClick(shown.list, Qt.Key.Key_S)
    await until(lambda: star.text() == "Remove 450 stars" and star.isEnabled())
    found = [
        one async for rows in shown.desk.store.captures.search(parse("is:starred"), None, limit=1000) for one in rows
    ]
    assert len(found) == 450
    QTest.keyClick(shown.list, Qt.Key.Key_S)
    await until(lambda: star.text() == "Star 450 requests" and star.isEnabled())
    toggle_read = shown.page.commands.selected.toggle_read
    assert toggle_read.text() == "Mark 450 requests as read"
    await shown.desk.store.captures.mark_all_read(shown.endpoint.id)
    await until(lambda: toggle_read.text() == "Mark 450 requests as unread")


async def test_rows_are_selected_as_they_are_loaded(shown: PageDesk) -> None:
    other = await shown.desk.endpoint()
    elsewhere = await shown.add(endpoint_id=other.id)
    await filled(shown, 450)
    await select_everything(shown)
    await shown.desk.store.captures.delete([elsewhere.id])
    shown.feed.pager.older()
    await until(lambda: shown.model.rowCount() == 400)
    await settle()
    assert shown.list.selected_count() == 400
    assert shown.page.list_footer.bar.text.whole_text() == "All 450 selected"


CHANGES = ["another selection", "one less", "filter", "list", "time", "deleted", "expired", "newest too"]


@pytest.mark.parametrize("change", CHANGES)
async def test_any_change_is_the_end_of_it(change: str, shown: PageDesk) -> None:
    page = shown.page
    other = await shown.desk.endpoint()
    if change == "expired":
        await shown.add(received_at=1_000_000)
    await filled(shown, 450)
    await select_everything(shown)
    if change == "another selection":
        QTest.keyClick(shown.list, Qt.Key.Key_Escape)
    elif change == "one less":
        place = shown.list.visualRect(shown.model.index(2)).center()
        QTest.mouseClick(shown.list.viewport(), LEFT, CTRL, place)
    elif change == "filter":
        page.feed.filter_by(parse("method:POST"))
    elif change == "list":
        page.show_endpoint(other.id)
    elif change == "time":
        page.feed.narrow(None)
    elif change == "deleted":
        await shown.desk.store.captures.delete([shown.ids()[-1]])
    elif change == "expired":
        await shown.desk.store.retention.purge()
    else:
        await shown.add()
        await until(lambda: shown.model.rowCount() == 201)
        QTest.keyClick(shown.list, Qt.Key.Key_A, CTRL)
    assert page.select_all.requests is None
    await settle()
    await until(lambda: not page.list_footer.bar.text.whole_text().startswith("All "))


async def test_the_work_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_module, "STEP", 20)

    async with open_page(tmp_path) as shown:
        await filled(shown, 450)
        await select_everything(shown)
        bulk = shown.page.batch
        shown.page.commands.selected.star.trigger()
        await until(lambda: bulk.busy and bulk.done)
        QTest.mouseClick(shown.page.list_footer.bar.stop, LEFT)
        await until(lambda: not bulk.busy)
        assert 0 < bulk.done < 450
        assert len((await shown.desk.store.captures.marked(None)).starred) == bulk.done


async def test_reading_which_they_are_can_be_stopped(shown: PageDesk) -> None:
    await filled(shown, 450)
    page, told = shown.page, []

    def stop() -> None:
        if page.batch.busy and not page.batch.stopping:
            told.append(page.list_footer.bar.progress_text.text())
            page.batch.stop()

    page.batch.changed.connect(stop)
    QTest.keyClick(shown.list, Qt.Key.Key_A, CTRL | SHIFT)
    await until(lambda: told and not page.batch.busy)
    await settle()
    assert told == ["Selecting 0 of 450…"]
    assert page.select_all.requests is None
    assert shown.list.selected_count() == 200
    await until(page.list_footer.bar.select_all.isVisible)


async def test_of_all_endpoints_the_question_names_those_that_lose(tmp_path: Path) -> None:
    async with open_page(tmp_path, name="Billing") as shown:
        others = [await shown.desk.endpoint(name=name) for name in ("Zoo", "Albums", "Cars")]
        await shown.fill(300)
        times = [now_us() - days * DAY_US for days in range(3)]
        for other, received_at in zip(others, times, strict=True):
            await shown.add(endpoint_id=other.id, received_at=received_at)
        shown.page.show_endpoint(None)
        await until(lambda: shown.model.rowCount() == 200)
        await activate(shown.page)
        shown.list.setFocus()
        await select_everything(shown)
        asked = await answer(shown)
        assert asked.windowTitle() == "Delete all 303 requests?"
        text = "This deletes 303 requests in “Albums”, “Billing” and 2 more endpoints, received "
        assert asked.text.text().startswith(text)
        last, _, first = (local_time(one) for one in times)
        assert f"{first.day} {first:%b %H:%M} {DASH} {last.day} {last:%b %H:%M}" in asked.text.text()
        await until(lambda: total(shown) == 0)


@pytest.mark.parametrize("change", ["marked", "gone"])
async def test_of_all_endpoints_one_that_changes_as_a_whole_ends_it(change: str, shown: PageDesk) -> None:
    other = await shown.desk.endpoint()
    await shown.add(endpoint_id=other.id)
    await shown.fill(300)
    shown.page.show_endpoint(None)
    await until(lambda: shown.model.rowCount() == 200)
    await activate(shown.page)
    shown.list.setFocus()
    await select_everything(shown)
    if change == "marked":
        await shown.desk.store.captures.mark_all_read(other.id)
    else:
        await shown.desk.store.endpoints.delete(other.id)
    await until(lambda: shown.page.select_all.requests is None)
    await until(lambda: not shown.page.list_footer.bar.text.whole_text().startswith("All "))
