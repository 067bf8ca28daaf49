"""Compares two bodies after removing their content codings: as JSON, as text, or byte by byte."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from app.core.bodies.charset import CONTROL, detect, in_single_bytes
from app.core.bodies.decompressor import Decompressor, codings, unsupported_reason
from app.core.bodies.escape import escape
from app.core.bodies.media_types import content_type_of, is_json, media_type
from app.core.json_path import Key, PathMatcher, path_text
from app.core.record import Headers, Record
from app.core.text import count_of

QUOTED_MAX = 60
"""Characters of a value in the text of a difference."""
_BEFORE = 20


class Difference(Record, frozen=True):
    """`where` is the header's name, the JSON path, or `line 3`; empty for the status and for a whole body.

    `text` is one line that says it all. `first` and `second` are the quoted values; None: not in that response.
    """

    part: Literal["status", "headers", "body"]
    where: str
    text: str
    first: str | None = None
    second: str | None = None


def difference(
    part: Literal["status", "headers", "body"], where: str, first: str | None, second: str | None, label: str = ""
) -> Difference:
    """`label` begins the text; without one, `where` does."""
    name = label or where
    if first is None or second is None:
        which, value = ("second", second) if first is None else ("first", first)
        text = f"{name}, only in the {which} response: {value}"
    else:
        text = f"{name}: {first} → {second}"
    return Difference(part=part, where=where, text=text, first=first, second=second)


def quoted(text: str, at: int = 0) -> str:
    """`“text”` on one line, a cut-out around character `at` if it is long."""
    start = max(0, min(at - _BEFORE, len(text) - QUOTED_MAX))
    end = min(len(text), start + QUOTED_MAX)
    return f"“{'…' if start else ''}{escape(text[start:end])}{'…' if end < len(text) else ''}”"


LINES_MAX = 1_000
"""Between their common beginning and end, texts with more lines than this are not aligned: the time grows with the
product of their lengths."""


def line_blocks(first: list[str], second: list[str]) -> Iterator[tuple[bool, slice, slice]]:
    """Whether these lines are the same, and where each has them, in their order. If there are too many to align, all
    that differ are one block."""
    shorter = min(len(first), len(second))
    begin = next((number for number in range(shorter) if first[number] != second[number]), shorter)
    same_end = 0
    while same_end < shorter - begin and first[-1 - same_end] == second[-1 - same_end]:
        same_end += 1
    here, there = slice(begin, len(first) - same_end), slice(begin, len(second) - same_end)
    yield True, slice(begin), slice(begin)
    if _are_many(first[here], second[there]):
        yield False, here, there
    else:
        from difflib import SequenceMatcher  # start-up time

        for kind, low, high, other_low, other_high in SequenceMatcher(None, first[here], second[there]).get_opcodes():
            yield kind == "equal", slice(begin + low, begin + high), slice(begin + other_low, begin + other_high)
    yield True, slice(here.stop, None), slice(there.stop, None)


def _are_many(some: list[str], others: list[str]) -> bool:
    return bool(some and others) and max(len(some), len(others)) > LINES_MAX


def text_differences(first: str, second: str) -> Iterator[Difference]:
    """Changed, added and removed lines in their order; if there are too many, only where the first difference is."""
    some, others = first.split("\n"), second.split("\n")
    for same, here, there in line_blocks(some, others):
        old, new = some[here], others[there]
        if not same and _are_many(old, new):
            column, label = _first_difference(old[0], new[0]), f"Differs from line {here.start + 1:,} on"
            where = _lines(here.start, 1)
            yield difference("body", where, _quoted_lines(old, column), _quoted_lines(new, column), label)
        elif not same:
            yield _replaced(old, new, here.start, there.start)


def _replaced(some: list[str], others: list[str], at: int, other_at: int) -> Difference:
    """Lines in place of lines; either can be none. Lines are counted from 0 here, from 1 in the text."""
    where = _lines(at, len(some)) if some else _lines(other_at, len(others))
    if not some or not others:
        return difference("body", where, _quoted_lines(some), _quoted_lines(others), where.capitalize())
    column = _first_difference(some[0], others[0])
    label = (
        where.capitalize() if len(some) == len(others) else f"{where.capitalize()} ({_lines(other_at, len(others))})"
    )
    return difference("body", where, _quoted_lines(some, column), _quoted_lines(others, column), label)


def _lines(at: int, count: int) -> str:
    return f"line {at + 1:,}" if count == 1 else f"lines {at + 1:,} to {at + count:,}"


def _quoted_lines(lines: list[str], column: int = 0) -> str | None:
    """The first of them."""
    return quoted(lines[0], column) + (" …" if len(lines) > 1 else "") if lines else None


MISSING = object()
"""In place of a value that one of two does not have."""


class _Pair(NamedTuple):
    """Values of the same place in both; `MISSING` where one has none."""

    keys: tuple[Key, ...]
    first: Any
    second: Any
    states: frozenset[tuple[int, int]]


def json_differences(first: Any, second: Any, ignored: Iterable[str]) -> Iterator[Difference]:
    """In the order of the first value, with what only the second has at the end of each object or array."""
    matcher = PathMatcher(ignored)
    waiting = [_Pair((), first, second, matcher.start)]
    while waiting:
        pair = waiting.pop()
        children = child_keys(pair.first, pair.second)
        if children is not None:
            below = ((key, states) for key in children if (states := matcher.below(pair.states, key)) is not None)
            pairs = [
                _Pair((*pair.keys, key), child(pair.first, key), child(pair.second, key), states)
                for key, states in below
            ]
            waiting.extend(reversed(pairs))
        elif not same_value(pair.first, pair.second):
            yield difference("body", path_text(pair.keys), _value_text(pair.first), _value_text(pair.second))


def child_keys(first: Any, second: Any) -> list[Key] | None:
    """The keys of either; None unless both are objects or both arrays."""
    if isinstance(first, dict) and isinstance(second, dict):
        return [*first, *(key for key in second if key not in first)]
    if isinstance(first, list) and isinstance(second, list):
        return list(range(max(len(first), len(second))))
    return None


def child(value: Any, key: Key) -> Any:
    """The value below `key`, or `MISSING`."""
    if isinstance(value, dict):
        return value.get(key, MISSING)
    return value[key] if isinstance(key, int) and key < len(value) else MISSING


def same_value(first: Any, second: Any) -> bool:
    """Python's `True == 1` is not JSON's."""
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


def _value_text(value: Any) -> str | None:
    if value is MISSING:
        return None
    if isinstance(value, dict):
        return f"{{{count_of(len(value), 'member')}}}"
    if isinstance(value, list):
        return f"[{count_of(len(value), 'item')}]"
    if isinstance(value, str):
        return quoted(value)
    return str(value)[:60] if isinstance(value, int | Decimal) and not isinstance(value, bool) else json.dumps(value)


DECODED_MAX = 2 * 1024 * 1024
"""Bytes of a decompressed body that are compared."""
_HEAD = 4_096


class ComparedBody(Record, frozen=True):
    """`complete`: this is all of the body. `problem` is why it could not be decoded, in a sentence; `data` is as sent
    then."""

    data: bytes
    content_type: str
    complete: bool
    problem: str | None = None


def compared_body(headers: Headers, body: bytes, *, complete: bool, decode: bool = True) -> ComparedBody:
    """At most `DECODED_MAX` bytes; `complete`: `body` is all of it, as sent."""
    names = codings(headers) if decode else ()
    problem = unsupported_reason(names)
    stream = Decompressor(() if problem else names)
    plain = stream.unpack(body, DECODED_MAX + 1)
    whole = complete and len(plain) <= DECODED_MAX
    problem = problem or (stream.finish() if whole else stream.error)
    data = body if problem else plain
    return ComparedBody(data=data[:DECODED_MAX], content_type=content_type_of(headers), complete=whole, problem=problem)


def aligned(first: ComparedBody, second: ComparedBody) -> tuple[ComparedBody, ComparedBody]:
    """Both cut where the shorter one ends, if more of that follows which is not known."""
    shorter = min(first, second, key=lambda body: len(body.data))
    if shorter.complete:
        return first, second
    size = len(shorter.data)
    return replace(first, data=first.data[:size]), replace(second, data=second.data[:size])


def body_differences(first: ComparedBody, second: ComparedBody, ignored: Iterable[str]) -> Iterator[Difference]:
    """Nothing if both are the same but for the JSON values `ignored`."""
    if first.data == second.data:
        return
    if not first.data or not second.data:
        old, new = (count_of(len(body.data), "byte") if body.data else None for body in (first, second))
        yield difference("body", "", old, new, label="Body")
        return
    texts = text_of(first), text_of(second)
    if texts[0] is None or texts[1] is None:
        yield byte_difference(first, second)
        return
    try:
        values = [json_value(text, body) for text, body in zip(texts, (first, second), strict=True)]
    except ValueError:
        yield from text_differences(texts[0], texts[1])
    else:
        yield from json_differences(values[0], values[1], ignored)


def text_of(body: ComparedBody) -> str | None:
    """None for binary data."""
    charset = detect(body.content_type, body.data, body.complete)
    if body.problem or CONTROL.search(in_single_bytes(charset, body.data[:_HEAD])):
        return None
    return charset.decode(body.data)


def json_value(text: str | None, body: ComparedBody) -> object:
    """ValueError unless it is to be compared as JSON, and can be: no name twice, no number out of bounds, not too
    deep."""
    if text is None or not (is_json(media_type(body.content_type)) or text.lstrip()[:1] in ("{", "[")):
        raise ValueError("not JSON")
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_members)
    except (ArithmeticError, RecursionError) as error:
        raise ValueError("This JSON cannot be compared") from error


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("A name occurs twice")
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def byte_difference(first: ComparedBody, second: ComparedBody, *, noun: str = "response") -> Difference:
    """Where the data of both, which differ, do so first. `noun` names what they are the bodies of."""
    some, others = first.data, second.data
    at = _first_difference(some, others)
    sizes = f"{len(some):,} → {count_of(len(others), 'byte')}"
    if at == min(len(some), len(others)):
        which = "first" if len(some) < len(others) else "second"
        text = f"Body: the {which} {noun} ends at byte {at:,}, the other goes on ({sizes})"
        return Difference(part="body", where=f"byte {at:,}", text=text)
    old, new = f"0x{some[at]:02x}", f"0x{others[at]:02x}"
    text = f"Body differs at byte {at:,}: {old} → {new} ({sizes})"
    return Difference(part="body", where=f"byte {at:,}", text=text, first=old, second=new)


def _first_difference(first: str | bytes, second: str | bytes) -> int:
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
