"""Decodes text in the headers of requests, parts and mails: encoded words (RFC 2047), parameters like `filename*` (RFC
5987).
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable
from functools import lru_cache

from app.core.bodies.decoding.charset import declared_codec
from app.core.model import Headers
from app.core.search.readable.notation import Notation

LONGEST = 1_000
"""Maximum characters of an encoded word or parameter; longer ones are not decoded."""
_WORD = rf"=\?[\w.:-]{{1,40}}(?:\*[\w-]{{0,20}})?\?[bBqQ]\?[^?\s]{{0,{LONGEST}}}\?="
_WORDS = re.compile(rf"{_WORD}(?:[ \t\r\n]{{1,8}}{_WORD})*")
_WORD_BEGUN = re.compile(
    rf"=(?:\?(?:[\w.:*-]{{1,62}}(?:\?(?:[bBqQ](?:\?(?:[^?\s]{{0,{LONGEST}}}(?:\?(?:=[ \t\r\n]{{0,8}})?)?)?)?)?)?)?)?\Z"
)
_EACH = re.compile(r"=\?([\w.:-]+)(?:\*[\w-]*)?\?([bBqQ])\?([^?\s]*)\?=")
_PARAMETER = re.compile(rf"\*=\"?([\w.:-]{{1,40}})'[\w-]{{0,20}}'([^\s;,\"]{{1,{LONGEST}}})")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")


@lru_cache(64)
def _codec(charset: str) -> str | None:
    return declared_codec(f"text/plain; charset={charset}")


def _text(data: bytes, charset: str) -> str | None:
    codec = _codec(charset)
    return data.decode(codec, "replace") if codec else None


def _words(match: re.Match[str]) -> str:
    """Joins the bytes of adjacent words in one charset first: some senders split characters."""
    runs: list[tuple[str, bytes]] = []
    for charset, encoding, text in _EACH.findall(match.group()):
        data = _bytes(encoding, text)
        if runs and runs[-1][0] == charset.lower():
            runs[-1] = (runs[-1][0], runs[-1][1] + data)
        else:
            runs.append((charset.lower(), data))
    read = [_text(data, charset) for charset, data in runs]
    return match.group() if None in read else "".join(text for text in read if text)


def _bytes(encoding: str, text: str) -> bytes:
    octets = text.encode("ascii", "replace")
    if encoding in "qQ":
        return binascii.a2b_qp(octets, header=True)
    try:
        return binascii.a2b_base64(octets + b"=" * (-len(octets) % 4))
    except binascii.Error:
        return octets


def _parameter(match: re.Match[str]) -> str:
    charset, value = match.groups()
    data = _PERCENT.sub(lambda run: bytes.fromhex(run.group().replace("%", "")).decode("latin-1"), value)
    try:
        read = _text(data.encode("latin-1"), charset)
    except UnicodeEncodeError:
        read = None
    return match.group() if read is None else f"*={read}"


def _unfinished_word(text: str) -> int:
    """The last word can continue, or be followed by another."""
    match = _WORD_BEGUN.search(text, max(0, len(text) - LONGEST - 80))
    return match.start() if match else len(text)


def _unfinished_parameter(text: str) -> int:
    at = text.rfind("*=", max(0, len(text) - LONGEST - 80))
    begun = at >= 0 and not re.search(r"[\s;,]", text[at:])
    return at if begun else len(text) - text.endswith("*")


ENCODED_WORDS = Notation(("=?",), _WORDS, _words, _unfinished_word)
PARAMETERS = Notation(("*=",), _PARAMETER, _parameter, _unfinished_parameter)
_ENCODED = (ENCODED_WORDS, PARAMETERS)


def readable_headers(headers: Headers) -> Iterable[str]:
    """The headers that change when decoded, as lines; raw bytes count as UTF-8."""
    for name, value in headers:
        if "=" not in value and value.isascii():
            continue
        text = value if value.isascii() else _as_utf8(value)
        for notation in _ENCODED:
            text = notation.read(text)
        if text != value:
            yield f"{name}: {text}"


def _as_utf8(value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value
