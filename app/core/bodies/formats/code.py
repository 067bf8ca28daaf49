"""Source code with syntax colouring by Pygments, in bounded time; code that takes too long stays plain.

Pygments only says where each token ends: the text shown is never its own.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from pygments.token import string_to_tokentype

from app.core.bodies.formats import text
from app.core.bodies.formatter import Content, Formatted, Kind, Write
from app.core.bodies.media_types import GENERIC_TEXT, TEXT_LANGUAGES, text_language

MATCH_MAX = 4_096
"""Maximum characters that one match of a lexer can examine: no other Python code runs during a match."""
_SHORTER = {"IniLexer": 512}
"""For lexers with nested repetition, which take a third of a second for `MATCH_MAX` characters."""

_TOKENS: dict[Kind, str] = {
    "text": "Token",
    "key": (
        "Generic.Heading Generic.Subheading Name.Attribute Name.Class Name.Function Name.Label Name.Namespace"
        " Name.Property Name.Tag Name.Variable"
    ),
    "string": "String Generic.Inserted",
    "number": "Number Generic.Deleted Literal.Date",
    "literal": "Keyword Generic.Emph Generic.Strong Name.Decorator Operator.Word String.Escape String.Interpol",
    "punctuation": "Comment Operator Punctuation",
}
_KINDS: dict[Any, Kind] = {string_to_tokentype(name): kind for kind, names in _TOKENS.items() for name in names.split()}
Match = Callable[..., Any]


_OFTEN_JSON = frozenset({"javascript", "yaml"})
"""JSON is sent with these types too; the others can begin with a bracket that is not JSON's."""


class Language(NamedTuple):
    """`lexer` is a module and a class in it. `begins` matches the beginning of bodies without a type."""

    name: str
    lexer: str
    begins: bytes | None = None

    @property
    def title(self) -> str:
        return next(each.title for each in TEXT_LANGUAGES if each.name == self.name)

    def fit(self, media_type: str, head: bytes) -> float:
        """Certain by type, except where JSON is likely; likely by the first characters."""
        if text.fit("", head) < 0.5:
            return 0.0
        if text_language(media_type) == self.name:
            return 0.85 if self.name in _OFTEN_JSON else 0.95
        return 0.92 if media_type in GENERIC_TEXT and self.begins and re.match(self.begins, head) else 0.0


LANGUAGES = (
    Language("javascript", "pygments.lexers.javascript.JavascriptLexer", rb"#![^\r\n]*\bnode\b"),
    Language("typescript", "pygments.lexers.javascript.TypeScriptLexer"),
    Language("css", "pygments.lexers.css.CssLexer"),
    Language("yaml", "pygments.lexers.data.YamlLexer", rb"%YAML |---[ \t]*\r?\n[\w\"'-]"),
    Language("toml", "pygments.lexers.configs.TOMLLexer"),
    Language("ini", "pygments.lexers.configs.IniLexer", rb"\[[^\]\r\n,\"]+\][ \t]*\r?\n[\w.-]+[ \t]*="),
    Language("properties", "pygments.lexers.configs.PropertiesLexer"),
    Language(
        "graphql",
        "pygments.lexers.graphql.GraphQLLexer",
        rb"\s*(?:query|mutation|subscription|fragment)\b[^{}]*\{",
    ),
    Language(
        "sql",
        "pygments.lexers.sql.SqlLexer",
        rb"(?:\s|--[^\n]*\n)*"
        rb"(?:SELECT\b[^;]+\bFROM|INSERT\s+INTO|CREATE\s+TABLE|UPDATE\s+\S+\s+SET|DELETE\s+FROM)\b",
    ),
    Language("markdown", "pygments.lexers.markup.MarkdownLexer"),
    Language("python", "pygments.lexers.python.PythonLexer", rb"#![^\r\n]*\bpython"),
    Language("shell", "pygments.lexers.shell.BashLexer", rb"#![^\r\n]*\b(?:ba|da|k|z)?sh\b"),
    Language("diff", "pygments.lexers.diff.DiffLexer", rb"diff --git |--- [^\r\n]+\r?\n\+\+\+ "),
    Language("csv", "app.core.bodies.formats.csv_lexer.CsvLexer"),
    Language("tsv", "app.core.bodies.formats.csv_lexer.CsvLexer"),
)


@cache
def lexer_of(lexer: str) -> Any:
    """The lexer, with each match limited to `MATCH_MAX` characters. The first call takes up to a tenth of a second."""
    module, _, name = lexer.rpartition(".")
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


def writer(language: Language, seconds: float = SECONDS) -> Write:
    """The lines of a plain text, with colours."""

    def write(content: Content, out: Formatted) -> Iterator[None]:
        text, at, plain = content.text, 0, False
        while at < len(text):
            end = _end_of_piece(text, at)
            piece, shown, spent = text[at:end].replace("\r\n", "\n"), 0, 0.0
            runs = iter(()) if plain else token_runs(lexer_of(language.lexer), piece)
            while shown < len(piece):
                began = time.thread_time()
                stop, kind = _next_run(runs, piece)
                spent += time.thread_time() - began
                _add(kind, piece[shown:stop], out)
                shown = stop
                if spent > seconds and not plain:
                    plain, runs = True, iter(())
                yield
            at = end
        if not out.empty:
            out.end_line()
        yield

    return write


def _end_of_piece(text: str, at: int) -> int:
    """A line end, or within a line longer than a piece, but never between CR and LF."""
    end = at + PIECE
    if end >= len(text):
        return len(text)
    return text.rfind("\n", at, end) + 1 or end - (text[end - 1] == "\r")


def _next_run(runs: Iterator[tuple[int, Kind]], piece: str) -> tuple[int, Kind]:
    """If a lexer fails, or there is none, the rest of the piece is shown without colours."""
    try:
        return next(runs, (len(piece), "text"))
    except Exception:
        return len(piece), "text"


def _add(kind: Kind, text: str, out: Formatted) -> None:
    for number, part in enumerate(text.split("\n")):
        if number:
            out.end_line()
        if part:
            out.add(kind, part)
