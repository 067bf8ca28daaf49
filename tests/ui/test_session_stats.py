"""Counting from events, merging bursts, and wording what is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.core.clock import DAY_US, now_us
from app.core.ids import uuid7
from app.core.model import Delivery, MirrorState
from app.core.text import ago, count_of, exact_time, size_text, until
from app.ui.dashboard.row import unread_text
from app.ui.endpoints.more_sections import parse_lines, to_lines
from app.ui.session_stats import BUCKET_US, BUCKETS, SessionStats
from app.ui.theme.fonts import ui_font
from app.ui.throttle import Throttle
from tests import factories

NOW = 1_800_000_000_000_000


def delivery(state: MirrorState, endpoint_id: int = 1) -> Delivery:
    return Delivery(id="d", capture_id="c", endpoint_id=endpoint_id, url="http://x", state=state, queued_at=NOW)


def test_an_unread_count_is_shortened_where_room_is_short(qapp: QApplication) -> None:
    font = ui_font()
    assert unread_text(1_234_567, 400, font) == "1,234,567 new"
    assert unread_text(1_234_567, 20, font) == "1M new"


class TestLedger:
    def test_received_is_stored_and_refused(self) -> None:
        ledger = SessionStats()
        ledger.captured([factories.capture().summary() for _ in range(3)])
        ledger.refused += 2
        assert (ledger.received, ledger.stored, ledger.refused) == (5, 3, 2)

    def test_deliveries_count_by_outcome(self) -> None:
        ledger = SessionStats()
        for state in (MirrorState.DELIVERED, MirrorState.DELIVERED, MirrorState.FAILED, MirrorState.QUEUED):
            ledger.mirrored_one(state, delivery(state))
        assert (ledger.mirrored, ledger.failed) == (2, 1)
        assert ledger.last_outcome(1) is MirrorState.QUEUED
        assert ledger.last_outcome(2) is MirrorState.NONE

    def test_activity_is_the_last_hour_oldest_first(self) -> None:
        ledger = SessionStats()
        first = NOW // BUCKET_US * BUCKET_US
        for back in (BUCKETS + 5, 3, 3, 0):
            ledger.captured([factories.capture(received_at=first - back * BUCKET_US).summary()])
        counts = ledger.activity(1, first)
        assert len(counts) == BUCKETS
        assert counts[-1] == 1
        assert counts[-4] == 2
        assert sum(counts) == 3
        assert ledger.activity(99, first) == [0] * BUCKETS

    def test_activity_moves_on_without_traffic(self) -> None:
        ledger = SessionStats()
        ledger.captured([factories.capture(received_at=NOW).summary()])
        assert sum(ledger.activity(1, NOW + (BUCKETS - 1) * BUCKET_US)) == 1
        assert sum(ledger.activity(1, NOW + BUCKETS * BUCKET_US)) == 0

    def test_deleted_requests_are_taken_out_of_their_time(self) -> None:
        ledger = SessionStats()
        times = (NOW - 3 * BUCKET_US, NOW, NOW)
        captures = [factories.capture(id=uuid7(at), received_at=at) for at in times]
        ledger.captured([capture.summary() for capture in captures])
        ledger.removed(1, [captures[0].id, captures[2].id])
        counts = ledger.activity(1, NOW)
        assert (counts[-4], counts[-1]) == (0, 1)
        ledger.removed(99, [captures[1].id])
        assert sum(ledger.activity(1, NOW)) == 1

    def test_a_removed_endpoint_is_forgotten(self) -> None:
        ledger = SessionStats()
        ledger.captured([factories.capture(received_at=NOW).summary()])
        ledger.mirrored_one(MirrorState.FAILED, delivery(MirrorState.FAILED))
        ledger.forget(1)
        assert sum(ledger.activity(1, NOW)) == 0
        assert ledger.last_outcome(1) is MirrorState.NONE


class TestThrottle:
    def test_first_at_once_later_merged(self, qtbot: QtBot) -> None:
        throttle = Throttle(50)
        fired: list[int] = []
        throttle.fired.connect(lambda: fired.append(1))
        for _ in range(100):
            throttle.call()
        assert len(fired) == 1
        qtbot.waitUntil(lambda: len(fired) == 2, timeout=2000)
        qtbot.wait(120)
        assert len(fired) == 2


class TestWording:
    @pytest.mark.parametrize(
        ("back", "text"),
        [(0, "now"), (1, "now"), (9, "9 s ago"), (60, "1 min ago"), (3_600, "1 h ago"), (86_400 * 12, "12 d ago")],
    )
    def test_ago(self, back: int, text: str) -> None:
        assert ago(NOW - back * 1_000_000, NOW) == text

    def test_a_time_ahead_of_the_clock_is_now(self) -> None:
        assert ago(NOW + DAY_US, NOW) == "now"

    @pytest.mark.parametrize(
        ("size", "text"),
        [
            (0, "0 B"),
            (912, "912 B"),
            (1_200, "1.2 KiB"),
            (1_023_000, "999 KiB"),
            (1_023_600, "1.0 MiB"),
            (3 * 10**12, "2.7 TiB"),
        ],
    )
    def test_sizes(self, size: int, text: str) -> None:
        assert size_text(size) == text

    def test_counts_and_times(self) -> None:
        assert count_of(1, "request") == "1 request"
        assert count_of(3204, "request") == "3,204 requests"
        assert until(NOW + 12 * 60_000_000, NOW) == "in 12 min"
        assert until(NOW, NOW) == "in less than a minute"
        assert exact_time(now_us())[:2] == "20"


class TestHeaderLines:
    @given(
        st.lists(
            st.tuples(
                st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,12}", fullmatch=True),
                st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20),
            )
        )
    )
    def test_what_is_written_is_read_back(self, pairs: list[tuple[str, str]]) -> None:
        assert parse_lines(to_lines(tuple(pairs))) == (tuple(pairs), None)

    def test_the_first_bad_line_is_named(self) -> None:
        headers, problem = parse_lines("A: 1\n\nbroken\n: x")
        assert headers == (("A", "1"),)
        assert problem is not None
        assert "line 3" in problem

    def test_order_case_and_repeats_stay(self) -> None:
        assert parse_lines("x-a: 1\nX-A:2\nx-a: 3")[0] == (("x-a", "1"), ("X-A", "2"), ("x-a", "3"))
