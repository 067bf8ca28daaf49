"""Compares the responses of two targets to one request: status, headers and body; and those to many requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import chain, islice

from app.core.comparison.body_comparison import Difference, aligned, body_differences, compared_body, difference, quoted
from app.core.model import PageKey, Summary
from app.core.record import Headers, Record

DIFFERENCES_MAX = 200
IGNORED_HEADERS = (
    *("date", "age", "server-timing", "x-runtime", "x-response-time", "x-process-time"),
    *("request-id", "x-request-id", "x-correlation-id", "x-trace-id", "traceparent", "tracestate", "cf-ray"),
    *("x-amzn-requestid", "x-amz-request-id", "x-amz-id-2", "x-amzn-trace-id", "x-cloud-trace-context"),
    *("content-length", "transfer-encoding", "connection", "keep-alive", "etag", "content-md5", "content-digest"),
)
"""Headers that differ between two responses of the same program: times, ids of the request, and framing and digests
of the body, which is compared itself and can differ only in what is ignored."""


class ComparedResponse(Record, frozen=True):
    """A response, its body as sent; or without one, `status` is None and `failure` says why.

    `complete`: the body is all there. `ms` is how long the attempt took.
    """

    status: int | None
    headers: Headers = ()
    body: bytes = b""
    complete: bool = True
    failure: str | None = None
    ms: float | None = None


class IgnoredFields(Record, frozen=True, forbid_unknown_fields=False):
    """What may differ. `json_paths` as in `PathMatcher`. Headers are named in any case. Those that an earlier version
    has stored have a field more."""

    headers: tuple[str, ...] = IGNORED_HEADERS
    json_paths: tuple[str, ...] = ()


IGNORED = IgnoredFields()


class ResponseComparison(Record, frozen=True):
    """`more`: there are others than these differences. `notes` are sentences on what was not compared."""

    differences: tuple[Difference, ...] = ()
    more: bool = False
    notes: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        return not self.differences


def compare_responses(
    first: ComparedResponse, second: ComparedResponse, ignored: IgnoredFields = IGNORED
) -> ResponseComparison:
    """At most `DIFFERENCES_MAX` differences: the status, then headers, then the body."""
    if first.status is None or second.status is None:
        return ResponseComparison(differences=tuple(_status_differences(first, second)))
    bodies = [compared_body(each.headers, each.body, complete=each.complete) for each in (first, second)]
    notes = [
        f"{which} response: {body.problem} Both bodies are compared as sent."
        for which, body in zip(("First", "Second"), bodies, strict=True)
        if body.problem
    ]
    if notes:
        bodies = [
            compared_body(each.headers, each.body, complete=each.complete, decode=False) for each in (first, second)
        ]
    if not all(body.complete for body in bodies):
        notes.append("Only the beginning of the bodies is compared.")
    found = chain(
        _status_differences(first, second),
        _header_differences(first.headers, second.headers, ignored),
        body_differences(*aligned(bodies[0], bodies[1]), ignored.json_paths),
    )
    shown = tuple(islice(found, DIFFERENCES_MAX))
    return ResponseComparison(differences=shown, more=next(found, None) is not None, notes=tuple(notes))


def _status_differences(first: ComparedResponse, second: ComparedResponse) -> Iterator[Difference]:
    old, new = (each.failure or "No response" if each.status is None else str(each.status) for each in (first, second))
    if old != new:
        yield difference("status", "", old, new, label="Status")


def _header_differences(first: Headers, second: Headers, ignored: IgnoredFields) -> Iterator[Difference]:
    """By name without case: values are compared as multisets, and the order of names may differ."""
    skipped = {name.lower() for name in ignored.headers}
    some, others = _by_name(first, skipped), _by_name(second, skipped)
    for name in dict.fromkeys((*some, *others)):
        old, new = some.get(name, []), others.get(name, [])
        if Counter(old) != Counter(new):
            written = next(each for each, _ in (*first, *second) if each.lower() == name)
            yield difference("headers", written, _values_text(old), _values_text(new), label=f"Header {written}")


def _by_name(headers: Headers, skipped: set[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for name, value in headers:
        if name.lower() not in skipped:
            values.setdefault(name.lower(), []).append(value)
    return values


def _values_text(values: list[str]) -> str | None:
    return ", ".join(map(quoted, values)) or None


class ResponsePair(Record, frozen=True):
    """What two targets responded to a request: the last attempt of the latest ended delivery to each."""

    request: Summary
    first_delivery: str
    second_delivery: str
    first: ComparedResponse
    second: ComparedResponse


class ResponsePairs(Record, frozen=True):
    """Pairs, newest request first. `examined` counts the requests looked at; the list continues after the key `next`,
    None at its end."""

    pairs: tuple[ResponsePair, ...]
    examined: int
    next: PageKey | None


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
