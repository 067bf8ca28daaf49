"""The languages with syntax colouring: the lexer of each, and how bodies without a type begin."""

from __future__ import annotations

import mimetypes
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from app.core.bodies.formats import text
from app.core.bodies.media_types import GENERIC_TEXT, TEXT_LANGUAGES, text_language

_OFTEN_JSON = frozenset({"javascript", "yaml"})
"""JSON is sent with these types too; the others can begin with a bracket that is not JSON's."""


@dataclass(frozen=True)
class Language:
    """`lexer` is a module and a class in it. `start_pattern` matches the beginning of bodies without a type."""

    name: str
    title: str
    lexer: tuple[str, str]
    start_pattern: re.Pattern[bytes] | None = None

    def fit(self, media_type: str, head: bytes) -> float:
        """Certain by type, except where JSON is likely; likely by the first characters."""
        if text.fit("", head) < 0.5:
            return 0.0
        if text_language(media_type) == self.name:
            return 0.85 if self.name in _OFTEN_JSON else 0.95
        return 0.92 if media_type in GENERIC_TEXT and self.start_pattern and self.start_pattern.match(head) else 0.0


_TITLES = {each.name: each.title for each in TEXT_LANGUAGES}


def _language(name: str, lexer: str, start_pattern: bytes | None = None) -> Language:
    module, _, cls = lexer.rpartition(".")
    return Language(name, _TITLES[name], (module, cls), re.compile(start_pattern) if start_pattern else None)


LANGUAGES = (
    _language("javascript", "pygments.lexers.javascript.JavascriptLexer", rb"#![^\r\n]*\bnode\b"),
    _language("typescript", "pygments.lexers.javascript.TypeScriptLexer"),
    _language("css", "pygments.lexers.css.CssLexer"),
    _language("yaml", "pygments.lexers.data.YamlLexer", rb"%YAML |---[ \t]*\r?\n[\w\"'-]"),
    _language("toml", "pygments.lexers.configs.TOMLLexer"),
    _language("ini", "pygments.lexers.configs.IniLexer", rb"\[[^\]\r\n,\"]+\][ \t]*\r?\n[\w.-]+[ \t]*="),
    _language("properties", "pygments.lexers.configs.PropertiesLexer"),
    _language(
        "graphql",
        "pygments.lexers.graphql.GraphQLLexer",
        rb"\s*(?:query|mutation|subscription|fragment)\b[^{}]*\{",
    ),
    _language(
        "sql",
        "pygments.lexers.sql.SqlLexer",
        rb"(?:\s|--[^\n]*\n)*"
        rb"(?:SELECT\b[^;]+\bFROM|INSERT\s+INTO|CREATE\s+TABLE|UPDATE\s+\S+\s+SET|DELETE\s+FROM)\b",
    ),
    _language("markdown", "pygments.lexers.markup.MarkdownLexer"),
    _language("python", "pygments.lexers.python.PythonLexer", rb"#![^\r\n]*\bpython"),
    _language("shell", "pygments.lexers.shell.BashLexer", rb"#![^\r\n]*\b(?:ba|da|k|z)?sh\b"),
    _language("diff", "pygments.lexers.diff.DiffLexer", rb"diff --git |--- [^\r\n]+\r?\n\+\+\+ "),
    _language("csv", "app.core.bodies.formats.csv_lexer.CsvLexer"),
    _language("tsv", "app.core.bodies.formats.csv_lexer.CsvLexer"),
)

_BY_ENDING = {ending: each.types[0] for each in TEXT_LANGUAGES for ending in each.endings}
# Not the system's table: a body must look the same on every computer.
_TYPES = mimetypes.MimeTypes(filenames=())


def type_of(media_type: str, file_name: str | None) -> str:
    """The declared type of a part, or if that is generic, the type for the ending of its file name."""
    if media_type not in GENERIC_TEXT or not file_name:
        return media_type
    ending = PurePosixPath(file_name[-200:]).suffix[1:].lower()
    return _BY_ENDING.get(ending) or _TYPES.guess_type(f"x.{ending}")[0] or media_type
