"""A long search shows its progress, and can be stopped and continued."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from app.core.clock import now_us
from app.db.sqlite.store import Store
from app.ui.requests.list.pager import TimeRange
from tests.codings import zeros_brotli
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import settle, until

Key = Qt.Key
ROWS, HOUR = 1_500, 3_600_000_000


@pytest.fixture(autouse=True)
def _slow_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request at a time, and told of each time."""
    for name in ("FIRST_ROWS", "LEAST_ROWS", "MOST_ROWS"):
        monkeypatch.setattr(f"app.db.search.search.{name}", 1)
    monkeypatch.setattr("app.db.search.search.PROGRESS_S", 0.0)


async def begin(shown: PageDesk, text: str, *, reload: bool = True) -> None:
    """Filter by this, and wait until the search counts as a long one."""
    if reload:
        await shown.reload()
    shown.page.filter.bar.line.setFocus()
    shown.page.filter.bar.set_text(text)
    await until(lambda: shown.feed.search.searched > 5)


@pytest.mark.slow
async def test_it_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch, shown: PageDesk) -> None:
    await shown.add(b"needle", received_at=now_us() - HOUR)
    await shown.fill(ROWS)
    await begin(shown, "needle")
    page = shown.page
    assert page.footer.text().startswith("None found so far · ")
    assert page.footer.text().endswith(f" of {ROWS + 1:,} searched · Esc stops")
    before = page.filter.search_status.share(ROWS + 1)
    progress = page.filter.bar.progress
    await until(progress.is_showing)
    accent, progress._share = QColor(shown.desk.theme.tokens.accent), None  # as long as it is not known
    seen = []
    for progress._place in (0.1, 0.5, 0.9):
        image = progress.grab().toImage()
        at = [x for x in range(image.width()) if image.pixelColor(x, 0) == accent]
        seen.append((at[0] + at[-1]) * 100 // (2 * image.width()))
    assert seen[0] < 20
    assert 45 <= seen[1] <= 55
    assert seen[2] > 80
    await until(lambda: (page.filter.search_status.share(ROWS + 1) or 0) > (before or 1))
    monkeypatch.undo()  # what is left of it need not be slow
    await until(lambda: not shown.feed.search.busy, 20)
    assert page.footer.text() == f"1 of {ROWS + 1:,} matches"
    assert not page.filter.bar.progress.is_showing()


async def test_what_would_make_it_faster_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "slow_search", "Searches are slow: there is no pg_trgm. Create it.")
    async with open_page(tmp_path) as shown:
        await shown.fill(ROWS)
        messages = shown.desk.messages
        assert messages.waiting() == ()
        await begin(shown, "needle")
        await until(messages.waiting)
        (message,) = messages.waiting()
        assert (message.text, message.advice) == ("Searches are slow: there is no pg_trgm.", "Create it.")
        messages.withdraw(message.key)
        await begin(shown, "another", reload=False)
        assert messages.waiting() == ()


async def test_it_says_how_many_it_could_not_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    async with open_page(tmp_path) as shown:
        bomb = zeros_brotli(128 * 1024 * 1024)
        for _ in range(2):
            await shown.add(bomb, headers=(("Content-Encoding", "br"),))
        await shown.reload()
        page = shown.page
        page.filter.bar.set_text("needle")
        await until(lambda: page.filter.found_nothing)
        assert page.footer.text() == "0 of 2 match · 2 not searched"
        why = "2 requests were not searched to the end: their compressed bodies unpack to too much."
        await until(lambda: why in page.footer.toolTip().replace("\n", " "))  # it is set as the text is painted
        assert page.list_area.no_matches.text.text().endswith(why)
        page.filter.bar.set_text("method:POST")
        await until(lambda: shown.model.rowCount() == 2 and not shown.feed.search.busy)
        assert page.footer.text() == "2 of 2 match"


