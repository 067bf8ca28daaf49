"""What is said about targets."""

from __future__ import annotations

import pytest

from app.core.target import PausedBy, RetryRule, Target, TargetDraft
from app.core.target_text import paused_text
from app.ui.deliveries.words import more_text, retry_text, sample_url, target_look

END = "until 10 min after the first attempt."
CONNECTING = " Attempts that cannot connect do not count."


def target(**fields: object) -> Target:
    return Target(**{"id": 1, "endpoint_id": 1, "url": "http://localhost:3000/hook", **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (RetryRule(), f"Retries connection errors up to 4 times, after at most 1, 2, 4 and 8 s, {END}{CONNECTING}"),
        (RetryRule(retries=0), "Never retries a failed delivery."),
        (RetryRule(on=()), "Never retries a failed delivery: no result is selected."),
        (
            RetryRule(retries=1, on=("timeout", "5xx")),
            f"Retries timeouts and 5xx responses once, after at most 1 s, {END}",
        ),
        (
            RetryRule(
                retries=3, on=("5xx", "429", "connection", "tls"), first_delay_ms=30_000, longest_delay_ms=60_000
            ),
            (
                "Retries connection errors, TLS errors and 429 and 5xx responses up to 3 times, after at most 30 s,"
                f" 1 min and 1 min, {END}{CONNECTING}"
            ),
        ),
        (
            RetryRule(retries=1, on=("5xx", "503", "410")),
            f"Retries 503, 410 and 5xx responses once, after at most 1 s, {END}",
        ),
        (
            RetryRule(retries=10, total_ms=3_600_000),
            (
                "Retries connection errors up to 10 times, after at most 1 s, then twice as long each time up to"
                " 30 s, until 1 h after the first attempt." + CONNECTING
            ),
        ),
        (
            RetryRule(retries=2, first_delay_ms=5_000, longest_delay_ms=5_000),
            f"Retries connection errors up to 2 times, after at most 5 s each time, {END}{CONNECTING}",
        ),
        (
            RetryRule(retries=2, first_delay_ms=0),
            f"Retries connection errors up to 2 times, without waiting, {END}{CONNECTING}",
        ),
        (RetryRule(longest_delay_ms=0), f"Retries connection errors up to 4 times, without waiting, {END}{CONNECTING}"),
    ],
)
def test_a_rule_in_words(rule: RetryRule, text: str) -> None:
    assert retry_text(rule) == text


@pytest.mark.parametrize(
    ("fields", "url"),
    [
        ({}, "http://localhost:3000/hook/orders?id=7"),
        ({"append_path": False}, "http://localhost:3000/hook?id=7"),
        ({"keep_query": False}, "http://localhost:3000/hook/orders"),
        ({"append_path": False, "keep_query": False}, "http://localhost:3000/hook"),
    ],
)
def test_a_sample_says_what_is_appended(fields: dict[str, bool], url: str) -> None:
    assert sample_url(TargetDraft(url="http://localhost:3000/hook", **fields), "stripe") == url  # type: ignore[arg-type]


def test_a_sample_shows_what_a_short_url_means() -> None:
    assert sample_url(TargetDraft(url="3000"), "stripe") == "http://localhost:3000/orders?id=7"


def test_a_state_has_its_own_shape_and_words() -> None:
    on, off = TargetDraft(url="http://localhost/"), TargetDraft(url="http://localhost/", active=False)
    looks = [
        target_look(on, None, 0),
        target_look(on, None, 2),
        target_look(on, PausedBy.USER, 0),
        target_look(on, PausedBy.FAILURES, 10),
        target_look(off, PausedBy.FAILURES, 10),
    ]
    assert [one.words for one in looks] == ["On", "Failing", "Paused by you", "Paused after 10 failures", "Off"]
    assert len({one.icon for one in looks}) == len({one.colour for one in looks}) == 4


@pytest.mark.parametrize(
    ("targets", "waiting", "text"),
    [
        (
            [target(paused=PausedBy.FAILURES)],
            37,
            (
                "Forwarding to http://localhost:3000/hook is paused after 10 failed deliveries in a row. 37 deliveries"
                " are waiting."
            ),
        ),
        (
            [target(paused=PausedBy.USER)],
            1,
            "Forwarding to http://localhost:3000/hook is paused. 1 delivery is waiting.",
        ),
        ([target(paused=PausedBy.USER)] * 2, None, "Forwarding to 2 targets is paused."),
    ],
)
def test_a_pause_says_why_and_what_waits(targets: list[Target], waiting: int | None, text: str) -> None:
    assert paused_text(targets, waiting) == text


def test_more_targets_are_counted() -> None:
    assert [more_text([target()] * count) for count in range(4)] == [
        "",
        "",
        " and 1 more target",
        " and 2 more targets",
    ]
