"""Attempts in words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from app.core.delivery import TRIGGERS, Attempt, AttemptTrigger, FailureKind
from app.core.target import PausedBy, RetryRule, Target
from app.ui.deliveries.words import (
    attempt_text,
    next_text,
    paused_text,
    result_of,
    status_text,
    wait_text,
)
from tests import factories


def failed(failure: FailureKind) -> Attempt:
    return factories.attempt(factories.queued().delivery, 1, failure=failure, status=None)


@pytest.mark.parametrize("failure", FailureKind)
def test_each_way_to_fail_has_words(failure: FailureKind) -> None:
    assert result_of(failed(failure)) in attempt_text(failed(failure), 1)


def test_what_was_cut_off_on_purpose_says_so() -> None:
    assert result_of(failed(FailureKind.CUT_OFF)) == "Cut off on purpose"


def test_each_trigger_has_words() -> None:
    assert set(TRIGGERS) == set(AttemptTrigger)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "now"),
        (0, "now"),
        (0.2, "in 1 s"),
        (59, "in 59 s"),
        (60, "in 1 min"),
        (245, "in 4 min 5 s"),
        (3_600, "in 1 h"),
        (7_380, "in 2 h 3 min"),
    ],
)
def test_a_wait_has_no_more_than_two_units(seconds: float, text: str) -> None:
    assert wait_text(round(seconds * 1_000_000)) == text


def test_a_status_without_a_phrase_is_its_number() -> None:
    assert [status_text(status) for status in (404, 799)] == ["404 Not Found", "799"]


def test_a_paused_target_says_who_paused_it() -> None:
    target = Target(url="http://a/", id=1, endpoint_id=1, pause_after=1, paused=PausedBy.FAILURES)
    assert paused_text(target).startswith("Paused after 1 failed delivery in a row.")
    assert "Paused after" not in paused_text(replace(target, paused=PausedBy.USER))


def test_a_retry_is_counted_against_what_its_target_allows() -> None:
    waiting = replace(factories.queued().delivery, attempts=2, round_attempts=2, target_id=1)
    target = Target(url="http://a/", id=1, endpoint_id=1, retry=RetryRule(retries=4))
    assert next_text(waiting, target, waiting.queued_at) == "Retry 2 of 4 now"
    for none_left in (None, replace(target, retry=RetryRule(retries=1))):
        assert next_text(waiting, none_left, waiting.queued_at) == "Retry 2 now"
