"""The last lines that the tunnel program wrote."""

from __future__ import annotations

from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QStackedLayout, QVBoxLayout, QWidget

from app.core.text import count_of
from app.core.tunnel.tunnel import Tunnel
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.card import line
from app.ui.widgets.copy_field import CopyButton
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.labels import ElidedLabel

NOTHING = "What the tunnel program writes is shown here while it runs, and after it ended."


class OutputView(QWidget):
    """Follows its end, unless the user has scrolled up; a selection stays while lines are added."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._lines: tuple[str, ...] = ()
        self.text = QPlainTextEdit(self)
        self.text.setProperty("part", "code")
        self.text.setReadOnly(True)
        self.text.setFont(mono_font())
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName("Output of the tunnel program")
        self.text.setUndoRedoEnabled(False)
        self.caption = ElidedLabel("", "small", self)
        self.copy = CopyButton("", "output", theme, self)
        empty = EmptyState("terminal", "No output yet", NOTHING, theme, self)
        top = QHBoxLayout()
        top.setContentsMargins(metrics.SPACE_4, metrics.SPACE_1, metrics.SPACE_3, metrics.SPACE_1)
        top.addWidget(self.caption, 1)
        top.addWidget(self.copy)
        inside = QVBoxLayout()
        margin = int(self.text.document().documentMargin())
        inside.setContentsMargins(metrics.SPACE_4 - margin, metrics.SPACE_2, 0, metrics.SPACE_2)
        inside.addWidget(self.text)
        shown = QWidget(self)
        column = QVBoxLayout(shown)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(top)
        column.addWidget(line(shown))
        column.addLayout(inside, 1)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(empty)
        self._stack.addWidget(shown)

    def show_tunnel(self, tunnel: Tunnel, program: str) -> None:
        """`program` is the name of the tunnel's."""
        if tunnel.output != self._lines:
            self._show_lines(tunnel.output)
        self._stack.setCurrentIndex(1 if self._lines else 0)
        self.caption.setText(f"The last {count_of(len(self._lines), 'line')} of {program}")

    def _show_lines(self, lines: tuple[str, ...]) -> None:
        bar = self.text.verticalScrollBar()
        at_end = bar.value() == bar.maximum()
        kept = len(self._lines)
        if kept and lines[:kept] == self._lines:
            cursor = QTextCursor(self.text.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText("".join(f"\n{text}" for text in lines[kept:]))
        else:
            self.text.setPlainText("\n".join(lines))
        self._lines = lines
        self.copy.text_to_copy = "\n".join(lines)
        if at_end:
            bar.setValue(bar.maximum())
