"""Decodes values within text values: JSON, Base64 (compressed or not), URL encoding, JSON Web Tokens."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

import msgspec

from app.core.bodies.decompressor import unpacked
from app.core.bodies.formats import jwt
from app.core.bodies.formats.json import is_json_text
from app.core.bodies.formats.jwt import NOT_VERIFIED

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
    note = NOT_VERIFIED
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
