"""Decodes the value at the text cursor of a body, and shows it in a panel below the body."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QHelpEvent, QKeySequence, QTextCursor
from PySide6.QtWidgets import QAbstractItemView, QFrame, QMenu, QSplitter, QToolTip, QWidget
from shiboken6 import isValid

from app.core.bodies.escape import escape
from app.core.bodies.formats import json, text
from app.core.bodies.formatter import Content, Line, written
from app.core.bodies.values import DECODED_MAX, Value, decode, may_decode, time_words, value_at
from app.ui.commands.command import add_view_action
from app.ui.inspector.body.code_view import CodeView
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import ElidedLabel, label, plain_tooltip, show_or_hide
from app.ui.widgets.layout import hbox, vbox
from app.ui.widgets.marked_text import characters
from app.ui.widgets.notices import Toast

HEIGHT = 220
"""Initial height in pixels."""
KEY = "Ctrl+E"
NOTHING = "Nothing to decode in this value."


class DecodedValue(NamedTuple):
    """One step of the history: `text` is what is copied."""

    title: str
    remark: str
    text: str
    lines: list[Line]


class ValuePanel(QFrame):
    """`show_value` shows a value or its decoded form, in which values can be decoded in turn.

    `closed`: the user closed it; `plain`: there was nothing to decode.
    """

    closed = Signal()
    plain = Signal()

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._latest = Latest(self, tasks, "value: decode")
        self._levels: list[DecodedValue] = []
        self.title = ElidedLabel("", "strong", self)
        self.remark = label("", "small", self, wrap=True)
        self.remark.setContentsMargins(metrics.SPACE_4, 0, metrics.SPACE_3, metrics.SPACE_1)
        self.back = Button("Back", theme, self, kind="link", run=self._go_back)
        self.copy = IconButton("copy", "Copy this value", theme, self, run=self._copy)
        self.close_button = IconButton("close", "Close (Esc)", theme, self, run=self.close_panel)
        self.code = CodeView(theme, self, "Value")
        self.setFocusProxy(self.code)
        row = hbox(
            self.back,
            (self.title, 1),
            self.copy,
            self.close_button,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_4, metrics.SPACE_1, metrics.SPACE_3, metrics.SPACE_1),
        )
        vbox(row, self.remark, (self.code, 1), inside=self, spacing=0, margins=0)
        self.hide()  # Hidden until there is something to show.

    @property
    def level(self) -> int:
        """The number of values from the first to the one shown; 0 if empty."""
        return len(self._levels)

    def show_value(self, value: Value, *, decoded: bool, inner: bool) -> None:
        """As it is, or `decoded`; `inner`: it is part of the value shown now, to which *Back* returns."""
        self._latest.run(partial(self._add, value, decoded, inner))

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

    async def _add(self, value: Value, decoded: bool, inner: bool) -> None:
        found = await in_thread(_decoded if decoded else _whole, value)
        if found is None:
            self.plain.emit()
            return
        if not inner:
            self._levels = []
        self._levels.append(found)
        self._show()

    @Slot()
    def _go_back(self) -> None:
        del self._levels[-1]
        self._show()

    def _show(self) -> None:
        level = self._levels[-1]
        self.title.setText(level.title)
        show_or_hide(self.remark, level.remark)
        self.back.setVisible(len(self._levels) > 1)
        self.code.set_lines(level.lines)
        self.setAccessibleName(level.title)
        self.show()

    @Slot()
    def _copy(self) -> None:
        if self._levels:
            QGuiApplication.clipboard().setText(self._levels[-1].text)


def _whole(value: Value) -> DecodedValue:
    return DecodedValue(escape(value.name[:200]) or "Value", "", value.text, _text_lines(value.text))


def _decoded(value: Value) -> DecodedValue | None:
    found = decode(value.text)
    if found is None:
        return None
    name = f"{escape(value.name[:200])}, decoded" if value.name else "Decoded"
    lines = written(json.write, Content(found.text)).take() if found.is_json else _text_lines(found.text)
    return DecodedValue(f"{name} from {found.source}", found.note, found.text, lines)


def _text_lines(value: str) -> list[Line]:
    return written(text.write, Content(value[:DECODED_MAX])).take()


class CellValues(QObject):
    """Actions that show the `current` value of a table, or what it decodes to. `requested` carries the value, the
    table, and whether to decode it.
    """

    requested = Signal(object, object, bool)

    def __init__(self, view: QAbstractItemView, current: Callable[[], Value | None]) -> None:
        super().__init__(view)
        self._view, self._current = view, current
        self.show_action = add_view_action(view, "Show value", self.show)
        self.decode_action = add_view_action(view, "Decode value", self.decode, KEY)

    @Slot()
    def show(self) -> None:
        """Show the current value in full."""
        self._request(decoded=False)

    @Slot()
    def decode(self) -> None:
        """Show what the current value decodes to."""
        self._request(decoded=True)

    def _request(self, *, decoded: bool) -> None:
        value = self._current()
        if value is not None:
            self.requested.emit(value, self._view, decoded)


class ValueDecoder(QObject):
    """Adds *Decode value* to the menu of `code`, with its key. The result is shown at the bottom of `split`.

    The panel is created when first needed.
    """

    def __init__(self, code: CodeView, split: QSplitter, theme: Theme, tasks: Tasks, toast: Toast) -> None:
        super().__init__(split)
        self._split, self.theme, self._tasks, self._toast = split, theme, tasks, toast
        self.panel: ValuePanel | None = None
        """None until a value was shown."""
        self._origin: QWidget = code
        self._watch(code)

    def forget(self) -> None:
        if self.panel is not None:
            self.panel.clear()

    @Slot(object, object, bool)
    def show_value(self, value: Value, origin: QWidget, decoded: bool, *, inner: bool = False) -> None:
        """Show a value in full, or what it decodes to; closing the panel returns the focus to `origin`."""
        self._origin = origin
        self._toast.take_back(NOTHING)
        self._ensure_panel().show_value(value, decoded=decoded, inner=inner)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A tooltip on a number that is a time."""
        code = watched.parent()
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent) and isinstance(code, CodeView):
            cursor = code.cursorForPosition(event.pos())
            words = (
                _time_at(code, cursor) if code.cursorRect(cursor).adjusted(-12, 0, 12, 0).contains(event.pos()) else ""
            )
            QToolTip.showText(event.globalPos(), plain_tooltip(words), code)
            return bool(words)
        return super().eventFilter(watched, event)

    def _watch(self, code: CodeView) -> None:
        add_view_action(code, "Decode value", self._decode_current, KEY)
        code.menu_opening.connect(self._add_to_menu)
        code.viewport().installEventFilter(self)

    def _ensure_panel(self) -> ValuePanel:
        if self.panel is None:
            self.panel = ValuePanel(self.theme, self._tasks, self._split)
            self._split.addWidget(self.panel)
            self._split.setCollapsible(1, False)
            self._split.setSizes([max(HEIGHT, self._split.height() - HEIGHT), HEIGHT])
            self._split.setStretchFactor(0, 1)
            self.panel.plain.connect(self._report_plain)
            self.panel.closed.connect(self._return_focus)
            close = add_view_action(self.panel, "Close", self.panel.close_panel, "Esc")
            close.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            self._watch(self.panel.code)
        return self.panel

    @Slot()
    def _decode_current(self) -> None:
        action = self.sender()
        code = action.parent() if action is not None else None
        if isinstance(code, CodeView):
            self._decode(code, code.textCursor())

    @Slot(object, object, object)
    def _add_to_menu(self, code: CodeView, menu: QMenu, cursor: QTextCursor) -> None:
        value = _value(code, cursor)
        action = QAction("Decode value", menu)
        action.setShortcut(QKeySequence(KEY))
        action.setEnabled(value is not None and may_decode(value.text))
        action.triggered.connect(partial(self._decode, code, cursor))
        first = menu.actions()[0]
        menu.insertAction(first, action)
        menu.insertSeparator(first)

    def _decode(self, code: CodeView, cursor: QTextCursor, checked: bool = False) -> None:
        value = _value(code, cursor)
        inner = self.panel is not None and code is self.panel.code
        if value is None:
            self._report_plain()
        else:
            self.show_value(value, self._origin if inner else code, True, inner=inner)

    @Slot()
    def _report_plain(self) -> None:
        self._toast.say(NOTHING)

    @Slot()
    def _return_focus(self) -> None:
        if isValid(self._origin):
            self._origin.setFocus()


def _value(code: CodeView, cursor: QTextCursor) -> Value | None:
    """The selection at the cursor, or the value around it."""
    selected = code.textCursor()
    if selected.hasSelection() and selected.selectionStart() <= cursor.position() <= selected.selectionEnd():
        return Value(code.createMimeDataFromSelection().text().strip().strip('"'), "", False)
    return _at(code, cursor)


def _at(code: CodeView, cursor: QTextCursor) -> Value | None:
    block = cursor.block()
    line = code.rows.line_of(block.blockNumber())
    column = characters(block.text(), cursor.positionInBlock())
    if code.folds.is_folded(line) and column > len(code.rows.lines[line].text):
        return None  # The cursor is on the label of folded lines.
    return value_at(code.rows.lines, line, column)


def _time_at(code: CodeView, cursor: QTextCursor) -> str:
    number = code.rows.line_of(cursor.blockNumber())
    if any(line.folded for line in code.rows.lines[number : number + 2]):
        return ""  # Too long to search whenever the pointer moves.
    value = _at(code, cursor)
    return time_words(value.text, value.name, quoted=value.quoted) if value is not None else ""
