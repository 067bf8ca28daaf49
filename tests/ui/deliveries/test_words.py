"""Attempts in words."""

from __future__ import annotations

import pytest

from app.core.attempt_text import TRIGGERS
from app.core.delivery import Attempt, AttemptTrigger, FailureKind
from app.ui.deliveries.words import attempt_text, result_of
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
