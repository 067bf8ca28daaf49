"""Source code with syntax colouring by Pygments, in bounded time; code that takes too long stays plain.

Pygments only says where each token ends: the text shown is never its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, Punctuation, String, Token

from app.core.bodies.formats.languages import Language
from app.core.bodies.lines import Kind, Line, LineBuilder

MATCH_MAX = 4_096
"""Maximum characters that one match of a lexer can examine: no other Python code runs during a match."""
_SHORTER = {"IniLexer": 512}
"""For lexers with nested repetition, which take a third of a second for `MATCH_MAX` characters."""

_KINDS: dict[Any, Kind] = {
    Token: "text",
    Comment: "punctuation",
    Generic.Deleted: "number",
    Generic.Emph: "literal",
    Generic.Heading: "key",
    Generic.Inserted: "string",
    Generic.Strong: "literal",
    Generic.Subheading: "key",
    Keyword: "literal",
    Literal.Date: "number",
    Name.Attribute: "key",
    Name.Class: "key",
    Name.Decorator: "literal",
    Name.Function: "key",
    Name.Label: "key",
    Name.Namespace: "key",
    Name.Property: "key",
    Name.Tag: "key",
    Name.Variable: "key",
    Number: "number",
    Operator: "punctuation",
    Operator.Word: "literal",
    Punctuation: "punctuation",
    String: "string",
    String.Escape: "literal",
    String.Interpol: "literal",
}
Match = Callable[..., Any]


@cache
def lexer_of(module: str, name: str) -> Any:
    """The lexer, with each match limited to `MATCH_MAX` characters. The first call takes up to a tenth of a second."""
    cls = getattr(import_module(module), name)
    # For code within Markdown it would look up another lexer, one without limits.
    options = {"handlecodeblocks": False} if name == "MarkdownLexer" else {}
    cls()  # fills the class's tables
    match_max = _SHORTER.get(name, MATCH_MAX)
    tables = {
        state: [(_bounded(match, match_max), action, following) for match, action, following in rules]
        for state, rules in cls._tokens.items()
    }
    return type(cls)(name, (cls,), {"_tokens": tables})(**options)


def token_runs(lexer_of: Any, text: str) -> Iterator[tuple[int, Kind]]:
    """The end and kind of each run. Together they cover the whole text, whatever the lexer omits or repeats."""
    at = 0
    for begin, token, value in lexer_of.get_tokens_unprocessed(text):
        if begin > at:
            at = min(begin, len(text))
            yield at, "text"
        end = min(begin + len(value), len(text))
        if end > at:
            at = end
            yield at, kind_of(token)
    if at < len(text):
        yield len(text), "text"


@cache
def kind_of(token: Any) -> Kind:
    """The kind of a token type, or of the closest parent type that has one."""
    return _KINDS[token] if token in _KINDS else kind_of(token.parent)


def _bounded(match: Match, match_max: int) -> Match:
    def bounded(text: str, at: int, end: int = sys.maxsize) -> Any:
        return match(text, at, min(end, at + match_max))

    return bounded


PIECE = 32 * 1024
"""Characters coloured at once. A token that extends beyond them (a long comment) is taken for a new one there."""
SECONDS = 0.25
"""Processor time for one piece: five times what ordinary code takes. Text built to take longer stays plain."""
SLICE = 0.05
"""Processor time after which the lines that are ready are returned, however few."""


class CodeFormatter:
    """`TextFormatter`'s lines with colours."""

    error: str | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, language: Language, seconds: float = SECONDS) -> None:
        self._language, self._seconds = language, seconds
        self._lines = LineBuilder()
        self._text, self._piece, self._at = "", "", 0
        self._runs: Iterator[tuple[int, Kind]] = iter(())
        self._final = self._ended = self._plain = False
        self._waits = True
        self._spent = 0.0

    def new_formatter(self) -> CodeFormatter:
        return CodeFormatter(self._language, self._seconds)

    @property
    def needs_input(self) -> bool:
        return not len(self._lines) and (self._ended or self._waits)

    def feed(self, text: str, final: bool) -> None:
        self._text += text
        self._final = self._final or final
        self._waits = False

    def next_lines(self, limit: int) -> list[Line]:
        slice_spent = 0.0
        while not (self._ended or self._waits) and len(self._lines) < limit:
            if slice_spent > SLICE and len(self._lines):
                break
            if self._at >= len(self._piece):
                self._next_piece()
                continue
            began = time.thread_time()
            end, kind = self._next_run()
            self._write(kind, self._piece[self._at : end])
            self._at = end
            took = time.thread_time() - began
            slice_spent += took
            self._spent += took
            self._plain = self._plain or self._spent > self._seconds
        return self._lines.next_lines(limit)

    def _next_piece(self) -> None:
        """Ends at a line end, or within a line longer than a piece, but never between CR and LF."""
        text = self._text[:PIECE]
        end = len(text)
        if not (self._final and end == len(self._text)):
            end = text.rfind("\n") + 1 or (end - text.endswith("\r") if end == PIECE else 0)
        if not end:
            self._waits, self._ended = True, self._final
            if self._final and not self._lines.empty:
                self._lines.end_line()
            return
        self._piece, self._at, self._text = text[:end].replace("\r\n", "\n"), 0, self._text[end:]
        self._spent = 0.0
        if not self._plain:
            self._runs = token_runs(lexer_of(*self._language.lexer), self._piece)

    def _next_run(self) -> tuple[int, Kind]:
        if not self._plain:
            try:
                return next(self._runs)
            except Exception:
                # If a lexer fails, the body is shown without colours.
                self._plain = True
        return len(self._piece), "text"

    def _write(self, kind: Kind, text: str) -> None:
        for number, part in enumerate(text.split("\n")):
            if number:
                self._lines.end_line()
            if part:
                self._lines.add(kind, part)
