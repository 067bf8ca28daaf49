"""How an attempt ended, what a queued delivery waits for, and why it cannot be sent now or retried: in words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from app.core.delivery import FAILURES, FailureKind, WaitReason, no_retry, no_send_now, result_text, wait_of
from app.core.model import DeliveryState
from app.core.target import PausedBy
from tests import factories


def test_each_kind_of_failure_has_words() -> None:
    assert set(FAILURES) == set(FailureKind)


@pytest.mark.parametrize(
    ("status", "failure", "text"),
    [
        (200, None, "200"),
        (500, FailureKind.STATUS, "500"),
        (None, FailureKind.STATUS, "Failed"),
        (None, FailureKind.TLS, "TLS failed"),
        (200, FailureKind.TIMEOUT, "Timed out"),
        (None, FailureKind.CUT_OFF, "Cut off on purpose"),
    ],
)
def test_an_attempt_is_named_by_its_status_or_what_failed(
    status: int | None, failure: FailureKind | None, text: str
) -> None:
    assert result_text(failure, status) == text


NOW = 1_795_000_000_000_000
WAITING = replace(factories.queued().delivery, state=DeliveryState.QUEUED)
RETRYING = replace(WAITING, attempts=1, round_attempts=1, started_at=NOW - 1, due_at=NOW + 5_000_000)


@pytest.mark.parametrize(
    ("changes", "target", "text", "sendable"),
    [
        ({}, {}, "now", False),
        ({"due_at": RETRYING.due_at, "started_at": NOW - 1}, {}, "waits for its retry", True),
        ({"due_at": RETRYING.due_at, "started_at": NOW + 1}, {}, "now", False),
        ({"behind": "older"}, {}, "waits for request older, in order", False),
        ({"behind": "older"}, {"parallel": 2}, "now", False),
        ({}, {"rate_limit": 0.5}, "rate limit", False),
        ({"due_at": RETRYING.due_at, "started_at": NOW - 1}, {"rate_limit": 0.5}, "waits for its retry", True),
        ({"behind": "older"}, {"paused": PausedBy.USER}, "target is paused", False),
        ({"behind": "older"}, {"paused": PausedBy.FAILURES, "active": False}, "target is off", False),
        ({"sending_at": NOW}, {"paused": PausedBy.USER}, "sending", False),
    ],
)
def test_what_a_delivery_waits_for(
    changes: dict[str, object], target: dict[str, object], text: str, sendable: bool
) -> None:
    delivery, to = replace(WAITING, **changes), factories.target("http://127.0.0.1:9/", **target)
    wait = wait_of(delivery, to, NOW)
    assert wait is not None
    assert wait.text() == text
    assert (no_send_now(delivery, to, NOW) is None) is sendable


def test_one_that_has_ended_waits_for_nothing() -> None:
    ended = replace(RETRYING, state=DeliveryState.FAILED)
    assert wait_of(ended, None, NOW) is None
    assert no_send_now(ended, None, NOW) == "Only a delivery that waits can be sent now."


def test_the_older_request_can_be_named_otherwise() -> None:
    wait = wait_of(replace(WAITING, behind="older"), factories.target("http://127.0.0.1:9/"), NOW)
    assert wait is not None
    assert (wait.reason, wait.request) == (WaitReason.ORDER, "older")
    assert wait.text("the request of 14:02") == "waits for the request of 14:02, in order"


def test_what_cannot_be_retried_has_its_reason() -> None:
    failed, target = replace(WAITING, state=DeliveryState.FAILED), factories.target("http://a/")
    assert no_retry(failed, target) is None
    assert no_retry(failed, None) == "Its target was removed."
    assert no_retry(replace(failed, deleted=True), target) == "Its request was deleted."
    told = "It is part of a replay. Replay the request again instead."
    assert no_retry(replace(failed, replay_id="r"), target) == told
    told = "Only a delivery that failed or was not sent can be retried; this one is queued."
    assert no_retry(WAITING, target) == told
