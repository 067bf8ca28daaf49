"""JSON and sequences of JSON values, indented; numbers, names, order, duplicates and escapes stay as written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from typing import cast

import msgspec

from app.core.bodies.formats.text import add_text
from app.core.bodies.formatter import Content, Formatted, Kind, indent_of, position_at
from app.core.bodies.media_types import is_json, text_language

# No possessive repeats: before 3.11.5 Python matches them wrongly, and Debian 12 has 3.11.2.
_STRING = r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*'
_TOKEN = re.compile(
    rf'[ \t\r\n]*(?:(?P<string>{_STRING}")'
    r"|(?P<punctuation>[{}\[\],:])"
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z.+_-]))"
    r"|(?P<literal>(?:true|false|null)(?![0-9A-Za-z_]))"
    rf"|(?P<open>{_STRING}))"
)
"""`open` is a string that is not closed."""


class Expect(StrEnum):
    """The grammar: which token is allowed next, in words."""

    VALUE = "a value"
    VALUE_OR_END = "a value or ]"
    KEY = "a name in quotes"
    KEY_OR_END = "a name in quotes or }"
    COLON = "a colon"
    COMMA_OR_END = "a comma or the end of the list or object"
    NOTHING = "the end of the text"


_VALUES = (Expect.VALUE, Expect.VALUE_OR_END)
_KEYS = (Expect.KEY, Expect.KEY_OR_END)
_ALLOWED = {
    "]": (Expect.VALUE_OR_END, Expect.COMMA_OR_END),
    "}": (Expect.KEY_OR_END, Expect.COMMA_OR_END),
    ":": (Expect.COLON,),
    ",": (Expect.COMMA_OR_END,),
    '"': (*_VALUES, *_KEYS),
}
"""By the first character of a token; of all others it is `_VALUES`."""
_OPENS = {"]": "[", "}": "{"}


class JsonError(Exception):
    """Not valid JSON from the character `at` on; `str()` says why."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at


def tokens(text: str, *, many: bool = False) -> Iterator[tuple[Kind, int, int]]:
    """Kind, start and end of each token; `many`: several values may follow each other.

    Raises JsonError where the text is not JSON, after the part of a string that is.
    """
    stack: list[str] = []
    expect, at = Expect.VALUE, 0
    while (match := _TOKEN.match(text, at)) is not None and match.lastgroup is not None:
        kind = cast(Kind, match.lastgroup)
        start, end = match.span(kind)
        sign = text[start]
        if expect is Expect.NOTHING and many and sign not in "]},:":
            expect = Expect.VALUE
        if expect not in _ALLOWED.get(sign, _VALUES) or (sign in _OPENS and stack[-1] != _OPENS[sign]):
            break
        if sign == '"':
            kind = "key" if expect in _KEYS else "string"
        expect = _next(sign, stack) if kind != "key" else Expect.COLON
        yield kind, start, end
        at = end
        if match.lastgroup == "open":
            raise JsonError(at, _wrong_in_string(text[at : at + 1]))
    at = len(text) - len(text[at:].lstrip(" \t\r\n"))
    if at < len(text):
        raise JsonError(at, f"{expect} was expected")
    if expect is not Expect.NOTHING:
        raise JsonError(at, "the text ends too early")


def _next(sign: str, stack: list[str]) -> Expect:
    """What follows a token that begins with `sign` and is no name; `stack` has the open brackets."""
    if sign in "[{":
        stack.append(sign)
        return Expect.VALUE_OR_END if sign == "[" else Expect.KEY_OR_END
    if sign == ":":
        return Expect.VALUE
    if sign == ",":
        return Expect.VALUE if stack[-1] == "[" else Expect.KEY
    if sign in _OPENS:
        stack.pop()
    return Expect.COMMA_OR_END if stack else Expect.NOTHING


def _wrong_in_string(following: str) -> str:
    if not following:
        return "a string is not closed"
    return "an invalid escape in a string" if following == "\\" else "a control character in a string"


def write(content: Content, out: Formatted, *, many: bool = False) -> Iterator[None]:
    """One value; or `many`, one per line (NDJSON, JSON Lines) or each after a record separator (RFC 7464), which counts
    as a line end: it cannot occur in JSON."""
    text = content.text.replace("\x1e", "\n") if many else content.text
    depth, shown, fresh = 0, 0, False
    try:
        for kind, start, end in tokens(text, many=many):
            sign = text[start]
            if sign in "]}":
                depth -= 1
                if not fresh:
                    out.end_line(depth)
            elif sign not in ":," and (fresh or (shown and not depth)):
                out.end_line(depth)
            out.add(kind, ": " if sign == ":" else text[start:end])
            if sign == ",":
                out.end_line(depth)
            fresh = sign in "[{"
            depth += fresh
            shown = end
            if sign in ",[]{}":
                yield
    except JsonError as error:
        if not content.is_cut(error.at):
            out.position = position_at(text, error.at)
            line, column = out.position
            out.error = f"Not valid JSON at line {line:,}, column {column:,}: {error}."
        yield from add_text(text, out, shown)
    else:
        out.end_line()


write_many = partial(write, many=True)


class _Unbroken(Formatted):
    """The text as it is, with nothing escaped and no line folded."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def add(self, kind: Kind, text: str) -> None:
        self.parts.append(text)

    def end_line(self, depth: int = 0) -> None:
        self.parts.append("\n" + indent_of(depth))


def indented(text: str) -> tuple[str, str | None]:
    """One value as `write` shows it, ending as `text` does, and what is wrong if it is not JSON, in a sentence."""
    out = _Unbroken()
    for _ in write(Content(text), out):
        pass
    if out.error is not None:
        return text, out.error
    return "".join(out.parts).rstrip("\n") + text[len(text.rstrip()) :], None


_raw = msgspec.json.Decoder(msgspec.Raw)


def is_json_text(text: str) -> bool:
    """Only objects and arrays count: indenting a plain value changes nothing."""
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        _raw.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False
    return True


def fit(media_type: str, head: bytes) -> float:
    """Certain if type and first character agree; likely if the first character suggests JSON."""
    start = head.lstrip(b" \t\r\n\xef\xbb\xbf\xff\xfe\0")[:1]
    if is_json(media_type):
        return 1.0 if start and start in b'{["-0123456789tfn' else 0.55
    return 0.9 if start and start in b"{[" else 0.0


def ndjson_fit(media_type: str, head: bytes) -> float:
    """Certain if declared, or if the first lines are an object or list each."""
    start = head.lstrip(b" \t\r\n\xef\xbb\xbf\x1e")
    if text_language(media_type) == "ndjson":
        return 1.0 if start[:1] and start[:1] in b'{["-0123456789tfn' else 0.55
    first, line_end, rest = start.partition(b"\n")
    following = rest.lstrip(b" \t\r\n\x1e")[:1]
    if not line_end or following not in (b"{", b"[") or first[:1] not in (b"{", b"["):
        return 0.0
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return 0.0
    return 1.0
