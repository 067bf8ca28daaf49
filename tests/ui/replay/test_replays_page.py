"""The page of replays: what it lists, what it tells of the selected one, and what can be done to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget

from app.core.delivery import Delivery, RequestEdit
from app.core.model import Capture, DeliveryState, Endpoint
from app.core.replay import (
    ChosenRequests,
    Faults,
    FixedRate,
    MatchingRequests,
    OneUrl,
    OtherEndpoint,
    OwnTargets,
    Replay,
    ReplayProgress,
    ReplaySpec,
    TargetProgress,
)
from app.core.target import TargetDraft
from app.core.worst_state import State
from app.ui.inspector.request_view import DELIVERIES
from app.ui.replay import replay_failures
from app.ui.replay.replay_area import (
    EDITED,
    ENDPOINT_DELETED,
    MERGE_MS,
    NONE_SELECTED,
    NOT_ENDED,
    NOT_RUNNING,
    NOTHING_FAILED,
)
from app.ui.replay.replay_failures import TARGET, FailureTable
from app.ui.replay.replay_many_dialog import ReplayManyDialog
from app.ui.replay.replay_text import BAR
from app.ui.replay.replays_page import FAILURES, SUMMARY, ReplaysPage, TargetTable
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import DASHBOARD, REPLAYS
from app.ui.shell.sidebar_rows import NavRow
from app.ui.widgets.dialog import Question
from tests.deliveries import fail
from tests.support import while_read
from tests.ui.desk import Desk, shown
from tests.ui.replay.replay_desk import Received, target
from tests.ui.waiting import settle, until, wait_for_widget

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
DEAD = "http://127.0.0.1:9/"
LEFT = Qt.MouseButton.LeftButton


@dataclass
class Room:
    """A window, and an endpoint with a target that answers and one that nothing listens at."""

    desk: Desk
    window: MainWindow
    received: Received
    endpoint: Endpoint

    @property
    def page(self) -> ReplaysPage:
        return self.window.replays_page

    @property
    def row(self) -> NavRow:
        """Of the page, in the sidebar."""
        row = self.window.sidebar.findChild(NavRow, REPLAYS)
        assert row is not None
        return row

    async def captures(self, count: int) -> list[Capture]:
        bare = self.endpoint
        return [await self.desk.capture(bare, target=f"/catch/{bare.slug}/{n}") for n in range(count)]

    async def start(self, **fields: object) -> Replay:
        fields = {"source": MatchingRequests(endpoint_id=self.endpoint.id), **fields}
        return await self.desk.replays.start(ReplaySpec(**fields))  # type: ignore[arg-type]

    async def run(self, **fields: object) -> Replay:
        """To its end."""
        replay = await self.start(**fields)
        await self.desk.replays.wait(replay.id)
        found = await self.desk.replays.get(replay.id)
        assert found is not None
        return found

    async def show(self) -> ReplaysPage:
        self.window.enter_page(REPLAYS)
        await until(lambda: self.page.current is not None)
        await settle()
        return self.page


@asynccontextmanager
async def room(folder: Path, *, dead: bool = True) -> AsyncIterator[Room]:
    async with target() as received, shown(folder) as (desk, window):
        endpoint = await desk.endpoint(name="Shop", forward_url=received.url)
        if dead:
            await desk.store.targets.create(endpoint.id, TargetDraft(url=DEAD))
        found = desk.store.endpoints.by_id(endpoint.id)
        assert found is not None
        window.resize(1366, 768)
        yield Room(desk, window, received, found)


async def test_without_replays_it_says_how_to_make_one_and_the_first_is_shown_at_once(tmp_path: Path) -> None:
    async with room(tmp_path, dead=False) as made:
        made.window.show_page(REPLAYS)
        page = made.page
        await until(page.empty.isVisible)
        assert "Ctrl+Shift+R" in page.empty.text.text()
        assert page.cancel.toolTip() == NOT_RUNNING
        assert page.repeat.toolTip() == NONE_SELECTED
        (capture,) = await made.captures(1)
        await made.run(source=ChosenRequests(ids=(capture.id,)))
        await until(lambda: page.current is not None and page.current.ended)
        assert not page.empty.isVisible()
        assert page.details.title.text() == "Replay finished: 1 request sent"


async def test_it_is_made_when_it_is_first_shown_and_shown_at_the_next_start(tmp_path: Path) -> None:
    async with room(tmp_path) as made:
        assert made.window.findChildren(ReplaysPage) == []
        QTest.mouseClick(made.row, LEFT)
        assert made.window.pages.currentWidget() is made.page
        made.window.stop()
        again = made.desk.window()
        assert again.pages.currentWidget() is again.replays_page
        again.stop()
        again.deleteLater()


async def test_each_target_has_its_counts_and_times_and_the_worst_state_wins(tmp_path: Path) -> None:
    async with room(tmp_path) as made:
        await made.captures(4)
        await made.run()
        page = await made.show()
        rows = page.details.targets.rows
        assert [(one.url, one.delivered, one.failed, one.not_sent) for one in rows.records()] == [
            (made.received.url, 4, 0, 0),
            (DEAD, 0, 4, 0),
        ]
        assert all(one.median_ms is not None and one.p95_ms is not None for one in rows.records())
        url, counts, times = str(rows.index(1, 0).data(Qt.ItemDataRole.ToolTipRole)).splitlines()
        assert (url, counts) == (DEAD, "0 delivered, 4 failed, 0 not sent")
        assert times.startswith("Median ")
        text = page.model.data(page.model.index(0, 0))
        assert text.startswith("“Shop”, ")
        assert text.endswith("4 sent · 4 failed, Failed")
        assert "oldest first, to their targets" in page.details.plan.text()
        assert page.details.plan.text().startswith("Sends 4 requests of “Shop”")


async def test_what_it_ran_with_names_pace_faults_and_seed(tmp_path: Path) -> None:
    async with room(tmp_path, dead=False) as made:
        await made.captures(2)
        await made.run(pace=FixedRate(per_second=100), times=2, faults=Faults(duplicate=0.5), seed=7, concurrency=3)
        plan = (await made.show()).details.plan.text()
        assert "100 per second, at most 3 at once." in plan
        assert "Each is sent 2 times: 4 in all." in plan
        assert "50 % duplicated (seed 7)" in plan


@pytest.mark.slow
async def test_enter_on_a_failure_opens_the_request_with_its_deliveries(tmp_path: Path) -> None:
    async with room(tmp_path) as made:
        captures = await made.captures(3)
        await made.run()
        page = await made.show()
        failures = page.details.failures
        assert page.details.views.current() == FAILURES
        await until(lambda: failures.rows.rowCount() == 3)
        row = [failures.rows.cell(failures.rows.record(0), column) for column in range(4)]
        assert row[:2] == ["/2", "127.0.0.1:9/"]
        assert "Nothing is listening" in row[2]
        assert row[3] == "1"
        failures.setFocus()
        failures.setCurrentIndex(failures.rows.index(1, 0))
        QTest.keyClick(failures, Qt.Key.Key_Return)
        requests = made.window.requests
        await until(lambda: requests.opener.open_id == captures[1].id and requests.detail.capture is not None)
        assert made.window.pages.currentWidget() is requests
        await until(lambda: requests.detail.tabs.currentIndex() == DELIVERIES)


async def test_a_double_click_on_a_failure_opens_its_request(tmp_path: Path) -> None:
    async with room(tmp_path) as made:
        (capture,) = await made.captures(1)
        await made.run()
        failures = (await made.show()).details.failures
        await until(lambda: failures.rows.rowCount() == 1)
        place = failures.visualRect(failures.rows.index(0, 0)).center()
        QTest.mouseClick(failures.viewport(), LEFT, pos=place)
        QTest.mouseDClick(failures.viewport(), LEFT, pos=place)
        await until(lambda: made.window.requests.opener.open_id == capture.id)


async def test_the_target_of_a_failure_is_named_where_there_are_several(tmp_path: Path) -> None:
    async with room(tmp_path) as made:
        await made.captures(1)
        await made.run(destination=OneUrl(url=DEAD))
        await made.run()
        page = await made.show()
        failures = page.details.failures
        await until(lambda: not failures.isColumnHidden(TARGET))  # laid out
        page.list.select_row(1)
        await until(lambda: page.details.replay is page.current)
        assert failures.isColumnHidden(TARGET)


async def test_a_replay_of_a_deleted_endpoint_is_listed_but_not_repeated(tmp_path: Path) -> None:
    async with room(tmp_path, dead=False) as made:
        await made.captures(1)
        await made.run()
        await made.desk.store.endpoints.delete(made.endpoint.id)
        page = await made.show()
        assert page.details.plan.text().startswith("Sends 1 request of a deleted endpoint")
        assert (page.repeat.toolTip(), page.change.toolTip()) == (ENDPOINT_DELETED, ENDPOINT_DELETED)


async def test_of_many_failures_the_newest_are_listed_and_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_failures, "LISTED", 5)
    monkeypatch.setattr("app.ui.replay.replays_page.LISTED", 5)
    async with room(tmp_path) as made:
        await made.captures(8)
        await made.run()
        page = await made.show()
        rows = page.details.failures.rows
        await until(lambda: rows.rowCount() == 5)
        assert page.details.listed.text() == "The newest 5 of 8 are listed."
        assert [one.captured_target.rpartition("/")[2] for one in rows.records()] == ["7", "6", "5", "4", "3"]


async def test_failures_follow_a_running_replay_and_selected_ones_stay(tmp_path: Path) -> None:
    async with room(tmp_path) as made:
        await made.captures(3)
        made.received.hold.clear()
        replay = await made.start(destination=OneUrl(url=DEAD), pace=FixedRate(per_second=5))
        failures = (await made.show()).details.failures
        await until(lambda: failures.rows.rowCount() >= 1)
        failures.selectRow(failures.rows.rowCount() - 1)
        (chosen,) = failures.selected()
        await made.desk.replays.wait(replay.id)
        await until(lambda: failures.rows.rowCount() == 3)
        assert failures.selected() == [chosen]


async def test_failures_are_not_listed_below_another_replay(desk: Desk) -> None:
    spec = ReplaySpec(source=MatchingRequests())
    failed, other = [
        Replay(id=name, created_at=0, spec=spec, progress=ReplayProgress(failed=2 - number))
        for number, name in enumerate(("a", "b"))
    ]
    capture = await desk.capture(await desk.endpoint())
    state, url = DeliveryState.QUEUED, DEAD
    fields = {"capture_id": capture.id, "endpoint_id": capture.endpoint_id, "url": url, "state": state, "queued_at": 1}
    delivery = Delivery(id="d", replay_id="a", **fields)
    await desk.store.deliveries.add_replay(delivery)
    await fail(desk.store, delivery)
    table = FailureTable(desk.services, desk.theme, desk.tasks, window := QWidget())
    listed: list[int] = []
    table.loaded.connect(lambda: listed.append(table.rows.rowCount()))

    async def selected() -> None:
        table.show_failures_of(other)

    happened = while_read(desk.store.deliveries, "page", selected)
    table.show_failures_of(failed)
    await until(lambda: happened() and listed)
    assert listed[0] == 0
    window.deleteLater()


async def test_the_summary_comes_with_the_end_and_can_be_copied(tmp_path: Path) -> None:
    async with room(tmp_path, dead=False) as made:
        await made.captures(2)
        made.received.hold.clear()
        replay = await made.start()
        page = await made.show()
        await until(page.details.progress.isVisible)
        assert page.details.nothing.text() == "Nothing has failed so far."
        assert not page.details.copy.isVisible()
        made.received.hold.set()
        await until(lambda: page.details.views.current() == SUMMARY)
        assert not page.details.progress.isVisible()
        assert page.details.copy.isVisible()
        assert not page.details.again.isVisible()
        page.details.copy.click()
        found = await made.desk.replays.get(replay.id)
        assert found is not None
        assert found.summary is not None
        assert QApplication.clipboard().text() == found.summary
        coloured: list[str] = []
        block, bar = page.details.text.document().begin(), QColor(made.desk.theme.tokens.chart_plain)
        while block.isValid():
            for part in block.layout().formats():
                assert part.format.foreground().color() == bar
                coloured.append(block.text()[part.start : part.start + part.length])
            block = block.next()
        lines = page.details.text.toPlainText().splitlines()
        assert coloured == [line[line.index(BAR) :] for line in lines if BAR in line] != []


async def test_new_replays_come_first_and_the_selected_one_stays(tmp_path: Path) -> None:
    async with room(tmp_path, dead=False) as made:
        await made.captures(1)
        first = await made.run()
        page = await made.show()
        second = await made.run(times=2)
        await until(lambda: page.model.rowCount() == 2)
        assert [one.id for one in page.model.records()] == [second.id, first.id]
        assert page.current is not None
        assert page.current.id == first.id


async def test_a_running_replay_is_paused_resumed_and_cancelled(tmp_path: Path) -> None:
    async with room(tmp_path, dead=False) as made:
        await made.captures(20)
        await made.start(pace=FixedRate(per_second=5))
        page = await made.show()
        assert page.repeat.toolTip() == NOT_ENDED
        await until(page.pause.isEnabled)
        page.pause.click()
        await until(lambda: made.window.replays.commands.pause.text() == "Resume replay")
        assert page.details.title.text().startswith("Replay paused")
        page.pause.click()
        await until(lambda: page.details.title.text().startswith("Replaying"))
        page.cancel.setFocus()
        page.cancel.click()
        await until(lambda: page.details.title.text().startswith("Replay cancelled"))
        assert not page.cancel.isEnabled()
        assert not page.cancel.isVisible()
        assert not page.pause.isVisible()
        assert page.list.hasFocus()


async def test_a_repeat_sends_the_same_requests_with_the_same_seed(tmp_path: Path) -> None:
    async with room(tmp_path, dead=False) as made:
        await made.captures(12)
        first = await made.run(faults=Faults(drop=0.5), seed=11)
        sent = [one.split(b" ")[1] for one in made.received.requests]
        made.received.requests.clear()
        await made.captures(3)  # that came later
        page = await made.show()
        page.repeat.click()
        await until(lambda: page.current is not None and page.current.id != first.id and page.current.ended)
        again = page.current
        assert again is not None
        assert (again.spec.seed, again.spec.faults) == (11, first.spec.faults)
        assert [one.split(b" ")[1] for one in made.received.requests] == sent


async def test_repeat_with_changes_opens_the_form_as_it_was(tmp_path: Path) -> None:
    async with room(tmp_path, dead=False) as made:
        await made.captures(3)
        spec = {
            "source": MatchingRequests(endpoint_id=made.endpoint.id, query="method:POST"),
            "pace": FixedRate(per_second=50),
            "concurrency": 4,
            "times": 2,
            "faults": Faults(duplicate=0.07, delay_max_ms=500),
            "seed": 5,
            "incomplete": True,
        }
        first = await made.run(**spec)
        page = await made.show()
        page.change.click()
        dialog = await wait_for_widget(ReplayManyDialog, made.window)
        await until(lambda: dialog.start.text() == "Replay 3 requests")
        asked, source = dialog.form.spec(), first.spec.source
        assert isinstance(source, MatchingRequests)
        assert asked.source == MatchingRequests(
            endpoint_id=source.endpoint_id, query=source.query, received_before=first.started_at
        )
        for name in ("destination", "pace", "concurrency", "times", "faults", "seed", "incomplete"):
            assert getattr(asked, name) == getattr(first.spec, name), name
        dialog.form["times"].set_value(1)
        dialog.start.click()
        await until(lambda: page.current is not None and page.current.spec.times == 1 and page.current.ended)


@pytest.mark.parametrize("destination", [OneUrl(url="http://127.0.0.1:9/a"), OtherEndpoint(slug="other-one")])
async def test_the_form_begins_with_the_destination(tmp_path: Path, destination: OneUrl | OtherEndpoint) -> None:
    async with room(tmp_path, dead=False) as made:
        await made.desk.endpoint(slug="other-one")
        (capture, *_) = await made.captures(2)
        await made.run(source=ChosenRequests(ids=(capture.id,)), destination=destination)
        (await made.show()).change.click()
        dialog = await wait_for_widget(ReplayManyDialog, made.window)
        assert dialog.form.spec().destination == destination
        assert dialog.form.spec().source == ChosenRequests(ids=(capture.id,))
        dialog.reject()


async def test_what_failed_is_sent_again_to_the_target_where_it_failed(tmp_path: Path) -> None:
    async with room(tmp_path) as made:
        await made.captures(3)
        first = await made.run(faults=Faults(duplicate=1.0))
        made.received.requests.clear()
        page = await made.show()
        await until(lambda: page.details.failures.rows.rowCount() == 6)
        page.details.again.click()
        question = await wait_for_widget(Question, made.window)
        assert made.received.requests == []
        question.confirm.click()
        await until(lambda: page.current is not None and page.current.id != first.id and page.current.ended)
        again = page.current
        assert again is not None
        dead = next(one for one in made.desk.store.endpoints.all()[0].targets if one.url == DEAD)
        assert again.spec.destination == OwnTargets(target_id=dead.id)
        assert not again.spec.faults.enabled
        assert (again.progress.sent, again.progress.failed, again.progress.delivered) == (3, 3, 0)
        assert made.received.requests == []


async def test_disabled_buttons_say_why(tmp_path: Path) -> None:
    async with room(tmp_path, dead=False) as made:
        (capture,) = await made.captures(1)
        await made.run(source=ChosenRequests(ids=(capture.id,)), edit=RequestEdit(method="PUT"))
        page = await made.show()
        page.details.views.set_current(FAILURES)
        page.details.views.activated.emit(FAILURES)
        assert page.details.again.toolTip() == NOTHING_FAILED
        assert page.change.toolTip() == EDITED
        assert page.repeat.isEnabled()


async def test_the_bar_leads_to_the_page_which_replaces_it(tmp_path: Path) -> None:
    async with room(tmp_path) as made:
        await made.captures(3)
        await made.run()
        bar = made.window.replays.bar
        await until(bar.isVisible)
        assert bar.title.text() == "Replay finished: 3 requests sent"
        assert bar.facts.text() == "3 failed · to 2 targets"
        assert made.window.replays.state is State.FAILED
        page, beside = made.page, QPoint(bar.title.x() + 2, 8)
        QTest.mouseClick(bar, Qt.MouseButton.RightButton, pos=beside)
        QTest.mousePress(bar, LEFT, pos=beside)
        QTest.mouseRelease(bar, LEFT, pos=QPoint(beside.x(), -8))
        assert not page.isVisible()
        QTest.mouseClick(bar, LEFT, pos=beside)
        await until(lambda: page.isVisible() and page.current is not None)
        assert not bar.isVisible()
        made.window.show_page(DASHBOARD)
        await settle()
        assert not bar.isVisible(), "what was seen on the page is not told again"


async def test_the_sidebar_counts_those_that_go_on_and_marks_the_worst(tmp_path: Path) -> None:
    async with room(tmp_path) as made:
        await made.captures(20)
        row = made.row
        assert (row.isVisible(), row.count, row.state) == (True, 0, State.NONE)
        replay = await made.start(pace=FixedRate(per_second=10))
        await until(lambda: (row.count, row.state) == (1, State.FAILED))
        assert row.accessibleDescription() == "Failed. 1 replays going on"
        await made.desk.replays.cancel(replay.id)
        await until(lambda: (row.count, row.state) == (0, State.FAILED))
        made.window.replays.bar.dismiss.click()
        await until(lambda: row.state is State.NONE)


@pytest.mark.slow
async def test_a_fast_replay_refreshes_the_page_a_few_times_a_second(tmp_path: Path) -> None:
    async with room(tmp_path, dead=False) as made:
        await made.captures(20)
        tracker, told = made.window.replays.tracker, []
        made.window.show_page(REPLAYS)
        tracker.changed.connect(lambda: told.append(1))
        await made.run(times=30, concurrency=8)
        await settle()
        found = await made.desk.replays.latest(1)
        assert found[0].ended_at is not None
        assert found[0].started_at is not None
        seconds = (found[0].ended_at - found[0].started_at) / 1_000_000
        assert len(told) <= seconds * 1_000 / MERGE_MS + 4  # its states, and the first count


@pytest.mark.usefixtures("each_font")
async def test_the_numbers_of_a_target_are_whole_and_their_columns_stand_still(desk: Desk) -> None:
    parent = QWidget()
    table = TargetTable(desk.theme, parent)
    table.resize(640, 200)
    parent.show()
    widths = []
    for ms in (0.4, 167.0, 12.0):
        one = TargetProgress(url=DEAD, delivered=1_234_567, failed=81, not_sent=0, median_ms=ms, p95_ms=ms)
        table.show_targets((one,))
        await settle()
        shown_columns = [column for column in range(1, table.rows.columnCount()) if not table.isColumnHidden(column)]
        assert all(table.columnWidth(column) >= table.sizeHintForColumn(column) for column in shown_columns)
        widths.append(table.columnWidth(table.rows.columnCount() - 1))
    assert widths == sorted(widths)
    parent.deleteLater()


@pytest.mark.usefixtures("each_font")
async def test_it_never_scrolls_sideways(tmp_path: Path) -> None:
    async with room(tmp_path) as made:
        await made.captures(3)
        await made.run(faults=Faults(duplicate=0.5, drop=0.1), seed=7)
        page = await made.show()
        await until(page.details.failures.rows.rowCount)
        for view in (FAILURES, SUMMARY):
            page.details.views.set_current(view)
            page.details.views.activated.emit(view)
            for width in (860, 911, 1100, 1440):
                made.window.resize(width, 400)
                await settle(5)
                assert [
                    one for one in made.window.findChildren(QScrollArea) if one.horizontalScrollBar().isVisible()
                ] == []
                right = page.details.targets.mapTo(page, page.details.targets.rect().topRight()).x()
                assert right <= page.width()
        assert made.page.details.title.isVisible()
