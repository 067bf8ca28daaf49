"""The filter above the list: what it finds, how it is typed, and what stays where it was."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.core.clock import now_us
from app.core.errors import StorageUnavailableError
from app.ui.requests.filter_line import ROWS_VISIBLE
from app.ui.requests.list import pager as pager_module
from app.ui.requests.list.delegate import ROW
from tests.deliveries import respond
from tests.support import while_read
from tests.ui.drawn import drawn
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import settle, until

Key = Qt.Key


async def put(shown: PageDesk, text: str) -> None:
    """Filter by this, and wait until all was searched."""
    shown.page.filter.bar.set_text(text)
    await until(lambda: not shown.feed.pager.jumping)
    await settle()


def targets(shown: PageDesk) -> list[str]:
    return [shown.model.summary(row).target.rpartition("/")[2] for row in range(shown.model.rowCount())]


async def test_typing_filters_after_a_moment_and_keys_lead_on(shown: PageDesk) -> None:
    await shown.fill(12)
    await shown.add(b'{"type":"invoice.paid"}', target="/catch/x/paid")
    await shown.reload()
    bar = shown.page.filter.bar
    shown.list.setFocus()
    QTest.keyClick(shown.list, Key.Key_Slash)
    assert bar.line.hasFocus()
    QTest.keyClick(bar.line, Key.Key_Escape)
    assert not bar.line.suggestions.isVisible()
    QTest.keyClicks(bar.line, "INVOICE")
    assert shown.model.rowCount() == 13
    await until(lambda: targets(shown) == ["paid"])
    await until(lambda: shown.page.footer.text() == "1 of 13 matches")
    QTest.keyClick(bar.line, Key.Key_Return)
    assert bar.line.hasFocus()
    QTest.keyClick(bar.line, Key.Key_Down)
    assert shown.list.hasFocus()
    await until(lambda: shown.detail.capture is not None and shown.detail.capture.target == "/catch/x/paid")
    QTest.keyClick(shown.list, Key.Key_Slash)
    assert bar.line.selectedText() == "INVOICE"
    QTest.keyClick(bar.line, Key.Key_Escape)
    assert not bar.line.text()
    assert bar.line.hasFocus()
    QTest.keyClick(bar.line, Key.Key_Escape)
    assert shown.list.hasFocus()
    await until(lambda: shown.model.rowCount() == 13)
    current = shown.list.current()
    assert current is not None
    assert current.target == "/catch/x/paid"


async def test_without_the_filter_the_list_shows_where_the_chosen_request_stands(shown: PageDesk) -> None:
    found = await shown.add(b"needle", received_at=now_us() - 60_000_000)
    await shown.fill(250)
    await shown.reload()
    shown.page.filter.bar.set_text("needle")
    await until(lambda: shown.ids() == [found.id])
    shown.list.select_row(0)
    shown.page.filter.bar.clear()
    await until(lambda: shown.model.rowCount() > 1 and shown.model.row_of(found.id) is not None)
    await settle()
    current = shown.list.current()
    assert current is not None
    assert current.id == found.id
    assert shown.list.viewport().rect().contains(shown.list.visualRect(shown.list.currentIndex()))


async def test_what_is_composed_in_the_field_stays_when_the_text_before_it_is_applied(shown: PageDesk) -> None:
    await shown.add()
    await until(lambda: shown.model.rowCount() == 1)
    line = shown.page.filter.bar.line

    def cursor() -> int:
        return int(line.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle).x())

    QTest.keyClicks(line, "method:GET ")
    empty = cursor()
    QApplication.sendEvent(line, QInputMethodEvent("にほん", []))
    composed = cursor()
    assert composed > empty
    await until(lambda: shown.feed.query is not None)
    assert cursor() == composed
    committed = QInputMethodEvent()
    committed.setCommitString("日本")
    QApplication.sendEvent(line, committed)
    assert line.text() == "method:GET 日本"


async def test_a_wrong_filter_is_marked_and_the_last_result_stays(shown: PageDesk) -> None:
    await shown.fill(3)
    await shown.add(method="PUT", target="/catch/x/put")
    await shown.reload()
    bar = shown.page.filter.bar
    await put(shown, "method:PUT")
    assert targets(shown) == ["put"]
    bar.line.setFocus()
    bar.line.selectAll()
    QTest.keyClicks(bar.line, "mehtod:GET ")
    await until(bar.error.isVisible)
    assert "Unknown filter mehtod:" in bar.error.text()
    assert bar.line.accessibleDescription() == bar.error.text()
    assert targets(shown) == ["put"]
    assert [chip.accessibleName() for chip in bar.chips.chips] == ["Remove method:PUT"]
    QTest.keyClick(bar.line, Key.Key_Return)
    assert bar.line.hasFocus()
    QTest.mouseClick(bar.fix, Qt.MouseButton.LeftButton)
    assert bar.line.text() == "method:GET "
    assert not bar.error.isVisible()
    await until(shown.page.list_area.no_matches.isVisible)
    button = shown.page.list_area.no_matches.button
    assert button is not None
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    await until(lambda: shown.model.rowCount() == 4)
    assert shown.list.isVisible()


async def test_chips_take_their_term_away(shown: PageDesk) -> None:
    await shown.fill(2)
    await shown.add(b"paid", method="PUT", target="/catch/x/both")
    await shown.add(b"paid", target="/catch/x/paid")
    await shown.reload()
    chips = shown.page.filter.bar.chips
    await put(shown, "paid")
    assert not chips.isVisible()
    await put(shown, "paid  -method:POST")
    assert targets(shown) == ["both"]
    assert [chip.accessibleName() for chip in chips.chips] == ["Remove paid", "Remove -method:POST"]
    QTest.mouseClick(chips.chips[1], Qt.MouseButton.LeftButton)
    await until(lambda: targets(shown) == ["paid", "both"])
    assert shown.page.filter.bar.line.text() == "paid"
    await put(shown, "paid method:PUT")
    QTest.keyClick(chips.chips[0], Key.Key_Delete)
    assert shown.page.filter.bar.line.text() == "method:PUT"


async def test_suggestions_are_chosen_by_keys_and_mouse(shown: PageDesk) -> None:
    await shown.fill(2)
    await shown.reload()
    bar = shown.page.filter.bar
    line, offered = bar.line, bar.line.suggestions
    bar.start()
    assert offered.isVisible()
    assert offered.offered.rowCount() >= 10
    seen, tokens = drawn(offered), shown.desk.theme.tokens
    names = [one for one in seen.texts if one.colour == tokens.text]
    assert [one.text for one in names] == [one.insert for one in offered.offered.records()[: len(names)]]
    assert len(names) == ROWS_VISIBLE
    assert all(one.at.x() == names[0].at.x() for one in names)
    QTest.keyClicks(line, "meth")
    assert [one.insert for one in offered.offered.records()] == ["method:"]
    assert drawn(offered).words == ["method:", offered.offered.record(0).help]
    assert drawn(offered).text(offered.offered.record(0).help).colour == tokens.text_muted
    QTest.keyClick(line, Key.Key_Tab)
    assert line.text() == "method:"
    assert line.hasFocus()
    QTest.keyClick(line, Key.Key_Down)
    QTest.keyClick(line, Key.Key_Down)
    QTest.keyClick(line, Key.Key_Up)
    QTest.keyClick(line, Key.Key_Up)
    QTest.keyClick(line, Key.Key_Down)
    QTest.keyClick(line, Key.Key_Return)
    assert line.text() == "method:GET "
    assert not bar.error.isVisible()
    await until(shown.page.list_area.no_matches.isVisible)
    QTest.keyClicks(line, "is:")
    place = offered.rows.visualRect(offered.offered.index(0, 0)).center()
    QTest.mouseClick(offered.rows.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert line.text() == "method:GET is:unread "
    assert line.hasFocus()
    QTest.keyClicks(line, "no")
    assert not offered.isVisible()
    line.undo()
    QTest.keyClick(line, Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    assert offered.isVisible()
    shown.list.setFocus()
    assert not offered.isVisible()


async def test_no_suggestion_is_left_for_a_text_that_another_one_replaced(shown: PageDesk) -> None:
    bar = shown.page.filter.bar
    for replaced in (bar.put, bar.set_text):
        bar.line.setFocus()
        QTest.keyClicks(bar.line, "paid is:")
        assert bar.line.suggestions.isVisible()
        replaced("")
        assert not bar.line.suggestions.isVisible()
        assert bar.line.hasFocus()


async def test_stored_events_providers_and_tags_are_suggested(shown: PageDesk) -> None:
    await shown.fill(3, provider="stripe", event="invoice.paid")
    await shown.fill(1, provider="github", event="push <b>")
    await shown.fill(1, provider="stripe", event="\x1b[2J")
    await shown.reload()
    line = shown.page.filter.bar.line
    offered = line.suggestions

    def told() -> list[tuple[str, str]]:
        return [(one.insert, one.help) for one in offered.offered.records()]

    line.setFocus()
    QTest.keyClicks(line, "event:")
    await until(offered.isVisible)
    assert told() == [("invoice.paid", "Stripe · 3 requests"), ('"push <b>"', "github · 1 request")]
    QTest.keyClicks(line, "push")
    QTest.keyClick(line, Key.Key_Tab)
    await until(lambda: len(targets(shown)) == 1)
    QTest.keyClicks(line, "-provider:")
    assert told() == [("stripe", "Stripe · 4 requests"), ("github", "github · 1 request")]
    line.clear()
    other = await shown.desk.endpoint(tags=("shop", "billing"))
    await shown.desk.endpoint(tags=("shop",))
    shown.page.show_endpoint(other.id)
    line.setFocus()
    line.suggestions_requested.emit()
    QTest.keyClicks(line, "tag:")
    await until(offered.isVisible)
    assert told() == [("shop", "2 endpoints"), ("billing", "1 endpoint")]
    line.clear()
    QTest.keyClicks(line, "event:")
    await settle(20)
    assert not offered.isVisible()


async def test_the_values_of_the_list_that_is_shown_are_suggested_also_after_a_failed_read(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    other = await shown.desk.endpoint()
    await shown.fill(1, provider="stripe")
    await shown.fill(1, provider="github", endpoint_id=other.id)
    await shown.reload()
    line, senders = shown.page.filter.bar.line, shown.desk.store.senders
    with monkeypatch.context() as broken:
        broken.setattr(senders, "lately", unreadable)
        line.setFocus()
        QTest.keyClicks(line, "provider:")
        await until(lambda: shown.desk.messages.waiting() and not shown.desk.tasks.running())
    shown.desk.messages.withdraw(shown.desk.messages.waiting()[0].key)

    async def go_on() -> None:
        shown.page.show_endpoint(other.id)

    gone_on = while_read(senders, "lately", go_on)
    line.clear()
    QTest.keyClicks(line, "provider:")
    await until(lambda: gone_on() and not shown.desk.tasks.running())
    line.setFocus()
    QTest.keyClicks(line, "provider:")
    await until(line.suggestions.isVisible)
    assert [one.insert for one in line.suggestions.offered.records()] == ["github"]


async def unreadable(*_: object) -> None:
    raise StorageUnavailableError("The stored requests cannot be read.")


@pytest.mark.parametrize("key", [Key.Key_Return, Key.Key_Escape])
async def test_suggestions_do_not_come_over_the_result_or_back_when_values_are_read_late(
    monkeypatch: pytest.MonkeyPatch, key: Qt.Key, shown: PageDesk
) -> None:
    monkeypatch.setattr("app.ui.requests.filter_bar.FRESH_S", 0.0)
    await shown.fill(1, provider="stripe")
    await shown.reload()
    line, senders = shown.page.filter.bar.line, shown.desk.store.senders
    line.setFocus()
    if key == Key.Key_Escape:
        QTest.keyClicks(line, "provider:")
        await until(lambda: line.suggestions.isVisible() and not shown.desk.tasks.running())
        await shown.fill(1, provider="stripe-test")

    async def close() -> None:
        QTest.keyClick(line, key)

    closed = while_read(senders, "lately", close)
    QTest.keyClicks(line, "s" if line.text() else "provider:s")
    await until(lambda: closed() and not shown.desk.tasks.running())
    assert not line.suggestions.isVisible()
    assert line.text() == "provider:s"


async def test_enter_takes_the_only_suggestion(shown: PageDesk) -> None:
    await shown.add(method="PUT", target="/catch/x/put")
    await shown.add(target="/catch/x/post")
    await shown.reload()
    bar = shown.page.filter.bar
    bar.line.setFocus()
    QTest.keyClicks(bar.line, "method:PU")
    QTest.keyClick(bar.line, Key.Key_Return)
    assert bar.line.text() == "method:PUT "
    assert not bar.error.isVisible()
    await until(lambda: targets(shown) == ["put"])
    # With several to choose from none is guessed.
    bar.line.clear()
    QTest.keyClicks(bar.line, "method:P")
    assert bar.line.suggestions.offered.rowCount() > 1
    QTest.keyClick(bar.line, Key.Key_Return)
    assert bar.line.text() == "method:P"
    assert bar.error.isVisible()
    # Half a filter's name is taken for that name, and its values are offered.
    bar.line.clear()
    QTest.keyClicks(bar.line, "meth")
    assert bar.line.suggestions.offered.rowCount() == 1
    QTest.keyClick(bar.line, Key.Key_Return)
    assert bar.line.text() == "method:"
    assert bar.line.hasFocus()
    assert bar.line.suggestions.offered.rowCount() > 1
    # Who means the word closes the suggestion first.
    bar.line.clear()
    QTest.keyClicks(bar.line, "meth")
    QTest.keyClick(bar.line, Key.Key_Escape)
    QTest.keyClick(bar.line, Key.Key_Return)
    assert bar.line.text() == "meth"
    # Of two (size: and since:) none is guessed: the word is searched for.
    bar.line.clear()
    QTest.keyClicks(bar.line, "si")
    assert bar.line.suggestions.offered.rowCount() == 2
    QTest.keyClick(bar.line, Key.Key_Return)
    assert bar.line.text() == "si"
    assert bar.line.hasFocus()
    await until(lambda: targets(shown) == [])


async def test_new_requests_that_match_appear_and_others_are_counted_only(shown: PageDesk) -> None:
    await shown.add(b"needle", target="/catch/x/first")
    await shown.reload()
    await put(shown, "needle")
    shown.list.select_row(0)
    for n in range(3):
        await shown.add(b"hay", target=f"/catch/x/hay-{n}")
        await shown.add(b"a needle", target=f"/catch/x/new-{n}")
    await until(lambda: targets(shown) == ["new-2", "new-1", "new-0", "first"])
    await until(lambda: shown.page.footer.text() == "4 of 7 match")
    assert [one.target for one in shown.list.selected()] == ["/catch/x/first"]
    await put(shown, "nothing like it")
    assert shown.page.list_area.no_matches.isVisible()
    await shown.add(b"nothing like it, is there: nothing like it", target="/catch/x/late")
    await until(lambda: targets(shown) == ["late"])
    await until(shown.list.isVisible)


async def test_a_reader_further_down_is_told_and_not_moved(shown: PageDesk) -> None:
    await shown.fill(100, method="PUT")
    await shown.reload()
    await put(shown, "method:PUT")
    bar = shown.list.verticalScrollBar()
    bar.setValue(20 * ROW)
    for _ in range(3):
        await shown.add(method="PUT")
        await shown.add(method="POST")
    await until(lambda: shown.feed.new_count == 3)
    assert bar.value() == 20 * ROW
    assert shown.page.pill.text() == "3 new"
    QTest.mouseClick(shown.page.pill, Qt.MouseButton.LeftButton)
    await until(lambda: shown.model.rowCount() == 103)
    assert shown.feed.new_count == 0


async def test_what_a_filter_finds_is_shown_from_the_newest_on(shown: PageDesk) -> None:
    await shown.fill(100, method="PUT")
    await shown.reload()
    bar = shown.list.verticalScrollBar()
    for text in ("method:PUT", "method:PUT -is:starred"):
        bar.setValue(60 * ROW)
        await put(shown, text)
        assert (shown.model.rowCount(), bar.value()) == (100, 0)


async def test_more_is_searched_when_the_end_is_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pager_module, "PAGE", 50)

    async with open_page(tmp_path) as shown:
        await shown.fill(130, method="PUT")
        await shown.reload()
        await put(shown, "method:PUT")
        assert shown.model.rowCount() == 50
        await until(lambda: shown.page.footer.text() == "50+ of 130 match")
        shown.list.setFocus()
        for rows in (100, 130):
            last = shown.ids()[-1]
            QTest.keyClick(shown.list, Key.Key_End)
            assert [one.id for one in shown.list.selected()] == [last]
            await until(lambda rows=rows: shown.model.rowCount() >= rows)
        assert shown.ids() == sorted(shown.ids(), reverse=True)
        await until(lambda: shown.page.footer.text() == "130 of 130 match")


@pytest.mark.parametrize("query", ["delivery:failed", "status:503"])
async def test_what_a_target_responded_is_found_later(query: str, tmp_path: Path) -> None:
    """The sender has waited for it and got it as the response to its request."""
    async with open_page(tmp_path, forward_url="http://127.0.0.1:9/") as shown:
        sent = await shown.desk.capture(shown.endpoint)
        await shown.reload()
        await put(shown, query)
        assert shown.page.list_area.no_matches.isVisible()
        (queued,) = await shown.desk.store.deliveries.of_capture(sent.id)
        await respond(shown.desk.store, msgspec.structs.replace(queued, responded=True), 503)
        await until(lambda: shown.ids() == [sent.id])


async def test_each_list_keeps_its_filter_and_a_link_gives_it_up(shown: PageDesk) -> None:
    await shown.fill(5)
    sent = await shown.add(method="PUT", target="/catch/x/put")
    await shown.reload()
    await put(shown, "method:PUT")
    shown.page.show_endpoint(None)
    await until(lambda: shown.model.rowCount() == 6)
    assert not shown.page.filter.bar.line.text()
    await shown.reload()
    assert shown.page.filter.bar.line.text() == "method:PUT"
    assert targets(shown) == ["put"]
    shown.page.go_to(sent)
    assert shown.page.filter.active
    other = (await shown.desk.store.captures.page(shown.endpoint.id, limit=6))[3]
    capture = await shown.desk.store.captures.get(other.id)
    assert capture is not None
    shown.page.go_to(capture)
    await until(lambda: shown.detail.capture is not None and shown.detail.capture.id == other.id)
    await until(lambda: shown.model.rowCount() == 6)
    assert not shown.page.filter.bar.line.text()


async def test_a_list_with_a_wrong_filter_shows_and_saves_nothing_of_another_lists_filter(shown: PageDesk) -> None:
    await shown.fill(2)
    other = await shown.desk.endpoint()
    await shown.add(endpoint_id=other.id)
    bar = shown.page.filter.bar
    shown.page.show_endpoint(other.id)
    await put(shown, "mehtod:GET ")
    await shown.reload()
    await put(shown, "method:POST path:x")
    assert bar.chips.isVisible()
    shown.page.show_endpoint(other.id)
    await until(lambda: shown.model.rowCount() == 1)
    assert bar.line.text() == "mehtod:GET "
    assert bar.error.isVisible()
    assert not bar.chips.isVisible()
    menu = bar.saved.menu_now()
    (save,) = (action for action in menu.actions() if action.text() == "Save filter…")
    assert not save.isEnabled()
    menu.deleteLater()
    await shown.reload()
    assert [chip.accessibleName() for chip in bar.chips.chips] == ["Remove method:POST", "Remove path:x"]
    assert bar.chips.isVisible()


async def test_a_new_search_ends_the_one_in_hand(shown: PageDesk) -> None:
    await shown.fill(300)
    await shown.add(b"needle", target="/catch/x/last")
    await shown.reload()
    bar = shown.page.filter.bar
    for text in ("n", "ne", "nothing", "hay", "needl", "needle"):
        bar.set_text(text)
        await settle(1)
    await until(lambda: not shown.feed.search.busy)
    await settle()
    assert targets(shown) == ["last"]
    await until(lambda: not shown.desk.tasks.running())
    assert not bar.progress.is_showing()
    bar.clear()
    await until(lambda: shown.model.rowCount() == pager_module.PAGE)


async def test_what_was_deleted_leaves_the_result(shown: PageDesk) -> None:
    await shown.fill(4)
    sent = await shown.add(method="PUT")
    await shown.reload()
    await put(shown, "method:PUT")
    await shown.desk.store.captures.delete([sent.id])
    await until(shown.page.list_area.no_matches.isVisible)
    assert "None of the 4 requests" in shown.page.list_area.no_matches.text.text()
    await shown.desk.store.captures.clear(shown.endpoint.id)
    await until(shown.page.list_area.empty.isVisible)


async def test_a_flood_loses_none_that_match(shown: PageDesk) -> None:
    await shown.add(b"needle")
    await shown.reload()
    await put(shown, "needle")
    await asyncio.gather(*(shown.add(b"hay" if n % 50 else b"a needle") for n in range(1_000)))
    await until(lambda: shown.model.rowCount() == 21)
    assert shown.ids() == sorted(shown.ids(), reverse=True)
    await asyncio.gather(*(shown.add(b"needles") for _ in range(pager_module.PAGE * 2)))
    newest = await shown.desk.store.captures.page(shown.endpoint.id, limit=pager_module.PAGE)
    await until(lambda: shown.ids()[: pager_module.PAGE] == [summary.id for summary in newest])
    await until(lambda: not shown.desk.tasks.running())
    assert shown.list.verticalScrollBar().value() == 0
    while not shown.model.at_tail:
        shown.feed.pager.older()
        await until(lambda: not shown.feed.pager.busy)
    assert shown.model.rowCount() == 21 + pager_module.PAGE * 2
