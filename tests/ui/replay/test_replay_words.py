"""What is said of a replay before, while and after it runs; and which bodies are edited as text."""

from __future__ import annotations

import pytest

from app.core.replay import (
    ChosenRequests,
    Faults,
    FixedRate,
    MatchingRequests,
    OneUrl,
    OriginalGaps,
    OtherEndpoint,
    Replay,
    ReplayProgress,
    ReplaySpec,
    ReplayState,
)
from app.ui.replay.replay_text import counts_text, is_single, plan_text, short_text, speed_text, title_text, with_bars
from app.ui.replay.request_editors import EditableText, editable_text
from app.ui.widgets.headers_field import header_lines, parse_headers

ALL = MatchingRequests(endpoint_id=1)


@pytest.mark.parametrize(
    ("spec", "count", "text"),
    [
        (
            ReplaySpec(source=ALL),
            1_204,
            (
                "Sends 1,204 requests of “Shop”, oldest first, to http://a/. Incomplete ones are left out."
                " Back to back, one at a time."
            ),
        ),
        (
            ReplaySpec(
                source=ALL,
                destination=OneUrl(url="http://b/"),
                pace=FixedRate(per_second=2.5),
                concurrency=4,
                incomplete=True,
            ),
            1,
            "Sends 1 request of “Shop”, to http://b/. 2.5 per second, at most 4 at once.",
        ),
        (
            ReplaySpec(
                source=ALL,
                destination=OtherEndpoint(slug="other"),
                pace=OriginalGaps(scale=0.1, longest_gap_ms=2_000),
                times=3,
                faults=Faults(drop=0.05),
                seed=7,
            ),
            10,
            (
                "Sends 10 requests of “Shop”, oldest first, to the endpoint other. Incomplete ones are left out."
                " With the gaps they were received with, 10 times as fast, no gap longer than 2.0 s, one at a time."
                " Each is sent 3 times: 30 in all. Faults on purpose: 5 % dropped (seed 7)."
            ),
        ),
    ],
)
def test_the_plan_is_said_in_words(spec: ReplaySpec, count: int, text: str) -> None:
    assert plan_text(spec, "of “Shop”", count, "http://a/") == text


def test_a_plan_without_a_url_asks_for_it() -> None:
    spec = ReplaySpec(source=ALL, destination=OneUrl(url=""))
    assert plan_text(spec, "of “Shop”", 3, "") == "Enter a URL to send to."


def test_a_request_to_several_targets_counts_once_for_each() -> None:
    progress = ReplayProgress(total=12, sent=12, delivered=12, failed=36)
    done = Replay(id="x", created_at=0, spec=ReplaySpec(source=ALL), state=ReplayState.DONE, progress=progress)
    assert (title_text(done), counts_text(progress)) == (
        "Replay finished: 12 requests sent",
        "12 delivered · 36 failed",
    )


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (ReplayState.QUEUED, "Replay waiting for the one before it"),
        (ReplayState.RUNNING, "Replaying: 3 of 10"),
        (ReplayState.PAUSED, "Replay paused: 3 of 10"),
        (ReplayState.DONE, "Replay finished: 3 requests sent"),
        (ReplayState.CANCELLED, "Replay cancelled: 3 of 10"),
        (ReplayState.INTERRUPTED, "Replay interrupted when Hookline closed: 3 of 10"),
    ],
)
def test_each_state_has_its_words(state: ReplayState, text: str) -> None:
    progress = ReplayProgress(total=10, sent=3, delivered=3)
    assert title_text(Replay(id="x", created_at=0, spec=ReplaySpec(source=ALL), state=state, progress=progress)) == text


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (ReplayState.QUEUED, "Waiting · 1 failed"),
        (ReplayState.RUNNING, "3 of 10 · 1 failed"),
        (ReplayState.PAUSED, "Paused at 3 of 10 · 1 failed"),
        (ReplayState.DONE, "3 sent · 1 failed"),
        (ReplayState.CANCELLED, "Cancelled at 3 of 10 · 1 failed"),
        (ReplayState.INTERRUPTED, "Interrupted at 3 of 10 · 1 failed"),
    ],
)
def test_each_state_has_fewer_words_in_a_list(state: ReplayState, text: str) -> None:
    progress = ReplayProgress(total=10, sent=3, delivered=2, failed=1)
    assert short_text(Replay(id="x", created_at=0, spec=ReplaySpec(source=ALL), state=state, progress=progress)) == text


def test_what_was_not_sent_is_counted_only_if_there_is_any() -> None:
    progress = ReplayProgress(delivered=1_000, dropped=1, duplicated=2, incomplete=3, repeated=4)
    rest = "1 dropped · 2 duplicated · 3 incomplete left out · 4 repeated after a restart"
    assert counts_text(progress) == f"1,000 delivered · 0 failed · {rest}"


def test_the_time_left_follows_the_rate() -> None:
    progress = ReplayProgress(total=1_000, sent=400, delivered=400, rate=20.0)
    running = Replay(id="x", created_at=0, spec=ReplaySpec(source=ALL), state=ReplayState.RUNNING, progress=progress)
    assert speed_text(running) == "20 per second · about 30 s left"


def test_one_request_sent_once_is_single() -> None:
    one = ChosenRequests(ids=("a",))
    assert is_single(ReplaySpec(source=one))
    assert not is_single(ReplaySpec(source=one, times=2))
    assert not is_single(ReplaySpec(source=ChosenRequests(ids=("a", "b"))))


def test_only_the_bars_of_a_summary_become_solid() -> None:
    assert with_bars("Issue #1\n 1 to 2 ms  5  ##") == "Issue #1\n 1 to 2 ms  5  ██"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"a": 1}\n', "application/json"),
        (b"a\r\nb\r\n", "text/plain"),
        ("\ufeffgr\u00fc\u00dfe".encode(), "text/plain"),
        ("gr\u00fc\u00dfe \u00a0".encode("latin-1"), "text/plain; charset=latin-1"),
        (b"", ""),
    ],
)
def test_text_is_edited_so_that_what_is_not_changed_stays_the_same(body: bytes, content_type: str) -> None:
    text = editable_text(body, content_type)
    assert isinstance(text, EditableText)
    assert "\r" not in text.text
    assert text.encode(text.text) == body


@pytest.mark.parametrize(
    "body", [b"\x00\x01", b"\xff\xfe\xfa", b"a\r\nb\nc", b"a\rb", "a\u2028b".encode(), b"x" * (1024 * 1024 + 1)]
)
def test_other_bodies_are_not_edited_as_text(body: bytes) -> None:
    assert isinstance(editable_text(body, "text/plain"), str)


def test_headers_are_the_same_as_lines() -> None:
    headers = (("X-A", "1"), ("x-a", ""), ("Time", "10:30"))
    assert parse_headers(header_lines(headers)) == (headers, None)
    assert parse_headers("X-A: 1\n\nno colon")[1] == "Line 3 must read “Name: value”."
