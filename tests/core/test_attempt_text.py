"""How an attempt ended, in words."""

from __future__ import annotations

import pytest

from app.core.attempt_text import FAILURES, short_result
from app.core.delivery import Delivery, FailureKind
from app.core.model import DeliveryState
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
    delivery = Delivery(
        id="d", capture_id="c", endpoint_id=1, url="http://127.0.0.1:9/", state=DeliveryState.QUEUED, queued_at=0
    )
    attempt = factories.attempt(delivery, status=status, failure=failure)
    assert short_result(attempt) == text
