"""The languages with syntax colouring, and the types, file endings and first characters that identify each."""

from __future__ import annotations

import mimetypes
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from app.core.bodies.formats import text
from app.core.bodies.media_types import GENERIC_TEXT

_OFTEN_JSON = frozenset({"javascript", "yaml"})
"""JSON is sent with these types too; the others can begin with a bracket that is not JSON's."""


@dataclass(frozen=True)
class Language:
    """`lexer` is a module and a class in it. `start_pattern` matches the beginning of bodies without a type."""

    name: str
    title: str
    lexer: tuple[str, str]
    types: frozenset[str]
    endings: frozenset[str]
    start_pattern: re.Pattern[bytes] | None = None

    def fit(self, media_type: str, head: bytes) -> float:
        """Certain by type, except where JSON is likely; likely by the first characters."""
        if text.fit("", head) < 0.5:
            return 0.0
        if media_type in self.types:
            return 0.85 if self.name in _OFTEN_JSON else 0.95
        return 0.92 if media_type in GENERIC_TEXT and self.start_pattern and self.start_pattern.match(head) else 0.0


def _language(
    name: str, title: str, lexer: str, *, types: str = "", endings: str = "", start_pattern: bytes | None = None
) -> Language:
    module, _, cls = lexer.rpartition(".")
    named = {kind if "/" in kind else f"{group}/{kind}" for kind in types.split() for group in ("text", "application")}
    pattern = re.compile(start_pattern) if start_pattern else None
    return Language(name, title, (module, cls), frozenset(named), frozenset(endings.split()), pattern)


LANGUAGES = (
    _language(
        "javascript",
        "JavaScript",
        "pygments.lexers.javascript.JavascriptLexer",
        types="javascript x-javascript ecmascript",
        endings="js mjs cjs jsx",
        start_pattern=rb"#![^\r\n]*\bnode\b",
    ),
    _language(
        "typescript",
        "TypeScript",
        "pygments.lexers.javascript.TypeScriptLexer",
        types="typescript x-typescript",
        endings="ts tsx",
    ),
    _language("css", "CSS", "pygments.lexers.css.CssLexer", types="css", endings="css"),
    _language(
        "yaml",
        "YAML",
        "pygments.lexers.data.YamlLexer",
        types="yaml x-yaml vnd.yaml",
        endings="yaml yml",
        start_pattern=rb"%YAML |---[ \t]*\r?\n[\w\"'-]",
    ),
    _language("toml", "TOML", "pygments.lexers.configs.TOMLLexer", types="toml x-toml", endings="toml"),
    _language(
        "ini",
        "INI",
        "pygments.lexers.configs.IniLexer",
        types="x-ini ini",
        endings="ini cfg conf editorconfig",
        start_pattern=rb"\[[^\]\r\n,\"]+\][ \t]*\r?\n[\w.-]+[ \t]*=",
    ),
    _language(
        "properties",
        "Properties",
        "pygments.lexers.configs.PropertiesLexer",
        types="x-java-properties",
        endings="properties env",
    ),
    _language(
        "graphql",
        "GraphQL",
        "pygments.lexers.graphql.GraphQLLexer",
        types="graphql",
        endings="graphql gql",
        start_pattern=rb"\s*(?:query|mutation|subscription|fragment)\b[^{}]*\{",
    ),
    _language(
        "sql",
        "SQL",
        "pygments.lexers.sql.SqlLexer",
        types="sql x-sql",
        endings="sql",
        start_pattern=rb"(?:\s|--[^\n]*\n)*(?:SELECT\b[^;]+\bFROM|INSERT\s+INTO|CREATE\s+TABLE|UPDATE\s+\S+\s+SET|DELETE\s+FROM)\b",
    ),
    _language(
        "markdown", "Markdown", "pygments.lexers.markup.MarkdownLexer", types="markdown x-markdown", endings="md"
    ),
    _language(
        "python",
        "Python",
        "pygments.lexers.python.PythonLexer",
        types="x-python x-script.python",
        endings="py pyi",
        start_pattern=rb"#![^\r\n]*\bpython",
    ),
    _language(
        "shell",
        "Shell",
        "pygments.lexers.shell.BashLexer",
        types="x-sh x-shellscript x-bash",
        endings="sh bash",
        start_pattern=rb"#![^\r\n]*\b(?:ba|da|k|z)?sh\b",
    ),
    _language(
        "diff",
        "Diff",
        "pygments.lexers.diff.DiffLexer",
        types="x-diff x-patch",
        endings="diff patch",
        start_pattern=rb"diff --git |--- [^\r\n]+\r?\n\+\+\+ ",
    ),
    _language(
        "csv", "CSV", "app.core.bodies.formats.csv_lexer.CsvLexer", types="csv tab-separated-values", endings="csv tsv"
    ),
)

_BY_ENDING = {
    ending: f"text/{min(kind.partition('/')[2] for kind in each.types)}"
    for each in LANGUAGES
    for ending in each.endings
}
# Not the system's table: a body must look the same on every computer.
_TYPES = mimetypes.MimeTypes(filenames=())


def type_of(media_type: str, file_name: str | None) -> str:
    """The declared type of a part, or if that is generic, the type for the ending of its file name."""
    if media_type not in GENERIC_TEXT or not file_name:
        return media_type
    ending = PurePosixPath(file_name[-200:]).suffix[1:].lower()
    return _BY_ENDING.get(ending) or _TYPES.guess_type(f"x.{ending}")[0] or media_type
