"""JSON and sequences of JSON values, indented; numbers, names, order, duplicates and escapes stay as written."""

from __future__ import annotations

import json
import re
from enum import IntEnum

from app.core.bodies.formats.text import TextFormatter
from app.core.bodies.formatter import Position
from app.core.bodies.lines import Kind, Line, LineBuilder
from app.core.bodies.media_types import JSON_LINES, is_json

# No possessive repeats: before 3.11.5 Python matches them wrongly, and Debian 12 has 3.11.2.
_STRING_REST = r'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*'

TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    rf'|(?P<string>"{_STRING_REST}")'
    r"|(?P<punctuation>[{}\[\],:])"
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z.+_-]))"
    r"|(?P<literal>(?:true|false|null)(?![0-9A-Za-z_]))"
    rf'|(?P<open>"{_STRING_REST})'
)
"""`open` is a string whose end has not arrived (yet)."""

STRING_REST = re.compile(_STRING_REST)
UNFINISHED = re.compile(r"[-+.0-9A-Za-z]*\Z")
"""Text that can still become a number or literal when more follows."""
UNFINISHED_ESCAPE = re.compile(r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z")


class Expect(IntEnum):
    """The grammar: which token is allowed next."""

    VALUE = 0
    VALUE_OR_END = 1
    KEY = 2
    KEY_OR_END = 3
    COLON = 4
    COMMA_OR_END = 5
    NOTHING = 6


WORDS = {
    Expect.VALUE: "a value",
    Expect.VALUE_OR_END: "a value or ]",
    Expect.KEY: "a name in quotes",
    Expect.KEY_OR_END: "a name in quotes or }",
    Expect.COLON: "a colon",
    Expect.COMMA_OR_END: "a comma or the end of the list or object",
    Expect.NOTHING: "the end of the text",
}


INDENT = 2
DEEPEST_INDENT = 40
"""Levels beyond this are not indented further; nesting has no limit."""

_CLOSES = {"[": "]", "{": "}"}


class JsonFormatter:
    """Re-indents text as it arrives. For invalid JSON `error` names the place, and the rest follows unchanged."""

    notes: tuple[str, ...] = ()

    def __init__(self, *, many: bool = False) -> None:
        self.error: str | None = None
        self.position: Position | None = None
        self._many = many
        self._lines = LineBuilder()
        self._text, self._at = "", 0
        self._final = self._ended = False
        self._waits = True
        self._stack: list[str] = []
        self._expect = Expect.VALUE
        self._open: Kind | None = None
        self._line, self._column = 1, 1
        # White space before the current token, needed if the rest is shown unchanged.
        self._gap = ""
        self._raw: TextFormatter | None = None
        self._resumed = False

    def resume(self, stack: str, token_kind: Kind | None) -> None:
        """Begin within a text, with these brackets open: after a comma, or inside a name or string (`token_kind`)."""
        self._stack = list(stack)
        self._open, self._resumed = token_kind, True
        self._expect = Expect.KEY if stack.endswith("{") else Expect.VALUE
        if token_kind is None:
            self._lines.begin_line(self._indent())

    @property
    def needs_input(self) -> bool:
        if self._raw is not None:
            return self._raw.needs_input
        return not len(self._lines) and (self._ended or self._waits)

    def feed(self, text: str, final: bool) -> None:
        if self._raw is not None:
            self._raw.feed(text, final)
            return
        self._text = self._text[self._at :] + text
        self._at = 0
        self._final = self._final or final
        self._waits = False

    def next_lines(self, limit: int) -> list[Line]:
        while self._raw is None and not self._ended and len(self._lines) < limit:
            if not self._step():
                self._waits = True
                break
        return self._lines.next_lines(limit) if self._raw is None else self._raw.next_lines(limit)

    def _step(self) -> bool:
        """Handle one token; False at the end, after an error, or if more text is needed."""
        if self._at >= len(self._text):
            return self._end_of_text()
        if self._open:
            return self._continue_string(self._open)
        match = TOKEN.match(self._text, self._at)
        if match is None or match.lastgroup is None:
            return self._no_token()
        kind, token = match.lastgroup, match.group()
        if kind in ("number", "literal") and match.end() == len(self._text) and not self._final:
            return False
        wrong = self._accept(kind, token)
        if wrong:
            return self._fail(wrong)
        self._advance(token)
        self._gap = token if kind == "space" else ""
        return True

    def _no_token(self) -> bool:
        if not self._final and len(self._text) - self._at < 400 and UNFINISHED.match(self._text, self._at):
            return False
        return self._fail(f"{WORDS[self._expect]} was expected")

    def _accept(self, kind: str, token: str) -> str | None:
        """Write the token if it is allowed here; otherwise return the error."""
        if kind == "space":
            return None
        if kind == "punctuation":
            return self._punctuation(token)
        if self._expect is Expect.NOTHING and self._many:
            self._lines.end_line()
            self._expect = Expect.VALUE
        if self._expect in (Expect.KEY, Expect.KEY_OR_END):
            if kind not in ("string", "open"):
                return f"{WORDS[self._expect]} was expected"
            self._begin_item()
            self._string("key", token, kind == "open")
            return None
        if self._expect not in (Expect.VALUE, Expect.VALUE_OR_END):
            return f"{WORDS[self._expect]} was expected"
        self._begin_item()
        if kind in ("string", "open"):
            self._string("string", token, kind == "open")
        else:
            self._lines.add("number" if kind == "number" else "literal", token)
            self._after_value()
        return None

    def _punctuation(self, token: str) -> str | None:
        if token in "[{":
            if self._expect is Expect.NOTHING and self._many:
                self._lines.end_line()
                self._expect = Expect.VALUE
            if self._expect not in (Expect.VALUE, Expect.VALUE_OR_END):
                return f"{WORDS[self._expect]} was expected"
            self._begin_item()
            self._lines.add("punctuation", token)
            self._stack.append(token)
            self._expect = Expect.VALUE_OR_END if token == "[" else Expect.KEY_OR_END
            return None
        if token == ":" and self._expect is Expect.COLON:
            self._lines.add("punctuation", ": ")
            self._expect = Expect.VALUE
            return None
        if token == "," and self._expect is Expect.COMMA_OR_END:
            self._lines.add("punctuation", ",")
            self._lines.end_line(self._indent())
            self._expect = Expect.VALUE if self._stack[-1] == "[" else Expect.KEY
            return None
        return self._close(token)

    def _close(self, token: str) -> str | None:
        empty = self._expect in (Expect.VALUE_OR_END, Expect.KEY_OR_END)
        if not (empty or self._expect is Expect.COMMA_OR_END) or _CLOSES[self._stack[-1]] != token:
            return f"{WORDS[self._expect]} was expected"
        self._stack.pop()
        if not empty:
            self._lines.end_line(self._indent())
        self._lines.add("punctuation", token)
        self._after_value()
        return None

    def _begin_item(self) -> None:
        """Starts a new line before the first item of a list or object."""
        if self._expect in (Expect.VALUE_OR_END, Expect.KEY_OR_END):
            self._lines.end_line(self._indent())

    def _string(self, kind: Kind, token: str, unfinished: bool) -> None:
        self._lines.add(kind, token)
        if unfinished:
            self._open = kind
        else:
            self._after_string(kind)

    def _continue_string(self, kind: Kind) -> bool:
        match = STRING_REST.match(self._text, self._at)
        assert match is not None  # it matches the empty string too
        rest = match.group()
        self._lines.add(kind, rest)
        self._advance(rest)
        if self._text.startswith('"', self._at):
            self._lines.add(kind, '"')
            self._advance('"')
            self._open = None
            self._after_string(kind)
            return True
        if self._at < len(self._text) and (self._final or not UNFINISHED_ESCAPE.match(self._text, self._at)):
            unknown = self._text.startswith("\\", self._at)
            return self._fail("an invalid escape in a string" if unknown else "a control character in a string")
        return self._end_of_text() if self._final else False

    def _after_string(self, kind: Kind) -> None:
        if kind == "key":
            self._expect = Expect.COLON
        else:
            self._after_value()

    def _after_value(self) -> None:
        self._expect = Expect.COMMA_OR_END if self._stack else Expect.NOTHING

    def _end_of_text(self) -> bool:
        if not self._final:
            return False
        if self._open or self._expect is not Expect.NOTHING:
            return self._fail("a string is not closed" if self._open else "the text ends too early")
        self._ended = True
        self._lines.end_line()
        return False

    def _fail(self, why: str) -> bool:
        """Set the error, and pass the rest through as text on the current line."""
        # After `resume` the line number is not known.
        self.position = None if self._resumed else (self._line, self._column)
        position = "" if self._resumed else f" at line {self._line:,}, column {self._column:,}"
        self.error = f"Not valid JSON{position}: {why}."
        self._raw = TextFormatter(self._lines)
        self._raw.feed(self._gap + self._text[self._at :], self._final)
        self._text = ""
        return False

    def _advance(self, token: str) -> None:
        self._at += len(token)
        breaks = token.count("\n")
        if breaks:
            self._line += breaks
            self._column = len(token) - token.rfind("\n")
        else:
            self._column += len(token)

    def _indent(self) -> int:
        return INDENT * min(len(self._stack), DEEPEST_INDENT)


def fit(media_type: str, head: bytes) -> float:
    """Certain if type and first character agree; likely if the first character suggests JSON."""
    start = head.lstrip(b" \t\r\n\xef\xbb\xbf\xff\xfe\0")[:1]
    if is_json(media_type):
        return 1.0 if start and start in b'{["-0123456789tfn' else 0.55
    return 0.9 if start and start in b"{[" else 0.0


_SEPARATOR = "\x1e"


class NdjsonFormatter(JsonFormatter):
    """Values one per line (NDJSON, JSON Lines) or each after a record separator (RFC 7464)."""

    def __init__(self) -> None:
        super().__init__(many=True)

    def feed(self, text: str, final: bool) -> None:
        """A record separator, which cannot occur in JSON, counts as a line end."""
        super().feed(text.replace(_SEPARATOR, "\n"), final)


def ndjson_fit(media_type: str, head: bytes) -> float:
    """Certain if declared, or if the first lines are an object or list each."""
    start = head.lstrip(b" \t\r\n\xef\xbb\xbf\x1e")
    if media_type in JSON_LINES:
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
