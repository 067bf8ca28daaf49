"""Compares the responses of two targets to one request: status, headers and body; those to many requests; and lays two
responses, or two requests, out side by side: headers aligned by name, JSON by its members, other text by its lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import chain, islice, zip_longest
from typing import Any, ClassVar

from app.core.bodies.escape import escape_beginning
from app.core.body_comparison import (
    MISSING,
    ComparedBody,
    Difference,
    aligned,
    body_differences,
    byte_difference,
    child,
    child_keys,
    compared_body,
    difference,
    json_value,
    line_blocks,
    quoted,
    same_value,
    text_of,
)
from app.core.json_path import Key, PathMatcher, path_text
from app.core.model import PageKey, Summary
from app.core.record import Headers, Record
from app.core.text import count_of

DIFFERENCES_MAX = 200
IGNORED_HEADERS = (
    *("date", "age", "server-timing", "x-runtime", "x-response-time", "x-process-time"),
    *("request-id", "x-request-id", "x-correlation-id", "x-trace-id", "traceparent", "tracestate", "cf-ray"),
    *("x-amzn-requestid", "x-amz-request-id", "x-amz-id-2", "x-amzn-trace-id", "x-cloud-trace-context"),
    *("content-length", "transfer-encoding", "connection", "keep-alive", "etag", "content-md5", "content-digest"),
)
"""Headers that differ between two responses of the same program: times, ids of the request, and framing and digests
of the body, which is compared itself and can differ only in what is ignored."""
ROWS_MAX = 3_000
"""Lines of a body that are shown."""
CONTEXT = 3
"""Lines shown around a difference in a longer body."""
EXAMINED_MAX = 200_000
"""Lines that are aligned."""
WIDTH_MAX = 2_000
"""Characters of a line that are shown."""
_INDENT = "  "


class ComparedMessage(Record, frozen=True):
    """What a request and a response have: headers, and the body as sent. `complete`: it is all there. `noun` names in
    sentences what it is."""

    noun: ClassVar[str] = "request"
    headers: Headers = ()
    body: bytes = b""
    complete: bool = True


class ComparedResponse(ComparedMessage, frozen=True, kw_only=True):
    """A response; or without one, `status` is None and `failure` says why. `ms` is how long the attempt took."""

    noun: ClassVar[str] = "response"
    status: int | None
    failure: str | None = None
    ms: float | None = None


class IgnoredFields(Record, frozen=True, forbid_unknown_fields=False):
    """What may differ. `json_paths` as in `PathMatcher`. Headers are named in any case. Those that an earlier version
    has stored have a field more."""

    headers: tuple[str, ...] = IGNORED_HEADERS
    json_paths: tuple[str, ...] = ()


IGNORED = IgnoredFields()
NONE_IGNORED = IgnoredFields(headers=())
ONLY_BEGINNING = "Only the beginning of the bodies is compared."


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
    bodies = _bodies(first, second)
    notes = [
        f"{which} response: {body.problem} Both bodies are compared as sent."
        for which, body in zip(("First", "Second"), bodies, strict=True)
        if body.problem
    ]
    if notes:
        bodies = _bodies(first, second, decode=False)
    if not all(body.complete for body in bodies):
        notes.append(ONLY_BEGINNING)
    found = chain(
        _status_differences(first, second),
        _header_differences(first.headers, second.headers, ignored),
        body_differences(*aligned(bodies[0], bodies[1]), ignored.json_paths),
    )
    shown = tuple(islice(found, DIFFERENCES_MAX))
    return ResponseComparison(differences=shown, more=next(found, None) is not None, notes=tuple(notes))


def _bodies(*messages: ComparedMessage, decode: bool = True) -> list[ComparedBody]:
    return [compared_body(one.headers, one.body, complete=one.complete, decode=decode) for one in messages]


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


# -- many requests ----------------------------------------------------------------------------------------------------


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


# -- side by side -----------------------------------------------------------------------------------------------------


class RowKind(StrEnum):
    """FIRST and SECOND: only in that message. IGNORED: it may differ."""

    SAME = "same"
    CHANGED = "changed"
    FIRST = "first"
    SECOND = "second"
    IGNORED = "ignored"

    @property
    def differs(self) -> bool:
        return self in (RowKind.CHANGED, RowKind.FIRST, RowKind.SECOND)


class AlignedRow(Record, frozen=True):
    """A header or a line, None where that message has none; unprintable characters are escaped.

    `field` is what can be ignored: the header's name, or the JSON path of the line's value; empty for other lines.
    """

    kind: RowKind
    first: str | None
    second: str | None
    field: str = ""


class SideBySide(Record, frozen=True):
    """`notes` are sentences on what is not shown. `body_differs`: the bodies do, although no row of them is shown."""

    headers: tuple[AlignedRow, ...]
    body: tuple[AlignedRow, ...]
    notes: tuple[str, ...] = ()
    body_differs: bool = False


def side_by_side(first: ComparedMessage, second: ComparedMessage, ignored: IgnoredFields) -> SideBySide:
    """Both are of one kind. Takes up to a second for large bodies: call it on a thread."""
    bodies = aligned(*_bodies(first, second))
    texts = [text_of(body) for body in bodies]
    notes = [
        f"{which} {first.noun}: {body.problem}"
        if body.problem
        else f"{which} {first.noun}: {count_of(len(body.data), 'byte')} that are not text."
        for which, body, text in zip(("First", "Second"), bodies, texts, strict=True)
        if text is None
    ]
    rows: list[AlignedRow] = []
    differs = False
    if notes:
        if any(body.problem for body in bodies):
            bodies = aligned(*_bodies(first, second, decode=False))
        differs = bodies[0].data != bodies[1].data
        if differs and texts == [None, None]:
            notes.append(f"{byte_difference(*bodies, noun=first.noun).text}.")
    else:
        rows = _all_rows(bodies, [text or "" for text in texts], ignored)
        if len(rows) > EXAMINED_MAX:
            notes.append(f"Only the first {EXAMINED_MAX:,} lines are shown side by side.")
        if len(rows) > ROWS_MAX:
            notes.append(f"The bodies are long: only differences are shown, at most {ROWS_MAX:,} lines.")
            rows = list(islice(_condensed(rows[:EXAMINED_MAX]), ROWS_MAX))
    if (first.body or second.body) and not all(body.complete for body in bodies):
        notes.append(ONLY_BEGINNING)
    headers = header_rows(first.headers, second.headers, ignored)
    return SideBySide(headers=headers, body=tuple(rows), notes=tuple(notes), body_differs=differs)


def header_rows(first: Headers, second: Headers, ignored: IgnoredFields) -> tuple[AlignedRow, ...]:
    """By name without case, in the order of the first message; the values of a repeated name in their order."""
    skipped = {name.lower() for name in ignored.headers}
    names = {name.lower(): name for name, _ in (*second, *first)}
    rows = []
    for name in dict.fromkeys(name.lower() for name, _ in (*first, *second)):
        values = ([value for each, value in headers if each.lower() == name] for headers in (first, second))
        for old, new in zip_longest(*values):
            kind = _kind(old, new)
            if name in skipped and kind.differs:
                kind = RowKind.IGNORED
            rows.append(_row(old, new, kind, names[name]))
    return tuple(rows)


def _kind(first: str | None, second: str | None) -> RowKind:
    if first is None or second is None:
        return RowKind.SECOND if first is None else RowKind.FIRST
    return RowKind.SAME if first == second else RowKind.CHANGED


def _all_rows(bodies: Sequence[ComparedBody], texts: list[str], ignored: IgnoredFields) -> list[AlignedRow]:
    """At most one more than `EXAMINED_MAX`."""
    try:
        return list(islice(_body_rows(bodies, texts, ignored), EXAMINED_MAX + 1))
    except RecursionError:
        return list(islice(_text_rows(*(text.split("\n") for text in texts)), EXAMINED_MAX + 1))


def _condensed(rows: list[AlignedRow]) -> Iterator[AlignedRow]:
    """The rows that differ with some around them; a row that counts those left out in between."""
    kept = sorted(
        {near for at, row in enumerate(rows) if row.kind.differs for near in range(at - CONTEXT, at + CONTEXT + 1)}
    )
    end = 0
    for at in (*(at for at in kept if 0 <= at < len(rows)), len(rows)):
        if at > end:
            text = f"… {count_of(at - end, 'line')} without a difference"
            yield AlignedRow(kind=RowKind.SAME, first=text, second=text)
        if at < len(rows):
            yield rows[at]
        end = at + 1


def _body_rows(bodies: Sequence[ComparedBody], texts: list[str], ignored: IgnoredFields) -> Iterator[AlignedRow]:
    if not any(texts):
        return iter(())
    try:
        values = [json_value(text, body) for text, body in zip(texts, bodies, strict=True)]
    except ValueError:
        return _text_rows(*(text.split("\n") if text else [] for text in texts))
    matcher = PathMatcher(ignored.json_paths)
    return _json_rows((), (values[0], values[1]), ("", ""), ("", ""), matcher.start, matcher=matcher)


def _text_rows(first: list[str], second: list[str]) -> Iterator[AlignedRow]:
    for _, here, there in line_blocks(first, second):
        yield from (_row(old, new) for old, new in zip_longest(first[here], second[there]))


def _row(first: str | None, second: str | None, kind: RowKind | None = None, field: str = "") -> AlignedRow:
    old, new = (text and escape_beginning(text, WIDTH_MAX) for text in (first, second))
    return AlignedRow(kind=kind or _kind(first, second), first=old, second=new, field=field)


def _json_rows(
    keys: tuple[Key, ...],
    values: tuple[Any, Any],
    before: tuple[str, str],
    after: tuple[str, str],
    states: frozenset[tuple[int, int]] | None,
    *,
    matcher: PathMatcher,
) -> Iterator[AlignedRow]:
    """Both values laid out alike, so that a line has the same member on both sides. `before` and `after` are what each
    side has around the value; `states` None: it is ignored."""
    field, first, second = path_text(keys), *values
    children = child_keys(first, second) if states is not None else None
    if children is None or states is None:
        kind = RowKind.IGNORED if states is None else None
        if MISSING not in values and same_value(first, second):
            kind = RowKind.SAME
        lines = [
            [None] if value is MISSING else list(_lines(value, begin, end, len(keys)))
            for value, begin, end in zip(values, before, after, strict=True)
        ]
        for old, new in zip_longest(*lines):
            yield _row(old, new, kind, field)
        return
    opening, closing = ("{", "}") if isinstance(first, dict) else ("[", "]")
    if not children:
        yield _row(f"{before[0]}{opening}{closing}{after[0]}", f"{before[1]}{opening}{closing}{after[1]}", RowKind.SAME)
        return
    yield _row(before[0] + opening, before[1] + opening, RowKind.SAME, field if keys else "")
    lasts = [_last(value) for value in values]
    for key in children:
        pair = child(first, key), child(second, key)
        indent = _INDENT * (len(keys) + 1)
        name = f"{indent}{json.dumps(key, ensure_ascii=False)}: " if isinstance(key, str) else indent
        commas = ("" if lasts[0] == key else ",", "" if lasts[1] == key else ",")
        below = matcher.below(states, key)
        yield from _json_rows((*keys, key), pair, (name, name), commas, below, matcher=matcher)
    indent = _INDENT * len(keys)
    yield _row(indent + closing + after[0], indent + closing + after[1], RowKind.SAME)


def _last(value: Any) -> Key | None:
    if isinstance(value, dict):
        return next(reversed(value), None)
    return len(value) - 1


def _lines(value: Any, before: str, after: str, depth: int) -> Iterator[str]:
    """A value laid out on lines, at `depth` levels of indentation."""
    if not isinstance(value, dict | list) or not value:
        yield before + _scalar(value) + after
        return
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    yield before + opening
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for number, key in enumerate(keys, 1):
        indent = _INDENT * (depth + 1)
        name = f"{indent}{json.dumps(key, ensure_ascii=False)}: " if isinstance(key, str) else indent
        yield from _lines(value[key], name, "," if number < len(value) else "", depth + 1)
    yield _INDENT * depth + closing + after


def _scalar(value: Any) -> str:
    if isinstance(value, str | bool | dict | list) or value is None:
        return json.dumps(value, ensure_ascii=False)
    return str(value)
