"""A button that indents the JSON in a text field."""

from __future__ import annotations

import re

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.core.bodies.formats.json import indented
from app.ui.tasks import Tasks, in_thread
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.text_fields import raw_text

_NOT_BLANK = re.compile(r"\S")


class FormatJsonButton(Button):
    """Its owner shows it while the text `is_json`. `failed` carries why the text cannot be indented."""

    failed = Signal(str)

    def __init__(self, edit: QPlainTextEdit, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__("Format JSON", theme, parent, kind="ghost")
        self.setProperty("compact", True)
        self._edit, self._tasks = edit, tasks
        self.clicked.connect(self._start)

    def is_json(self) -> bool:
        """Whether the text begins as an object or a list does; any other value would stay as it is."""
        return raw_text(self._edit).lstrip()[:1] in ("{", "[")

    @Slot()
    def _start(self) -> None:
        self._tasks.start(self._format(), "format JSON", self)

    async def _format(self) -> None:
        """One step for Undo. What is typed meanwhile stays."""
        text = raw_text(self._edit)
        before = QTextCursor(self._edit.document())
        before.setPosition(self._edit.textCursor().position(), QTextCursor.MoveMode.KeepAnchor)
        result, caret, problem = await in_thread(_indented, text, before.selectedText())
        if raw_text(self._edit) != text:
            return
        if problem is not None:
            self.failed.emit(problem)
        elif result != text:
            cursor = QTextCursor(self._edit.document())
            cursor.select(QTextCursor.SelectionType.Document)
            cursor.insertText(result)
            cursor.setPosition(caret)
            self._edit.setTextCursor(cursor)


def _indented(text: str, before: str) -> tuple[str, int, str | None]:
    """The text, where the caret goes that had `before` before it, and what is wrong: only blanks are put in or left
    out, so that it stays behind the same character. Qt counts the caret's place in UTF-16.
    """
    result, problem = indented(text)
    place = 0
    for _, found in zip(_NOT_BLANK.findall(before), _NOT_BLANK.finditer(result), strict=False):
        place = found.end()
    return result, len(result[:place].encode("utf-16-le", "surrogatepass")) // 2, problem
