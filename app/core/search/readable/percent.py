"""Percent-encoding, of a target or of the fields of a form (RFC 3986, the URL standard's urlencoded)."""

from __future__ import annotations

import re
from functools import lru_cache

from app.core.bodies.decoding.charset import declared_codec
from app.core.bodies.formats.form import fit
from app.core.search.readable.notation import Notation

HEAD = 1_024
"""Characters that decide whether a body of another type is a form."""
LIKELY = 0.4
"""Minimum `fit` of a form. Bodies declared as forms pass even if they begin like something else."""
_RUN = "%[0-9a-fA-F]{2}(?:%[0-9a-fA-F]{2})*"
_ESCAPES = re.compile(_RUN)
_FIELD_ESCAPES = re.compile(rf"\++|{_RUN}")
_STRAY = re.compile("[\udc80-\udcff]+")
# The last character of a run, which can have more bytes, and an incomplete escape.
_UNFINISHED = re.compile(r"(?:%[0-7c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){0,3})?(?:%[0-9a-fA-F]?)?\Z")


def _characters(escapes: str, codec: str) -> str:
    """Escapes that are not text are not decoded."""
    data = bytes.fromhex(escapes.replace("%", ""))
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        text = data.decode(codec, "surrogateescape")
        return _STRAY.sub(_as_sent, text)


def _as_sent(match: re.Match[str]) -> str:
    octets = match.group().encode("ascii", "surrogateescape")
    return "%" + octets.hex("%").upper()


def _unfinished(text: str) -> int:
    match = _UNFINISHED.search(text, max(0, len(text) - 14))
    return match.start() if match else len(text)


def form_fields(codec: str) -> Notation:
    """The notation of a form whose escapes are in this charset."""

    def decoded(match: re.Match[str]) -> str:
        written = match.group()
        return written.replace("+", " ") if written[0] == "+" else _characters(written, codec)

    return Notation(("%", "+"), _FIELD_ESCAPES, decoded, _unfinished)


@lru_cache(64)
def _fields_of(content_type: str) -> Notation:
    codec = declared_codec(content_type)
    # The names themselves are ASCII, so the charset must be a superset of it.
    return form_fields(codec if codec and b"a".decode(codec, "replace") == "a" else "utf-8")


def form_notation(content_type: str, media_type: str, text: str) -> Notation | None:
    """None unless `text` is the beginning of a form."""
    if media_type.endswith("json") or fit(media_type, text[:HEAD].encode("utf-8", "replace")) < LIKELY:
        return None
    return _fields_of(content_type)


def readable_targets(target: str) -> list[str]:
    """A decoded target, also with spaces for the plus signs in its query."""
    path, question, query = target.partition("?")
    found = [_decoded(target)] if "%" in target else []
    if question and "+" in query:
        found.append(f"{_decoded(path)}?{_decoded(query.replace('+', ' '))}")
    return [text for text in found if text != target]


def _decoded(text: str) -> str:
    return _ESCAPES.sub(lambda match: _characters(match.group(), "utf-8"), text)
