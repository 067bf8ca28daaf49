"""Values in a body: which one is at a position, what it decodes to (JSON, Base64, compressed or not, URL encoding, JSON
Web Tokens), and whether it is a time."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec

from app.core.bodies.decompressor import unpacked
from app.core.bodies.formats import jwt
from app.core.bodies.formats.json import is_json_text
from app.core.bodies.formatter import Line
from app.core.clock import local_time
from app.core.text import word_set

VALUE_MAX = 4 * 1024 * 1024
"""Maximum characters of a value that is decoded."""
DECODED_MAX = 8 * 1024 * 1024
"""Maximum bytes of the decoded value."""
HEAD = 512
"""Characters that `may_decode` examines."""
SHORT_PADDED, SHORT, LONG = 8, 16, 32
"""Minimum characters of Base64: with `=` at its end or JSON in it; without; and for any other text."""

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}|[A-Za-z0-9_-]+={0,2}")
_BASE64_HEAD = re.compile(r"[A-Za-z0-9+/=_\-\r\n]{8,}\Z")
_DIGITS = re.compile(r"[0-9]+|[0-9a-f-]+|[0-9A-F-]+")
_SCHEME = re.compile(r"(?:Basic|Bearer|JWT)\s+(?=\S+\Z)", re.IGNORECASE)
_DATA_URL = re.compile(r"data:[^,;\s]{0,100}(?:;[^,;\s]{1,100}){0,5}?;base64,", re.IGNORECASE)
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_NOT_ESCAPED = re.compile(r"[\x00-\x20\x7f]|%(?![0-9A-Fa-f]{2})")
_SPACES = str.maketrans("", "", "\r\n\t")
_PACKED = ((b"\x1f\x8b", "gzip"), (b"\x78\x01", "deflate"), (b"\x78\x9c", "deflate"), (b"\x78\xda", "deflate"))


@dataclass(frozen=True)
class Embedded:
    """`source` says how `text` was encoded (`Base64`, `Base64, gzip`, …); `is_json`: it is a JSON object or array."""

    text: str
    source: str
    is_json: bool
    note: str = ""


def may_decode(value: str) -> bool:
    """Whether `decode` can find something. Cheap enough for all displayed values: examines a few characters."""
    if len(value) < SHORT_PADDED and "%" not in value and value[:1] not in ("{", "["):
        return False
    if len(value) <= HEAD:
        return decode(value) is not None
    head = value[:HEAD]
    return (
        head.lstrip()[:1] in ("{", "[")
        or _BASE64_HEAD.match(_DATA_URL.sub("", _SCHEME.sub("", head))) is not None
        or jwt.TOKEN.match(_SCHEME.sub("", value)) is not None
        or (_ESCAPE.search(head) is not None and " " not in head)
    )


def decode(value: str) -> Embedded | None:
    """Decodes one level; None if nothing is encoded. The result can contain another encoded value."""
    if len(value) > VALUE_MAX:
        return None
    return _json(value) or _token(value) or _base64(value) or _url(value)


def _json(value: str) -> Embedded | None:
    return Embedded(value, "JSON in a string", True) if is_json_text(value) else None


def _token(value: str) -> Embedded | None:
    token = jwt.parse_token(_SCHEME.sub("", value.strip(), count=1))
    if token is None:
        return None
    parts = [f'"header":{token.header.decode("utf-8", "replace")}']
    note = jwt.NOT_VERIFIED
    if token.payload is None:
        note = "Encrypted: only its header can be read."
    else:
        payload = token.payload.decode("utf-8", "replace")
        parts.append(f'"payload":{payload if is_json_text(payload) else msgspec.json.encode(payload).decode()}')
    return Embedded(f"{{{','.join(parts)}}}", "JSON Web Token", True, note)


def _base64(value: str) -> Embedded | None:
    named = _DATA_URL.match(value) or _SCHEME.match(value)
    text = (value[named.end() :] if named else value).strip().translate(_SPACES)
    if len(text) < SHORT_PADDED or _BASE64.fullmatch(text) is None or _DIGITS.fullmatch(text):
        return None
    bare = text.rstrip("=")
    if len(bare) % 4 == 1:
        return None
    url_safe = "-" in bare or "_" in bare
    try:
        data = base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_" if url_safe else None)
    except binascii.Error:
        return None
    source = "Base64 (URL-safe)" if url_safe else "Base64"
    coding = next((name for start, name in _PACKED if data.startswith(start)), None)
    if coding is not None:
        plain = unpacked(data, coding, DECODED_MAX)
        return _text(plain, f"{source}, {coding}") if plain else None
    found = _text(data, source)
    if found is None or named or found.is_json or len(text) >= LONG:
        return found
    # Words can be valid Base64; short ones often are.
    return found if found.text.isascii() and (len(text) >= SHORT or "=" in text) else None


def _url(value: str) -> Embedded | None:
    if "%" not in value or _NOT_ESCAPED.search(value) is not None:
        return None
    return _text(unquote_to_bytes(value), "URL encoding")


def _text(data: bytes, source: str) -> Embedded | None:
    """None for data that is not readable text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not text or not text.translate(_SPACES).replace("\u200d", "").isprintable():
        return None
    return Embedded(text, source, is_json_text(text))


LINE_MAX = 8 * 1024 * 1024
"""Maximum characters of a line that are searched, including its continuations."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)')
_NAMED = re.compile(r"\s*:\s*")
_NAME_BEFORE = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*\Z')
_WORD = re.compile(r"""[^\s"'<>,;(){}\[\]]+""")
_FIELD = re.compile(r"([\w.\[\]-]+)\s*=\s*(?=[^=\s])")


