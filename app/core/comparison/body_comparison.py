"""Compares two bodies after removing their content codings: as JSON, as text, or byte by byte."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from app.core.bodies.charset import detect, in_single_bytes
from app.core.bodies.decompressor import Decompressor, codings, unsupported_reason
from app.core.bodies.media_types import is_json, media_type
from app.core.comparison.difference import Difference, difference
from app.core.comparison.json_comparison import json_differences, parse_json
from app.core.comparison.json_path import JsonPath
from app.core.comparison.text_comparison import text_differences
from app.core.record import Headers, Record
from app.core.text import count_of

DECODED_MAX = 2 * 1024 * 1024
"""Bytes of a decompressed body that are compared."""
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
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
    content_type = next((value for name, value in headers if name.lower() == "content-type"), "")
    names = codings(headers) if decode else ()
    problem = unsupported_reason(names)
    stream = Decompressor(() if problem else names)
    stream.feed(body)
    plain = bytearray()
    while len(plain) <= DECODED_MAX and not stream.needs_input:
        plain += stream.read(DECODED_MAX + 1 - len(plain))
    whole = complete and len(plain) <= DECODED_MAX
    problem = problem or (stream.finish() if whole else stream.error)
    data = body if problem else bytes(plain)
    return ComparedBody(data=data[:DECODED_MAX], content_type=content_type, complete=whole, problem=problem)


def aligned(first: ComparedBody, second: ComparedBody) -> tuple[ComparedBody, ComparedBody]:
    """Both cut where the shorter one ends, if more of that follows which is not known."""
    shorter = min(first, second, key=lambda body: len(body.data))
    if shorter.complete:
        return first, second
    size = len(shorter.data)
    return replace(first, data=first.data[:size]), replace(second, data=second.data[:size])


def body_differences(first: ComparedBody, second: ComparedBody, ignored: Iterable[JsonPath]) -> Iterator[Difference]:
    """Nothing if both are the same but for the JSON values `ignored`."""
    if first.data == second.data:
        return
    if not first.data or not second.data:
        old, new = (count_of(len(body.data), "byte") if body.data else None for body in (first, second))
        yield difference("body", "", old, new, label="Body")
        return
    texts = text_of(first), text_of(second)
    if texts[0] is None or texts[1] is None:
        yield _byte_difference(first.data, second.data)
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
    if body.problem or _BINARY.search(in_single_bytes(charset, body.data[:_HEAD])):
        return None
    return charset.decoder().decode(body.data[charset.skip :], final=True)


def json_value(text: str | None, body: ComparedBody) -> object:
    """ValueError unless it is to be compared as JSON."""
    if text is None or not (is_json(media_type(body.content_type)) or text.lstrip()[:1] in ("{", "[")):
        raise ValueError("not JSON")
    return parse_json(text)


def _byte_difference(first: bytes, second: bytes) -> Difference:
    at = _first_difference(first, second)
    sizes = f"{len(first):,} → {count_of(len(second), 'byte')}"
    if at == min(len(first), len(second)):
        which = "first" if len(first) < len(second) else "second"
        text = f"Body: the {which} response ends at byte {at:,}, the other goes on ({sizes})"
        return Difference(part="body", where=f"byte {at:,}", text=text)
    old, new = f"0x{first[at]:02x}", f"0x{second[at]:02x}"
    text = f"Body differs at byte {at:,}: {old} → {new} ({sizes})"
    return Difference(part="body", where=f"byte {at:,}", text=text, first=old, second=new)


def _first_difference(first: bytes, second: bytes) -> int:
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
