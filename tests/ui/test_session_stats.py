"""Counts from events, and how times, sizes and counts are written."""

from __future__ import annotations

import pytest

from app.core.clock import DAY_US, now_us
from app.core.delivery import Delivery
from app.core.events import DeliveryChanged
from app.core.ids import uuid7
from app.core.model import DeliveryState
from app.core.text import ago, count_of, exact_time, size_text, until
from app.ui.qt_events import BUCKET_US, BUCKETS, SessionStats
from tests import factories

NOW = 1_800_000_000_000_000


def changed(state: DeliveryState, shown: DeliveryState | None = None, replay_id: str | None = None) -> DeliveryChanged:
    """`shown` is the state of its request, the same unless given."""
    delivery = Delivery(
        id="d", capture_id="c", endpoint_id=1, url="http://x", state=state, queued_at=NOW, replay_id=replay_id
    )
    return DeliveryChanged(delivery=delivery, state=shown or state)


class TestSessionStats:
    def test_received_is_stored_and_refused(self) -> None:
        stats = SessionStats()
        stats.captured([factories.capture().summary() for _ in range(3)])
        stats.refused += 2
        assert (stats.received, stats.stored, stats.refused) == (5, 3, 2)

    def test_deliveries_count_by_outcome(self) -> None:
        stats = SessionStats()
        for state in (DeliveryState.DELIVERED, DeliveryState.DELIVERED, DeliveryState.FAILED, DeliveryState.QUEUED):
            stats.delivery_changed(changed(state))
        stats.delivery_changed(changed(DeliveryState.DELIVERED, replay_id="r"))
        assert (stats.forwarded, stats.failed) == (2, 1)
        assert stats.last_outcome(1) is DeliveryState.FAILED
        assert stats.last_outcome(2) is DeliveryState.NONE

    def test_the_last_outcome_is_that_of_the_worst_target(self) -> None:
        stats = SessionStats()
        stats.delivery_changed(changed(DeliveryState.DELIVERED, DeliveryState.FAILED))
        assert stats.last_outcome(1) is DeliveryState.FAILED

    def test_what_waits_hides_what_was_delivered_but_no_failure(self) -> None:
        stats = SessionStats()
        summary = factories.capture(delivery=DeliveryState.QUEUED).summary()
        for ended, shown in ((DeliveryState.DELIVERED, DeliveryState.QUEUED), (DeliveryState.FAILED,) * 2):
            stats.delivery_changed(changed(ended))
            stats.captured([summary])
            assert stats.last_outcome(1) is shown

    def test_activity_is_the_last_hour_oldest_first(self) -> None:
        stats = SessionStats()
        first = NOW // BUCKET_US * BUCKET_US
        for back in (BUCKETS + 5, 3, 3, 0):
            stats.captured([factories.capture(received_at=first - back * BUCKET_US).summary()])
        counts = stats.activity(1, first)
        assert len(counts) == BUCKETS
        assert counts[-1] == 1
        assert counts[-4] == 2
        assert sum(counts) == 3
        assert stats.activity(99, first) == [0] * BUCKETS

    def test_activity_moves_on_without_traffic(self) -> None:
        stats = SessionStats()
        stats.captured([factories.capture(received_at=NOW).summary()])
        assert sum(stats.activity(1, NOW + (BUCKETS - 1) * BUCKET_US)) == 1
        assert sum(stats.activity(1, NOW + BUCKETS * BUCKET_US)) == 0

    def test_deleted_requests_are_taken_out_of_their_time(self) -> None:
        stats = SessionStats()
        times = (NOW - 3 * BUCKET_US, NOW, NOW)
        captures = [factories.capture(id=uuid7(at), received_at=at) for at in times]
        stats.captured([capture.summary() for capture in captures])
        stats.removed(1, [captures[0].id, captures[2].id])
        counts = stats.activity(1, NOW)
        assert (counts[-4], counts[-1]) == (0, 1)
        stats.removed(99, [captures[1].id])
        assert sum(stats.activity(1, NOW)) == 1

    def test_a_removed_endpoint_is_forgotten(self) -> None:
        stats = SessionStats()
        stats.captured([factories.capture(received_at=NOW).summary()])
        stats.delivery_changed(changed(DeliveryState.FAILED))
        stats.forget(1)
        assert sum(stats.activity(1, NOW)) == 0
        assert stats.last_outcome(1) is DeliveryState.NONE


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
