"""A Pygments lexer for CSV, which Pygments does not have. Its own module, so that Pygments is imported only when
needed.
"""

from __future__ import annotations

from pygments.lexer import RegexLexer
from pygments.token import Number, Punctuation, String, Text


class CsvLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Quoted values, numbers and separators; everything else is text."""

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
