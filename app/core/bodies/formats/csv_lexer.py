"""Values separated by commas, semicolons or tabs, for which Pygments has no lexer of its own."""

from __future__ import annotations

from pygments.lexer import RegexLexer
from pygments.token import Number, Punctuation, String, Text


class CsvLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Quoted values, numbers, separators; all else is text."""

    name = "CSV"
    tokens = {
        "root": [
            (r'"(?:[^"]|"")*"?', String),
            (r"[,;\t]", Punctuation),
            (r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?=[,;\t\r\n]|\Z)", Number),
            (r'[^,;\t\r\n"]+', Text),
            (r"[\r\n]+", Text),
        ]
    }
