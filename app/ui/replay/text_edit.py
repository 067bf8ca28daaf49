"""A plain editor with the font, size and wrapping of bodies, which colours JSON."""

from __future__ import annotations

import re

from PySide6.QtCore import Slot
from PySide6.QtGui import QColor, QSyntaxHighlighter, QTextCharFormat, QTextDocument, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.ui.inspector.body.code.text_style import TextSize
from app.ui.theme.theme import Theme
from app.ui.widgets.text_fields import raw_text

_COLOURED_MAX = 256 * 1024
"""Characters; colouring more would delay typing."""
_TOKEN = re.compile(
    r'(?P<code_key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<code_string>"(?:[^"\\]|\\.)*")'
    r"|(?P<code_number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)|(?P<code_literal>\b(?:true|false|null)\b)"
    r"|(?P<code_punctuation>[{}\[\]:,])"
)


class JsonHighlighter(QSyntaxHighlighter):
    """Line by line: a JSON string has no line breaks."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._theme = theme
        self.first_line: int | None = None
        """Where the JSON begins; None without any."""
        theme.changed.connect(self.rehighlight)

    def highlightBlock(self, text: str) -> None:
        if self.first_line is None or self.currentBlock().blockNumber() < self.first_line:
            return
        for found in _TOKEN.finditer(text):
            style = QTextCharFormat()
            style.setForeground(QColor(getattr(self._theme.tokens, found.lastgroup or "text")))
            start = len(text[: found.start()].encode("utf-16-le")) // 2
            self.setFormat(start, len(found[0].encode("utf-16-le")) // 2, style)


class TextEdit(QPlainTextEdit):
    """Tab moves the focus on."""

    def __init__(self, name: str, theme: Theme, parent: QWidget, *, read_only: bool = False) -> None:
        super().__init__(parent)
        self._body_text = theme.body_text
        self.setAccessibleName(name)
        self.setTabChangesFocus(True)
        self.setReadOnly(read_only)
        self._highlighter = JsonHighlighter(self.document(), theme)
        self._text_size = TextSize(self, theme.body_text, self.setFont)
        theme.body_text.changed.connect(self._set_wrap)
        self._set_wrap()

    def show_text(self, text: str, *, json_from: int | None = None) -> None:
        """JSON is coloured, from this line on (None: there is none)."""
        self._highlighter.first_line = json_from if len(text) <= _COLOURED_MAX else None
        self.setPlainText(text)

    def text(self) -> str:
        return raw_text(self)

    @Slot()
    def _set_wrap(self) -> None:
        anywhere, none = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere, QTextOption.WrapMode.NoWrap
        self.setWordWrapMode(anywhere if self._body_text.wrap else none)
