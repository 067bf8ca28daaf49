"""The responses of two targets to one stored request, and what differs between them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from app.core.comparison.response_comparison import IgnoredFields, ResponseComparison, compare_responses
from app.core.comparison.response_pairs import ResponsePair
from app.core.model import Summary
from app.core.record import Record


class ComparisonResult(StrEnum):
    """NO_RESPONSE: neither target responded, so there is nothing to compare."""

    SAME = "same"
    DIFFERENT = "different"
    NO_RESPONSE = "no_response"


class ComparedRequest(Record, frozen=True):
    """A request with the statuses of both responses (None: the target did not respond), how long they took, and what
    differs."""

    request: Summary
    first_delivery: str
    second_delivery: str
    first_status: int | None
    second_status: int | None
    comparison: ResponseComparison
    first_ms: float | None = None
    second_ms: float | None = None

    @property
    def ms_difference(self) -> float | None:
        """How much longer the second one took; None unless both responded."""
        return None if self.first_ms is None or self.second_ms is None else self.second_ms - self.first_ms

    @property
    def result(self) -> ComparisonResult:
        if self.first_status is None and self.second_status is None:
            return ComparisonResult.NO_RESPONSE
        return ComparisonResult.SAME if self.comparison.same else ComparisonResult.DIFFERENT


def compare_pairs(pairs: Iterable[ResponsePair], ignored: IgnoredFields) -> list[ComparedRequest]:
    """Takes up to a second for a pair of large bodies: call it on a thread."""
    return [
        ComparedRequest(
            request=pair.request,
            first_delivery=pair.first_delivery,
            second_delivery=pair.second_delivery,
            first_status=pair.first.status,
            second_status=pair.second.status,
            comparison=compare_responses(pair.first, pair.second, ignored),
            first_ms=pair.first.ms,
            second_ms=pair.second.ms,
        )
        for pair in pairs
    ]
