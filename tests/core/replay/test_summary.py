"""The report on a finished replay."""

from __future__ import annotations

import pytest

from app.core.replay import (
    ChosenRequests,
    Faults,
    FixedRate,
    MatchingRequests,
    OneUrl,
    OriginalGaps,
    Replay,
    ReplayProgress,
    ReplaySource,
    ReplaySpec,
    ReplayState,
    TargetProgress,
)
from app.core.replay_summary import Histogram, replay_summary, source_text
from app.core.text import exact_time

START = 1_800_000_000_000_000


def ended(spec: ReplaySpec, state: ReplayState, progress: ReplayProgress, at: int = START) -> Replay:
    return Replay(id="", created_at=START, started_at=START, spec=spec, state=state, progress=progress, ended_at=at)


def test_the_report_says_what_was_sent_and_what_came_back() -> None:
    latencies = Histogram()
    for ms in (1.0, 2.0, 3.0, 400.0):
        latencies.add(ms)
    text = replay_summary(
        ended(
            ReplaySpec(
                source=ChosenRequests(ids=("a", "b", "c")),
                destination=OneUrl(url="http://127.0.0.1:3000/"),
                pace=OriginalGaps(scale=0.5, longest_gap_ms=2_000),
                faults=Faults(duplicate=0.25, drop=0.05),
                seed=7,
                concurrency=8,
                times=2,
            ),
            ReplayState.DONE,
            ReplayProgress(total=6, sent=6, delivered=4, failed=2, dropped=1, duplicated=1),
            START + 3_000_000,
        ),
        latencies,
        {"200": 4, "Could not connect": 2},
        resumed=False,
        endpoint=None,
    )
    assert text.startswith(REPORT.format(started=exact_time(START)))
    assert text.endswith(latencies.text())


REPORT = """\
Replay finished

Replay
  Requests               3 selected requests
  To                     http://127.0.0.1:3000/
  Pace                   original gaps × 0.5, at most 2.0 s each, 8 at once
  Times                  2
  Faults                 25 % duplicated, 5 % dropped (seed 7)
  Started                {started}
  Took                   3.0 s

Totals
  Sent                   6 requests
  Delivered              4
  Failed                 2
  Dropped on purpose     1
  Duplicated on purpose  1
  Rate                   2.0 requests per second

Results
  200                    4
  Could not connect      2

Latency
  Shortest               1.0 ms
"""


def test_a_cancelled_replay_says_how_far_it_came() -> None:
    text = replay_summary(
        ended(
            ReplaySpec(source=MatchingRequests(endpoint_id=1, query="status:500"), pace=FixedRate(per_second=5)),
            ReplayState.CANCELLED,
            ReplayProgress(total=1_200, sent=30, delivered=30),
        ),
        Histogram(),
        {},
        resumed=False,
        endpoint="Stripe",
    )
    lines = text.splitlines()
    assert lines[0] == "Replay cancelled"
    assert "  Sent       30 of 1,200 requests" in lines
    assert "  Requests   all requests of “Stripe” that match “status:500”" in lines
    assert "  Faults     none" in lines
    assert "Latency" not in lines


def test_several_targets_are_told_apart() -> None:
    targets = (
        TargetProgress(url="http://127.0.0.1:3000/", delivered=12, median_ms=1.5, p95_ms=20.0),
        TargetProgress(url="https://127.0.0.1:3001/", delivered=1, failed=10, not_sent=1),
        TargetProgress(url="", not_sent=1),
    )
    text = replay_summary(
        ended(
            ReplaySpec(source=MatchingRequests(endpoint_id=1)),
            ReplayState.DONE,
            ReplayProgress(total=13, sent=13, delivered=13, failed=12, targets=targets),
        ),
        Histogram(),
        {"200": 13, "TLS failed": 11, "Not sent": 1},
        resumed=False,
        endpoint="Stripe",
    )
    assert text.split("\nTargets\n")[1].split("\n\n")[0].splitlines() == [
        "  12 delivered,  0 failed, 0 not sent  http://127.0.0.1:3000/ (p50 1.5 ms, p95 20 ms)",
        "   1 delivered, 10 failed, 1 not sent  https://127.0.0.1:3001/",
    ]


def test_a_resumed_replay_says_that_the_results_before_are_not_known() -> None:
    latencies = Histogram()
    latencies.add(1.0)
    text = replay_summary(
        ended(
            ReplaySpec(source=MatchingRequests(endpoint_id=1)),
            ReplayState.DONE,
            ReplayProgress(total=12, sent=12, delivered=12),
        ),
        latencies,
        {"200": 1},
        resumed=True,
        endpoint="Stripe",
    )
    lines = text.splitlines()
    assert "Results since it was resumed" in lines
    assert "Latency since it was resumed" in lines
    assert "Targets" not in lines


@pytest.mark.parametrize(
    ("source", "endpoint", "text"),
    [
        (ChosenRequests(ids=("a",)), None, "1 selected request"),
        (MatchingRequests(), None, "all requests of all endpoints"),
        (
            MatchingRequests(received_before=START),
            None,
            f"all requests of all endpoints, before {exact_time(START)}",
        ),
        (MatchingRequests(endpoint_id=1), "Stripe", "all requests of “Stripe”"),
        (MatchingRequests(endpoint_id=1), None, "all requests of a deleted endpoint"),
        (
            MatchingRequests(query="x", received_after=START),
            None,
            f"all requests of all endpoints that match “x”, from {exact_time(START)}",
        ),
    ],
)
def test_the_source_in_words(source: ReplaySource, endpoint: str | None, text: str) -> None:
    assert source_text(source, endpoint) == text