class Value(NamedTuple):
    """`text` is decoded, without quotes and escapes; `quoted`: it had quotes."""

    text: str
    name: str
    quoted: bool


def value_at(lines: Sequence[Line], number: int, column: int) -> Value | None:
    """The value at a character of a line; on a name, the value with that name."""
    if not 0 <= number < len(lines):
        return None
    first = number
    while first and lines[first].folded:
        column += len(lines[first - 1].text)
        first -= 1
    last = first + 1
    while last < len(lines) and lines[last].folded:
        last += 1
    text = "".join(line.text for line in lines[first:last])
    return _in(text, column) if len(text) <= LINE_MAX else None


def _in(text: str, column: int) -> Value | None:
    end = 0
    for match in _STRING.finditer(text):
        named = _NAMED.match(text, match.end())
        if match.start() <= column <= match.end():
            return _named_by(text, match, named) if named else _string(text, match)
        if named and match.end() < column < named.end():
            return _named_by(text, match, named)
        if match.start() > column:
            break
        end = match.end()
    return _word(text, column, end)


def _string(text: str, match: re.Match[str]) -> Value:
    raw = match.group()
    try:
        meant = str(json.loads(raw))
    except ValueError:
        meant = raw[1:-1]
    return Value(meant, _name_before(text, match.start()), True)


def _named_by(text: str, name: re.Match[str], between: re.Match[str]) -> Value | None:
    match = _STRING.match(text, between.end())
    if match is not None:
        return _string(text, match)
    word = _WORD.match(text, between.end())
    return Value(word.group(), name.group()[1:-1], False) if word else None


def _name_before(text: str, start: int) -> str:
    match = _NAME_BEFORE.search(text, max(0, start - 300), start)
    return match[1] if match else ""


def _word(text: str, column: int, begin: int) -> Value | None:
    """Outside a JSON string: the text up to the next space, quote or bracket; for `name=value`, the value."""
    start = column
    while start > begin and _WORD.match(text, start - 1, start):
        start -= 1
    match = _WORD.match(text, start)
    if match is None:
        return None
    field = _FIELD.match(text, start, match.end())
    if field:
        return Value(text[field.end() : match.end()], field[1], False)
    before = re.search(r"([\w.\[\]-]+) = \Z", text[max(0, start - 300) : start])
    return Value(match.group(), _name_before(text, start) or (before[1] if before else ""), False)


UNITS = {10: "seconds", 13: "milliseconds", 16: "microseconds", 19: "nanoseconds"}
"""By the number of digits of a time between 2001 and 2100."""
LAST_S = 4_102_444_800
"""2100-01-01 in seconds; ten digits begin in September 2001."""
_LIKELY_S = (1_262_304_000, 2_208_988_800)
"""2010 to 2040: a number of ten digits is probably a time in this range, whatever its name."""
_NUMBER = re.compile(r"([1-9][0-9]{9}|[1-9][0-9]{12}|[1-9][0-9]{15}|[1-9][0-9]{18})(\.[0-9]{1,9})?")
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


_NAMES_TIME = word_set(
    "at ts time timestamp date datetime epoch created updated modified deleted expires expired expiry expiration exp"
    " iat nbf since until start end started ended issued now when seen sent received effective canceled finished"
)
_NAMES_OTHER = word_set(
    "id ids phone tel mobile fax zip number no num sku ean gtin isbn upc barcode amount price total balance size count"
    " bytes length account iban card serial code version seq sequence hash nonce customer order user key pin"
)


class UnixTime(NamedTuple):
    """`us` are microseconds of UTC."""

    us: int
    unit: str


def unix_time(text: str, name: str = "", *, quoted: bool = False) -> UnixTime | None:
    """None if a number with this name is unlikely to be a time; `quoted`: it was sent as a string."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    unit, fraction = UNITS[len(match[1])], match[2] or ""
    us = int(match[1]) * 1_000_000 // 10 ** (len(match[1]) - 10)
    if us >= LAST_S * 1_000_000 or (fraction and unit != "seconds"):
        return None
    words = [word.lower() for word in _NAME_WORD.findall(name)]
    if not _NAMES_TIME.intersection(words):
        bare_seconds = unit == "seconds" and not fraction
        if _NAMES_OTHER.intersection(words) or (bare_seconds and quoted):
            return None
        if bare_seconds and not _LIKELY_S[0] * 1_000_000 <= us < _LIKELY_S[1] * 1_000_000:
            return None
    return UnixTime(us + int(f"{fraction[1:]:0<6}"[:6]) if fraction else us, unit)


def time_words(text: str, name: str = "", *, quoted: bool = False) -> str:
    """What `describe` says of it; empty if it is no time."""
    moment = unix_time(text, name, quoted=quoted)
    return describe(moment) if moment is not None else ""


def describe(moment: UnixTime, zone: tzinfo | None = None) -> str:
    """Three lines: the unit, the time in `zone` (default: the local one) and in UTC."""
    utc, local = local_time(moment.us, UTC), local_time(moment.us, zone)
    digits = 19 if not moment.us % 1_000_000 else 23 if not moment.us % 1_000 else 26
    offset = f"{local:%z}"
    here, there = (f"{each:%Y-%m-%d %H:%M:%S.%f}"[:digits] for each in (local, utc))
    return f"Unix time in {moment.unit}\n{here} local time (UTC{offset[:3]}:{offset[3:5]})\n{there} UTC"
