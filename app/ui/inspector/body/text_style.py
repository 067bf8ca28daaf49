"""Text that is only read, and how all bodies look: the colours of their text; its size and line wrapping, applied to a
view, and changed by wheel or button.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QColor, QFont, QTextCharFormat, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QPlainTextEdit, QWidget

from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import BodyTextStyle, Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.buttons import IconButton

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
