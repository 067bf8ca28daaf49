"""How the text of bodies looks, where it is read and where it is edited: its colours, its size and its line wrapping,
which wheel and button change.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QColor, QFont, QSyntaxHighlighter, QTextCharFormat, QTextDocument, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QPlainTextEdit, QWidget

from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import BodyTextStyle, Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.marked_text import utf16
from app.ui.widgets.text_fields import LINE_MAX, WrappedEdit, raw_text

CODE_KINDS = ("key", "string", "number", "literal", "punctuation")


class ReadOnlyText(QPlainTextEdit):
    """Selected also with the keyboard. Tab leaves it, as it does whatever cannot be edited."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, readOnly=True, undoRedoEnabled=False)
        self.setProperty("frameless", True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )


def code_formats(tokens: Tokens) -> dict[str, QTextCharFormat]:
    """How each kind of a line's spans looks, and the label of `folded` lines."""
    colours = {kind: (getattr(tokens, f"code_{kind}"), None) for kind in CODE_KINDS}
    marked = {"control": (tokens.warning, tokens.warning_soft), "folded": (tokens.text_muted, tokens.pressed)}
    formats = {}
    for kind, (text, ground) in (colours | marked).items():
        formats[kind] = QTextCharFormat()
        formats[kind].setForeground(QColor(text))
        if ground is not None:
            formats[kind].setBackground(QColor(ground))
    return formats


class TextSize(QObject):
    """`changed` is called with the font, now and after each change, also one of the wrapping."""

    def __init__(self, view: QAbstractScrollArea, text: BodyTextStyle, changed: Callable[[QFont], None]) -> None:
        super().__init__(view)
        self._text, self._changed = text, changed
        view.viewport().installEventFilter(self)
        text.changed.connect(self._notify)
        self._notify()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Zoom with the wheel while Ctrl is held."""
        if isinstance(event, QWheelEvent) and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._text.zoom_by_wheel(event.angleDelta().y())
            return True
        return super().eventFilter(watched, event)

    def _notify(self) -> None:
        self._changed(mono_font(self._text.size))


class WrapButton(IconButton):
    """Checked while lines are wrapped."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("wrap", "Wrap long lines (Alt+Z)", theme, parent)
        self._body_text = theme.body_text
        self.setCheckable(True)
        self.clicked.connect(self._body_text.toggle_wrap)
        self._body_text.changed.connect(self._follow)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        self.setChecked(self._body_text.wrap)


_COLOURED_MAX = 256 * 1024
"""Characters; colouring more would delay typing."""
JSON = (
    r'(?P<code_key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<code_string>"(?:[^"\\]|\\.)*")'
    r"|(?P<code_number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)|(?P<code_literal>\b(?:true|false|null)\b)"
    r"|(?P<code_punctuation>[{}\[\]:,])"
)


class _Highlighter(QSyntaxHighlighter):
    """Colours what `coloured` finds, by the names of its groups, line by line: a JSON string has no line breaks."""

    def __init__(self, document: QTextDocument, coloured: str, theme: Theme) -> None:
        super().__init__(document)
        self._coloured, self._theme = re.compile(coloured), theme
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
    """A plain editor, which colours JSON, or what another expression finds: its groups are named like the tokens of
    their colours. Tab moves the focus on.
    """

    def __init__(
        self, name: str, theme: Theme, parent: QWidget, *, read_only: bool = False, coloured: str = JSON
    ) -> None:
        super().__init__(parent)
        self._body_text = theme.body_text
        self.setAccessibleName(name)
        self.setTabChangesFocus(True)
        self.setReadOnly(read_only)
        self._highlighter = _Highlighter(self.document(), coloured, theme)
        self._text_size = TextSize(self, theme.body_text, self._set_font)

    def show_text(self, text: str, *, coloured_from: int | None = None) -> None:
        """It is coloured from this line on (None: not at all)."""
        self._highlighter.first_line = coloured_from if len(text) <= _COLOURED_MAX else None
        self.setPlainText(text)

    def text(self) -> str:
        return raw_text(self)

    def _set_font(self, font: QFont) -> None:
        """Apply the text size and line wrapping."""
        self.setFont(font)
        self.set_wrap(self._body_text.wrap)
