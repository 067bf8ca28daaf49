"""Pygments' lexers, held within bounds: what they say of a text is where which kind of token ends, never the text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, Punctuation, String, Token

from app.core.bodies.lines import Kind

REACH = 4_096
"""Characters that one match of a lexer may look at. Python runs a match in one go, and nothing else meanwhile."""
_SHORTER = {"IniLexer": 512}
"""For those with searches within searches, which at full reach take a third of a second."""

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
    """The lexer of this name, each of whose matches is held to `REACH`. Takes up to a tenth of a second once."""
    cls = getattr(import_module(module), name)
    # It looks for another lexer by name for code within Markdown, one that has no bounds.
    options = {"handlecodeblocks": False} if name == "MarkdownLexer" else {}
    cls()  # fills its tables
    reach = _SHORTER.get(name, REACH)
    tables = {
        state: [(_bounded(match, reach), action, following) for match, action, following in rules]
        for state, rules in cls._tokens.items()
    }
    return type(cls)(name, (cls,), {"_tokens": tables})(**options)


def runs(lexer: Any, text: str) -> Iterator[tuple[int, Kind]]:
    """Where each run ends, and its kind; together they are the whole text, whatever the lexer leaves out or repeats."""
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
    """The kind for a type of token, or for the next wider type that has one."""
    return _KINDS[token] if token in _KINDS else kind_of(token.parent)


def _bounded(match: Match, reach: int) -> Match:
    def bounded(text: str, at: int, end: int = sys.maxsize) -> Any:
        return match(text, at, min(end, at + reach))

    return bounded
