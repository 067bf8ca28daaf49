"""JSON Web Tokens in text, decoded, and as lines. Signatures are never verified."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from app.core.bodies.formats import json
from app.core.bodies.formats.text import add_text
from app.core.bodies.formatter import Content, Formatted, Line, written
from app.core.clock import EPOCH
from app.core.text import count_of

TOKEN_MAX = 64 * 1024
"""Maximum characters of a token."""
TOKENS_MAX = 20
"""Maximum tokens shown for one request."""
TIME_CLAIMS = {"exp": ("expires", "expired"), "nbf": ("is valid from", "was valid from"), "iat": ("issued", "issued")}
_PART = "[A-Za-z0-9_-]"
TOKEN = re.compile(rf"(?<![A-Za-z0-9_.-])e[wy]{_PART}+\.{_PART}*\.{_PART}*(?:\.{_PART}*\.{_PART}*)?(?![A-Za-z0-9_.-])")
"""A token begins with the Base64 of a brace and the character after it."""


@dataclass(frozen=True)
class JwtToken:
    """`header` and `payload` are JSON as sent; the payload of an encrypted token cannot be read."""

    text: str
    header: bytes
    payload: bytes | None
    encrypted: bool = False

    @property
    def claims(self) -> dict[str, object]:
        """Empty unless the payload is a JSON object."""
        return _object(self.payload) or {}

    @property
    def algorithm(self) -> str:
        """The declared algorithm of the signature or encryption."""
        return str((_object(self.header) or {}).get("alg", ""))


def parse_token(text: str) -> JwtToken | None:
    """None unless all of `text` is a token."""
    parts = text.split(".")
    if len(parts) not in (3, 5) or len(text) > TOKEN_MAX:
        return None
    header = _decoded(parts[0])
    names = _object(header)
    if header is None or not names or "alg" not in names or (len(parts) == 5) != ("enc" in names):
        return None
    if len(parts) == 5:
        return JwtToken(text, header, None, encrypted=True)
    payload = _decoded(parts[1])
    return None if payload is None else JwtToken(text, header, payload)


def times(claims: dict[str, object], arrived_us: int | None) -> Iterator[tuple[str, str]]:
    """The claims that are times, each with the time in words, relative to the arrival of the request."""
    for name, words in TIME_CLAIMS.items():
        value = claims.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        try:
            moment = EPOCH + timedelta(seconds=value)
        except (OverflowError, ValueError):
            continue
        text = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
        if arrived_us is not None:
            text = f"{text}: {_relation(words, round(value * 1_000_000) - arrived_us)}"
        yield name, text


def time_difference(us: int) -> str:
    """A difference between two times in its largest unit: `3 hours`, `2 days`, `45 seconds`."""
    seconds = abs(us) // 1_000_000
    for span, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= span:
            return count_of(seconds // span, unit)
    return count_of(seconds, "second")


def _relation(words: tuple[str, str], us: int) -> str:
    when = "after" if us > 0 else "before"
    if abs(us) < 1_000_000:
        return f"{words[0]} as it arrived"
    return f"{words[0] if us > 0 else words[1]} {time_difference(us)} {when} it arrived"


def _decoded(part: str) -> bytes | None:
    if len(part) % 4 == 1:
        return None
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        return None


def _object(data: bytes | None) -> dict[str, object] | None:
    if data is None:
        return None
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return value if isinstance(value, dict) else None


def tokens_in(places: Iterable[tuple[str, str]]) -> list[tuple[str, JwtToken]]:
    """The tokens of a request, each with the first part that contains it. `places` are (name of the part, text)."""
    found: dict[str, tuple[str, JwtToken]] = {}
    for place, text in places:
        for match in TOKEN.finditer(text):
            token = parse_token(match.group())
            if token is not None:
                found.setdefault(token.text, (place, token))
            if len(found) == TOKENS_MAX:
                return list(found.values())
    return list(found.values())


NOT_VERIFIED = "Not verified: the token is only decoded, its signature is not checked."


def write(content: Content, out: Formatted) -> Iterator[None]:
    """For a body that is only a token; anything else is shown unchanged."""
    token = parse_token(content.text.strip())
    if token is None:
        out.error = "Not a JSON Web Token, which consists of three Base64 parts separated by dots."
        yield from add_text(content.text, out)
        return
    out.notes.append(NOT_VERIFIED)
    out.add_finished(token_lines(token, None))
    yield


def token_lines(token: JwtToken, arrived_us: int | None) -> list[Line]:
    """The decoded token; its times are relative to the arrival of its request, if known."""
    claimed = times(token.claims, arrived_us)
    lines = [Line(f"{name}  {text}", ((0, len(name), "key"),)) for name, text in claimed]
    if lines:
        lines.append(Line(""))
    lines += [Line("Header", ((0, 6, "literal"),)), *_json_lines(token.header), Line("")]
    lines.append(Line("Payload", ((0, 7, "literal"),)))
    if token.payload is None:
        return [*lines, Line("Encrypted: readable only with the key.")]
    return [*lines, *_json_lines(token.payload)]


def _json_lines(data: bytes) -> list[Line]:
    return written(json.write, Content(data.decode("utf-8", "replace"))).take()


def fit(media_type: str, head: bytes) -> float:
    """Certain by type; likely if the first bytes are a token and nothing else."""
    if media_type == "application/jwt" or media_type.endswith("+jwt"):
        return 1.0
    text = head.strip().decode("latin-1")
    return 0.95 if TOKEN.fullmatch(text) and parse_token(text) else 0.0
