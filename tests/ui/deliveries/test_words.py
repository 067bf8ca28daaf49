"""Attempts in words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from app.core.attempt_text import TRIGGERS
from app.core.delivery import Attempt, AttemptTrigger, FailureKind
from app.core.model import WORST_FIRST, DeliveryState
from app.ui.dashboard.row import OUTCOMES
from app.ui.deliveries.words import attempt_text, look_of, result_of
from app.ui.requests.list.delegate import STATES
from app.ui.requests.list.model import STATE_WORDS
from tests import factories


def failed(failure: FailureKind) -> Attempt:
    return factories.attempt(factories.queued().delivery, 1, failure=failure, status=None)


@pytest.mark.parametrize("failure", FailureKind)
def test_each_way_to_fail_has_words(failure: FailureKind) -> None:
    assert result_of(failed(failure)) in attempt_text(failed(failure), 1)


def test_what_was_cut_off_on_purpose_says_so() -> None:
    assert result_of(failed(FailureKind.CUT_OFF)) == "Cut off on purpose"


@pytest.mark.parametrize("state", WORST_FIRST)
def test_each_state_has_words_wherever_it_is_shown(state: DeliveryState) -> None:
    assert state in STATE_WORDS
    assert state in STATES
    assert state in OUTCOMES
    looks = [look_of(replace(factories.queued().delivery, state=one), None) for one in WORST_FIRST]
    assert len({look.words for look in looks}) == len({look.icon for look in looks}) == len(WORST_FIRST)


def test_each_trigger_has_words() -> None:
    assert set(TRIGGERS) == set(AttemptTrigger)
