"""Form fields (x-www-form-urlencoded), decoded: as lines, and as a list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from app.core.bodies.charset import declared_codec
from app.core.bodies.formats import json
from app.core.bodies.formats.json import is_json_text
from app.core.bodies.formats.text import has_controls
from app.core.bodies.formatter import Content, Formatted, Kind, write_indented
from app.core.bodies.media_types import FORM, GENERIC_TEXT

_FIELD = re.compile("[^&]+")
_ESCAPES = re.compile(r"((?:%[0-9A-Fa-f]{2})+)")
_STRAY = re.compile("([\udc80-\udcff]+)")
_LIKELY = re.compile(rb"[\w.%+\[\]-]+=[^\s&=]*(?:&[\w.%+\[\]-]+=[^\s&=]*)+\Z")


def write(content: Content, out: Formatted) -> Iterator[None]:
    """Fields in order, with duplicates; JSON values are indented. Escapes that are not text stay as sent."""
    codec = escape_codec(content.content_type)
    for field in _FIELD.finditer(content.text):
        yield from _write_field(field.group(), codec, out)


def _write_field(field: str, codec: str, out: Formatted) -> Iterator[None]:
    name, equals, value = field.partition("=")
    for kind, text in _decoded(codec, "key", name):
        out.add(kind, text)
    runs = list(_decoded(codec, "string", value))
    decoded = "".join(text for _, text in runs)
    if equals and is_json_text(decoded):
        out.add("punctuation", " =")
        yield from write_indented(json.write, Content(decoded), out)
    elif equals:
        several = "\n" in decoded
        out.add("punctuation", " = " if value and not several else " =")
        if several:
            out.end_line(1)
        for kind, text in runs:
            for number, part in enumerate(text.split("\n")):
                if number:
                    out.end_line(1)
                    yield
                out.add(kind, part.removesuffix("\r"))
    out.end_line()
    yield


def escape_codec(content_type: str) -> str:
    """The codec of the form's percent escapes."""
    codec = declared_codec(content_type)
    # The names themselves are ASCII, so the charset must be a superset of it.
    return codec if codec and b"a".decode(codec, "replace") == "a" else "utf-8"


def decoded_text(raw: str, codec: str) -> str:
    """A name or value; bytes that are not text stay escaped."""
    return "".join(text for _, text in _decoded(codec, "text", raw)) if "%" in raw else raw.replace("+", " ")


def _decoded(codec: str, kind: Kind, raw: str) -> Iterator[tuple[Kind, str]]:
    """As (kind, text); escapes that are not text are of kind `control`."""
    for number, part in enumerate(_ESCAPES.split(raw.replace("+", " "))):
        if not number % 2:
            yield kind, part
            continue
        digits = part.replace("%", "")
        for stray, text in enumerate(_STRAY.split(bytes.fromhex(digits).decode(codec, "surrogateescape"))):
            if not stray % 2:
                yield kind, text
            else:
                escapes = "".join(f"%{ord(ch) - 0xDC00:02X}" for ch in text)
                yield "control", escapes.lower() if digits.lower() == digits else escapes


def fit(media_type: str, head: bytes) -> float:
    """Certain if type and text agree; likely if the beginning of the text consists of fields. Unless told otherwise,
    curl declares any data as a form."""
    if media_type == FORM and has_controls(head):
        return 0.05
    if media_type == FORM:
        return 1.0 if b"=" in head and head[:1] not in b'{[<"' and head[:1].strip() else 0.45
    if media_type in GENERIC_TEXT:
        return 0.7 if _LIKELY.match(head) else 0.0
    return 0.0


FIELDS_MAX = 200_000


class FormField(NamedTuple):
    """`sent` is the pair as it was sent, without the `&`. Bytes that are not text stay escaped (`%FF`)."""

    name: str
    value: str
    sent: str


def fields(text: str, content_type: str) -> list[FormField]:
    """In order, with duplicates."""
    codec = escape_codec(content_type)
    found: list[FormField] = []
    for sent in _FIELD.findall(text):
        name, _, value = sent.partition("=")
        found.append(FormField(decoded_text(name, codec), decoded_text(value, codec), sent))
    return found
