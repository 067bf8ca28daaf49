"""Finds offsets where the view of a large body can begin, so that a distant part is shown without formatting
everything before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple, Protocol

from app.core.bodies.charset import Charset
from app.core.bodies.formats.code import CodeFormatter
from app.core.bodies.formats.json import JsonFormatter, NdjsonFormatter
from app.core.bodies.formats.markup import MarkupFormatter
from app.core.bodies.formats.text import TextFormatter
from app.core.bodies.formats.xml import formatter as xml_formatter
from app.core.bodies.formatter import Formatter

BEFORE = 32 * 1024
"""Bytes shown before the requested offset."""
KEPT_EVERY = 1024 * 1024
"""Bytes between saved states, from which going back starts."""
_COMMA = re.compile(rb'(?:[^",]|"[^"\\]*(?:\\.[^"\\]*)*")*?,', re.DOTALL)
_WHOLE_STRINGS = re.compile(rb'(?:[^"]|"[^"\\]*(?:\\.[^"\\]*)*")*', re.DOTALL)
_BETWEEN_TAGS = re.compile(rb">[ \t\r\n]*(?=<[A-Za-z_:])")
_TRIES = 40
"""Tags tried as a starting point: the first ones can be within a comment."""


class Resume(NamedTuple):
    """Lines begin at byte `offset` of the decompressed body, with number `line` (None: unknown); `folded`: the first
    continues an earlier line. `formatter` creates the formatter for the rest."""

    offset: int
    line: int | None
    folded: bool
    formatter: Callable[[], Formatter]


class Skipper(Protocol):
    """Reads bytes from `offset` without formatting them."""

    @property
    def offset(self) -> int:
        """Of the next byte."""
        ...

    def back_to(self, offset: int) -> None:
        """Return to a state before `offset` if more was read."""
        ...

    def feed(self, data: bytes) -> None: ...

    def point(self, following: bytes) -> Resume | None:
        """The first offset within `following` where a view can begin, or None."""
        ...


def skipper_for(formatter: Formatter | None, charset: Charset | None) -> Skipper | None:
    """None for views whose lines depend on everything before them."""
    if formatter is None or charset is None or formatter.error:
        return None
    ascii_compatible = not charset.name.startswith(("utf-16", "utf-32", "utf_16", "utf_32"))
    if isinstance(formatter, JsonFormatter):
        return _JsonSkipper(many=isinstance(formatter, NdjsonFormatter)) if ascii_compatible else None
    if isinstance(formatter, MarkupFormatter):
        return _XmlSkipper() if formatter.can_resume and ascii_compatible else None
    if isinstance(formatter, CodeFormatter):
        return _TextSkipper(charset, formatter.new_formatter)
    return _TextSkipper(charset, TextFormatter) if type(formatter) is TextFormatter else None


class _TextSkipper:
    def __init__(self, charset: Charset, formatter: Callable[[], Formatter]) -> None:
        self._break = "\n".encode(charset.name)
        self._unit = len(self._break)
        self._utf8 = charset.name in ("utf-8", "utf8")
        self._formatter = formatter
        self.offset = 0
        self._line = 1
        self._states = [(0, 1)]

    def back_to(self, offset: int) -> None:
        if offset < self.offset:
            self.offset, self._line = max(state for state in self._states if state[0] <= offset)

    def feed(self, data: bytes) -> None:
        self.offset += len(data)
        self._line += self._breaks(data)
        if self.offset >= self._states[-1][0] + KEPT_EVERY:
            self._states.append((self.offset, self._line))

    def point(self, following: bytes) -> Resume | None:
        at = self._find(following)
        if at >= 0:
            end = at + self._unit
            return Resume(self.offset + end, self._line + 1, False, self._formatter)
        # A very long line: begin within it, between two characters.
        at = -self.offset % self._unit
        while self._utf8 and at < len(following) and 0x80 <= following[at] < 0xC0:
            at += 1
        return Resume(self.offset + at, self._line, True, self._formatter) if at < len(following) else None

    def _breaks(self, data: bytes) -> int:
        return data.count(self._break)

    def _find(self, data: bytes) -> int:
        at = data.find(self._break)
        while at >= 0 and (self.offset + at) % self._unit:
            at = data.find(self._break, at + 1)
        return at


_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STRING_REST = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_SPACES = b" \t\r\n"
_SCALAR = bytes(code if code in b'[]{},:"' else ord("s") for code in range(256))
_NO_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
PAIR_PASSES = 32
"""Levels removed as matching pairs; deeper nesting within a piece is processed bracket by bracket."""
_OPENS = {ord("]"): ord("["), ord("}"): ord("{")}


class JsonState(NamedTuple):
    """After `offset` bytes. `line` is the number of the indented line that the next token is on, or begins after."""

    offset: int = 0
    stack: bytes = b""
    line: int = 1
    last: bytes = b""
    """The last two characters of structure, `s` for a plain value."""
    in_string: bool = False


class JsonSkip:
    """Tracks `state` through bytes in an ASCII-compatible charset, at about 100 MB/s: regular expressions and byte
    counts do the work instead of a tokenizer.

    `broken`: brackets do not match, and `state` is meaningless.
    """

    def __init__(self, state: JsonState | None = None) -> None:
        self.state = state or JsonState()
        self.broken = False
        self._rest = b""

    @property
    def waiting(self) -> bytes:
        """Bytes held back until more follow."""
        return self._rest

    def feed(self, data: bytes) -> None:
        """A backslash at the end is held back until more follows."""
        data = self._rest + data
        self._rest = b""
        offset, stack, line, last, in_string = self.state
        offset += len(data)
        if in_string:
            match = _STRING_REST.match(data)
            end = match.end() if match else 0
            if end == len(data):
                self.state = JsonState(offset, stack, line, last, True)
                return
            if data[end : end + 1] != b'"':  # a backslash at the very end
                self._rest = data[end:]
                self.state = JsonState(offset - len(self._rest), stack, line, last, True)
                return
            data, last = data[end + 1 :], (last + b"s")[-2:]
        signs = _STRING.sub(b"s", data)
        opened = signs.find(b'"')
        in_string = opened >= 0
        if in_string:
            trailing = len(signs) - len(signs.rstrip(b"\\"))
            self._rest = b"\\" if trailing % 2 else b""
            signs = signs[:opened]
        signs = signs.translate(_SCALAR, _SPACES)
        line += _line_breaks(last[-1:] + signs) - _line_breaks(last[-1:])
        unpaired = self._without_pairs(signs)
        stack = self._after(stack, unpaired)
        tail = re.sub(rb"s+", b"s", last + signs[-64:])[-2:] if len(signs) > 64 else re.sub(rb"s+", b"s", last + signs)
        self.state = JsonState(offset - len(self._rest), stack, line, tail[-2:], in_string)

    def _without_pairs(self, signs: bytes) -> bytes:
        brackets = signs.translate(None, _NO_BRACKETS)
        for _ in range(PAIR_PASSES):
            fewer = brackets.replace(b"[]", b"").replace(b"{}", b"")
            if len(fewer) == len(brackets):
                break
            brackets = fewer
        return brackets

    def _after(self, stack: bytes, brackets: bytes) -> bytes:
        open_ones = bytearray(stack)
        for sign in brackets:
            if sign in b"[{":
                open_ones.append(sign)
            elif open_ones and open_ones[-1] == _OPENS[sign]:
                open_ones.pop()
            else:
                self.broken = True
                break
        return bytes(open_ones)


def _line_breaks(signs: bytes) -> int:
    """Line breaks in the indented form of these characters."""
    brackets = sum(map(signs.count, (b"[", b"]", b"{", b"}")))
    empty = signs.count(b"[]") + signs.count(b"{}")
    return signs.count(b",") + brackets - 2 * empty


class _JsonSkipper:
    def __init__(self, *, many: bool) -> None:
        self._many = many
        self._skip = JsonSkip()
        self._states = [JsonState()]

    @property
    def offset(self) -> int:
        return self._skip.state.offset + len(self._skip.waiting)

    def back_to(self, offset: int) -> None:
        if offset < self.offset or self._skip.broken:
            self._skip = JsonSkip(max(state for state in self._states if state.offset <= offset))

    def feed(self, data: bytes) -> None:
        self._skip.feed(data)
        state = self._skip.state
        if state.offset >= self._states[-1].offset + KEPT_EVERY and not (self._skip.waiting or self._skip.broken):
            self._states.append(state)

    def point(self, following: bytes) -> Resume | None:
        if self._skip.broken:
            return None
        state, start = self._skip.state, 0
        following = self._skip.waiting + following
        if state.in_string:
            start = _end_of_string(following)
            if start < 0:
                return self._in_string(state, following, 0)
        comma = _COMMA.match(following, start)
        if comma is not None:
            return self._after_comma(self._after(following[: comma.end()]), comma.end())
        rest = _WHOLE_STRINGS.match(following, start)
        opened = rest.end() + 1 if rest else len(following)
        return self._in_string(self._after(following[:opened]), following, opened)

    def _after(self, data: bytes) -> JsonState:
        skip = JsonSkip(self._skip.state)
        skip.feed(data)
        return JsonState() if skip.broken else skip.state

    def _after_comma(self, state: JsonState, at: int) -> Resume | None:
        if state.in_string or not state.stack or state.last[-1:] != b",":
            return None
        return self._resume(state, at, None)

    def _in_string(self, state: JsonState, following: bytes, begin: int) -> Resume | None:
        at = _between_characters(following, begin)
        if not state.in_string or at is None:
            return None
        return self._resume(state, at, "key" if state.stack[-1:] == b"{" and state.last[-1:] in b"{," else "string")

    def _resume(self, state: JsonState, at: int, token_kind: Literal["key", "string"] | None) -> Resume:
        line = None if self._many else state.line
        stack = state.stack.decode("ascii")

        def formatter() -> Formatter:
            made = NdjsonFormatter() if self._many else JsonFormatter()
            made.resume(stack, token_kind)
            return made

        return Resume(self._skip.state.offset + at, line, token_kind is not None, formatter)


_SKIPPED = re.compile(
    rb"<!--.*?(-->|\Z)|<!\[CDATA\[.*?(\]\]>|\Z)|<\?.*?(\?>|\Z)|<!DOCTYPE[^\[>]*(?:\[.*?(?:\]\s*|\Z))?(>|\Z)", re.DOTALL
)
"""The group that took part is the end, and empty without one."""
_EMPTY_ELEMENT = re.compile(rb"<[^\s/<>!?]+(?:\s[^<>\"']*(?:(?:\"[^\"<>]*\"|'[^'<>]*')[^<>\"']*)*)?/>")
_LEAF_ELEMENT = re.compile(rb"<([^\s/<>!?]+)(?:\s[^<>]*)?>[^<]*</\1\s*>")
_TAG = re.compile(rb"<(/?)([^\s/<>!?]+)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?(/?)>")
LEAF_PASSES = 16
WAITING_MAX = 1024 * 1024
"""Maximum bytes of a comment or similar; longer ones are not skipped."""


class XmlSkip:
    """The elements open after `offset` bytes of an ASCII-compatible charset: `stack`, the outermost first.

    Regular expressions remove elements that begin and end within a piece, innermost first; only the rest is read tag by
    tag. Once the text is not well-formed, it is `broken` and nothing is known.
    """

    def __init__(self, offset: int = 0, stack: tuple[bytes, ...] = ()) -> None:
        self.offset, self.stack = offset, stack
        self.waiting = b""
        self.broken = False

    def feed(self, data: bytes) -> None:
        """Holds back an incomplete tag or comment."""
        data = self.waiting + data
        kept, at, end = [], 0, len(data)
        for span in _SKIPPED.finditer(data):
            if not span[span.lastindex or 0]:
                end = span.start()
                break
            kept.append(data[at : span.start()])
            at = span.end()
        kept.append(data[at:end])
        start = kept[-1].rfind(b"<")
        if start >= 0 and b">" not in kept[-1][start:]:
            end -= len(kept[-1]) - start
            kept[-1] = kept[-1][:start]
        self.waiting = data[end:]
        self.offset += end
        self.broken = self.broken or len(self.waiting) > WAITING_MAX
        self._read(b"".join(kept))

    def _read(self, text: bytes) -> None:
        text = _EMPTY_ELEMENT.sub(b"", text)
        for _ in range(LEAF_PASSES):
            fewer = _LEAF_ELEMENT.sub(b"", text)
            if len(fewer) == len(text):
                break
            text = fewer
        stack = list(self.stack)
        for closing, name, empty in _TAG.findall(text):
            if not closing:
                stack += [] if empty else [name]
            elif stack and stack[-1] == name:
                stack.pop()
            else:
                self.broken = True
                break
        self.stack = tuple(stack)


class _XmlSkipper:
    def __init__(self) -> None:
        self._skip = XmlSkip()
        self._states: list[tuple[int, tuple[bytes, ...]]] = [(0, ())]

    @property
    def offset(self) -> int:
        return self._skip.offset + len(self._skip.waiting)

    def back_to(self, offset: int) -> None:
        if offset < self.offset or self._skip.broken:
            self._skip = XmlSkip(*max(state for state in self._states if state[0] <= offset))

    def feed(self, data: bytes) -> None:
        self._skip.feed(data)
        if self._skip.offset >= self._states[-1][0] + KEPT_EVERY and not self._skip.broken:
            self._states.append((self._skip.offset, self._skip.stack))

    def point(self, following: bytes) -> Resume | None:
        data = self._skip.waiting + following
        for _, tag in zip(range(_TRIES), _BETWEEN_TAGS.finditer(data), strict=False):
            skip = XmlSkip(self._skip.offset, self._skip.stack)
            skip.feed(data[: tag.end()])
            if not (self._skip.broken or skip.broken or skip.waiting) and skip.stack:
                return Resume(skip.offset, None, False, partial(_xml_formatter, skip.stack))
        return None


def _xml_formatter(stack: tuple[bytes, ...]) -> Formatter:
    made = xml_formatter()
    made.resume([name.decode("utf-8", "replace") for name in stack])
    return made


def _end_of_string(data: bytes) -> int:
    """The offset after the quote that ends the string open at the beginning; -1 without one."""
    match = _STRING_REST.match(data)
    end = match.end() if match else 0
    return end + 1 if data[end : end + 1] == b'"' else -1


def _between_characters(data: bytes, begin: int) -> int | None:
    """Where a string that continues beyond `data` can be cut without splitting a character."""
    at = begin
    while at < len(data) and 0x80 <= data[at] < 0xC0:
        at += 1
    return at if at < len(data) else None
