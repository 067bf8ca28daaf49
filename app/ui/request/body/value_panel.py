"""A value shown below a body, in full or decoded; copying and searching the body do not include it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.core.bodies.embedded_values import DECODED_MAX, Embedded, decode
from app.core.bodies.escape import escape
from app.core.bodies.formats.json import JsonFormatter
from app.core.bodies.formats.text import TextFormatter
from app.core.bodies.lines import Line
from app.core.bodies.value_at_cursor import Value
from app.ui.latest_only import Latest
from app.ui.request.body.code.code_view import CodeView
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import ElidedLabel, label

HEIGHT = 220
"""Initial height in pixels."""
_STEP = 5_000


class Shown(NamedTuple):
    """One step of the history: `text` is what is copied."""

    title: str
    note: str
    text: str
    lines: list[Line]


class ValuePanel(QFrame):
    """`show_text` shows a value, `show_decoded` its decoded form, in which values can be decoded in turn.

    `closed`: the user closed it; `plain`: there was nothing to decode.
    """

    closed = Signal()
    plain = Signal()

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._latest = Latest(tasks, "value: decode")
        self._levels: list[Shown] = []
        self.title = ElidedLabel("", "strong", self)
        self.note = label("", "small", self, wrap=True)
        self.note.setContentsMargins(metrics.SPACE_4, 0, metrics.SPACE_3, metrics.SPACE_1)
        self.back = Button("Back", theme, self, kind="link")
        self.copy = IconButton("copy", "Copy this value", theme, self)
        self.close_button = IconButton("close", "Close (Esc)", theme, self)
        self.code = CodeView(theme, self)
        self.code.setAccessibleName("Value")
        self.setFocusProxy(self.code)
        row = QHBoxLayout()
        row.setContentsMargins(metrics.SPACE_4, metrics.SPACE_1, metrics.SPACE_3, metrics.SPACE_1)
        row.setSpacing(metrics.SPACE_2)
        row.addWidget(self.back)
        row.addWidget(self.title, 1)
        row.addWidget(self.copy)
        row.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(row)
        column.addWidget(self.note)
        column.addWidget(self.code, 1)
        self.back.clicked.connect(self._go_back)
        self.copy.clicked.connect(self._copy)
        self.close_button.clicked.connect(self.close_panel)
        self.hide()  # Hidden until there is something to show.

    @property
    def level(self) -> int:
        """The number of values from the first to the one shown; 0 if empty."""
        return len(self._levels)

    def show_text(self, value: Value) -> None:
        """Show a value as it is."""
        self._levels = []
        self._latest.run(partial(self._add_text, value))

    def show_decoded(self, value: Value, *, inner: bool = False) -> None:
        """Show the decoded value; `inner`: it is part of the value shown now, to which *Back* returns."""
        self._latest.run(partial(self._add_decoded, value, inner))

    def clear(self) -> None:
        """Show nothing, and cancel decoding."""
        self._latest.stop()
        self._levels = []
        self.code.set_lines([])
        self.hide()

    @Slot()
    def close_panel(self) -> None:
        self.clear()
        self.closed.emit()

    async def _add_text(self, value: Value) -> None:
        lines = await asyncio.get_running_loop().run_in_executor(None, _text_lines, value.text)
        if not self._latest.superseded:
            self._push(Shown(escape(value.name[:200]) or "Value", "", value.text, lines))

    async def _add_decoded(self, value: Value, inner: bool) -> None:
        found = await asyncio.get_running_loop().run_in_executor(None, _decoded, value)
        if self._latest.superseded:
            return
        if found is None:
            self.plain.emit()
            return
        if not inner:
            self._levels = []
        self._push(found)

    def _push(self, shown: Shown) -> None:
        self._levels.append(shown)
        self._show()

    @Slot()
    def _go_back(self) -> None:
        del self._levels[-1]
        self._show()

    def _show(self) -> None:
        shown = self._levels[-1]
        self.title.setText(shown.title)
        self.note.setText(shown.note)
        self.note.setVisible(bool(shown.note))
        self.back.setVisible(len(self._levels) > 1)
        self.code.set_lines(shown.lines)
        self.setAccessibleName(shown.title)
        self.show()

    @Slot()
    def _copy(self) -> None:
        if self._levels:
            QGuiApplication.clipboard().setText(self._levels[-1].text)


def _decoded(value: Value) -> Shown | None:
    found = decode(value.text)
    if found is None:
        return None
    name = f"{escape(value.name[:200])}, decoded" if value.name else "Decoded"
    return Shown(f"{name} from {found.source}", found.note, found.text, _lines(found))


def _lines(found: Embedded) -> list[Line]:
    if not found.is_json:
        return _text_lines(found.text)
    formatter = JsonFormatter()
    formatter.feed(found.text, True)
    return _taken(formatter)


def _text_lines(text: str) -> list[Line]:
    formatter = TextFormatter()
    formatter.feed(text[:DECODED_MAX], True)
    return _taken(formatter)


def _taken(formatter: JsonFormatter | TextFormatter) -> list[Line]:
    lines: list[Line] = []
    while not formatter.needs_input:
        lines += formatter.next_lines(_STEP)
    return lines