@pytest.mark.slow
@pytest.mark.parametrize("in_line", [True, False])
async def test_esc_stops_it_and_enter_goes_on(in_line: bool, monkeypatch: pytest.MonkeyPatch, shown: PageDesk) -> None:
    await shown.add(b"needle", received_at=now_us() - HOUR)
    await shown.fill(ROWS)
    await shown.add(b"needle")
    await begin(shown, "needle")
    page, line = shown.page, shown.page.filter.bar.line
    QTest.keyClick(line if in_line else shown.list, Key.Key_Escape)
    searched = shown.feed.search.searched
    assert page.footer.text() == f"Stopped: 1 in the newest {searched:,} · Enter continues"
    assert line.text() == "needle"
    shown.feed.pager.older()
    await settle()
    assert not shown.feed.search.busy
    assert not page.filter.bar.progress.is_showing()
    monkeypatch.undo()
    QTest.keyClick(line, Key.Key_Return)
    await until(lambda: shown.model.rowCount() == 2, 20)
    await until(lambda: not shown.feed.search.busy, 20)
    assert page.footer.text() == f"2 of {ROWS + 2:,} match"


async def test_what_arrived_before_it_was_stopped_is_found(monkeypatch: pytest.MonkeyPatch, shown: PageDesk) -> None:
    await shown.fill(ROWS)
    await begin(shown, "needle")
    came = await shown.add(b"needle")
    await settle()
    assert shown.feed.search.jumping
    monkeypatch.undo()
    QTest.keyClick(shown.page.filter.bar.line, Key.Key_Escape)
    await until(lambda: shown.ids() == [came.id])
    assert shown.page.filter.search_status.stopped


@pytest.mark.slow
async def test_stopped_with_nothing_found_says_so_and_offers_to_go_on(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    await shown.add(b"needle", received_at=now_us() - HOUR)
    await shown.fill(ROWS)
    await begin(shown, "needle")
    nothing = shown.page.list_area.no_matches
    QTest.keyClick(shown.page.filter.bar.line, Key.Key_Escape)
    assert nothing.isVisible()
    assert shown.page.footer.text().startswith("Stopped: none in the newest ")
    searched = shown.feed.search.searched
    assert nothing.title.text() == "No matches so far"
    assert nothing.text.text() == f"The search stopped after the newest {searched:,} requests."
    assert not shown.model.rowCount()
    assert nothing.button is not None
    assert nothing.button.text() == "Continue search"
    monkeypatch.undo()
    QTest.mouseClick(nothing.button, Qt.MouseButton.LeftButton)
    await until(lambda: shown.model.rowCount() == 1, 20)
    assert shown.list.isVisible()
    await until(lambda: not shown.feed.search.busy, 20)
    QTest.keyClick(shown.page.filter.bar.line, Key.Key_Escape)
    assert not shown.page.filter.bar.line.text()


async def test_another_filter_begins_anew(shown: PageDesk) -> None:
    await shown.fill(ROWS)
    await shown.add(b"thimble")
    await begin(shown, "needle")
    QTest.keyClick(shown.page.filter.bar.line, Key.Key_Escape)
    assert shown.page.filter.search_status.stopped
    shown.page.filter.bar.set_text("thimble")
    await until(lambda: shown.model.rowCount() == 1)
    assert not shown.page.filter.search_status.stopped
    shown.page.filter.bar.clear()
    await until(lambda: shown.model.rowCount() > 1)
    assert not shown.page.filter.search_status.stopped


async def test_in_a_chosen_time_it_does_not_say_of_how_many(shown: PageDesk) -> None:
    await shown.fill(ROWS)
    await shown.reload()
    shown.feed.narrow(TimeRange(start=now_us() - HOUR, end=now_us() + HOUR))
    await begin(shown, "needle", reload=False)
    assert " found so far in this range · " in shown.page.footer.accessibleName()
    assert shown.page.footer.accessibleName().endswith(" searched · Esc stops")
    assert " of " not in shown.page.footer.accessibleName()
    QTest.keyClick(shown.page.filter.bar.line, Key.Key_Escape)
    assert " in this range · " in shown.page.footer.accessibleName()
