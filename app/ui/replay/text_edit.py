"""A plain editor that looks as the text of bodies does, and colours JSON or another language."""

from __future__ import annotations

import re

from PySide6.QtCore import Slot
from PySide6.QtGui import QColor, QSyntaxHighlighter, QTextCharFormat, QTextDocument
from PySide6.QtWidgets import QWidget

from app.ui.inspector.body.code_rows import utf16
from app.ui.inspector.body.text_style import TextSize
from app.ui.theme.theme import Theme
from app.ui.widgets.text_fields import LINE_MAX, WrappedEdit, raw_text

_COLOURED_MAX = 256 * 1024
"""Characters; colouring more would delay typing."""
JSON = re.compile(
    r'(?P<code_key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<code_string>"(?:[^"\\]|\\.)*")'
    r"|(?P<code_number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)|(?P<code_literal>\b(?:true|false|null)\b)"
    r"|(?P<code_punctuation>[{}\[\]:,])"
)


class _Highlighter(QSyntaxHighlighter):
    """Colours what `coloured` finds, by the names of its groups, line by line: a JSON string has no line breaks."""

    def __init__(self, document: QTextDocument, coloured: re.Pattern[str], theme: Theme) -> None:
        super().__init__(document)
        self._coloured, self._theme = coloured, theme
        self.first_line: int | None = None
        """Where that begins; None without any."""
        theme.changed.connect(self.rehighlight)

    def highlightBlock(self, text: str) -> None:
        if self.first_line is None or self.currentBlock().blockNumber() < self.first_line or len(text) > LINE_MAX:
            return
        start = end = 0
        for found in self._coloured.finditer(text):
            style = QTextCharFormat()
            style.setForeground(QColor(getattr(self._theme.tokens, found.lastgroup or "text")))
            start, end = start + utf16(text[end : found.start()]), found.end()
            self.setFormat(start, length := utf16(found[0]), style)
            start += length


class TextEdit(WrappedEdit):
    """Tab moves the focus on. The groups of `coloured` are named like the tokens of their colours."""

    def __init__(
        self, name: str, theme: Theme, parent: QWidget, *, read_only: bool = False, coloured: re.Pattern[str] = JSON
    ) -> None:
        super().__init__(parent)
        self._body_text = theme.body_text
        self.setAccessibleName(name)
        self.setTabChangesFocus(True)
        self.setReadOnly(read_only)
        self._highlighter = _Highlighter(self.document(), coloured, theme)
        self._text_size = TextSize(self, theme.body_text, self.setFont)
        theme.body_text.changed.connect(self._follow_wrap)
        self._follow_wrap()

    def show_text(self, text: str, *, coloured_from: int | None = None) -> None:
        """It is coloured from this line on (None: not at all)."""
        self._highlighter.first_line = coloured_from if len(text) <= _COLOURED_MAX else None
        self.setPlainText(text)

    def text(self) -> str:
        return raw_text(self)

    @Slot()
    def _follow_wrap(self) -> None:
        self.set_wrap(self._body_text.wrap)
