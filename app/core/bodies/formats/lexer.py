"""Pygments' lexers with bounded work. They only say where each kind of token ends; the text shown is never theirs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, Punctuation, String, Token

from app.core.bodies.lines import Kind

REACH = 4_096
"""Maximum characters that one match of a lexer can examine: no other Python code runs during a match."""
_SHORTER = {"IniLexer": 512}
"""For lexers with nested repetition, which take a third of a second at full reach."""

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
def lexer(module: str, name: str) -> Any:
    """The lexer, with each match limited to `REACH`. The first call takes up to a tenth of a second."""
    cls = getattr(import_module(module), name)
    # For code within Markdown it would look up another lexer, one without limits.
    options = {"handlecodeblocks": False} if name == "MarkdownLexer" else {}
    cls()  # fills the class's tables
    reach = _SHORTER.get(name, REACH)
    tables = {
        state: [(_bounded(match, reach), action, following) for match, action, following in rules]
        for state, rules in cls._tokens.items()
    }
    return type(cls)(name, (cls,), {"_tokens": tables})(**options)


def runs(lexer: Any, text: str) -> Iterator[tuple[int, Kind]]:
    """The end and kind of each run. Together they cover the whole text, whatever the lexer omits or repeats."""
    at = 0
    for begin, token, value in lexer.get_tokens_unprocessed(text):
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


def _bounded(match: Match, reach: int) -> Match:
    def bounded(text: str, at: int, end: int = sys.maxsize) -> Any:
        return match(text, at, min(end, at + reach))

    return bounded
