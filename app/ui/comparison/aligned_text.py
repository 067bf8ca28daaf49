"""Two texts side by side with their lines aligned, scrolled together, and what differs marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QColor, QContextMenuEvent, QResizeEvent, QTextCharFormat, QTextCursor, QTextFormat
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QTextEdit, QWidget

from app.core.bodies.escape import escape
from app.core.comparison.side_by_side import AlignedRow, RowKind
from app.ui.inspector.body.code.text_style import TextSize
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.card import line
from app.ui.widgets.layout import hbox

MARKS = (
    {RowKind.CHANGED: "-", RowKind.FIRST: "-", RowKind.IGNORED: "~"},
    {RowKind.CHANGED: "+", RowKind.SECOND: "+", RowKind.IGNORED: "~"},
)
"""What begins a line of the first and of the second text."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*$")
_INDEX = re.compile(r"\[[0-9]+\]")
SHOWN_MAX = 60


def add_ignore_actions(menu: QMenu, path: str, ignore: Callable[[str], object]) -> None:
    """An entry for the JSON value of this path, one for it in all items of the array, one for its name anywhere."""
    if not path or path == "$":
        return
    menu.addSeparator()
    name = _NAME.search(path)
    paths = [path, _INDEX.sub("[*]", path), *([f"$..{name[0]}"] if name else [])]
    for one in dict.fromkeys(paths):
        shown = one if len(one) <= SHOWN_MAX else f"{one[:SHOWN_MAX]}…"
        where = " anywhere" if one.startswith("$..") else ""
        action = menu.addAction(f"Ignore this field{where}: {escape(shown)}".replace("&", "&&"))
        action.triggered.connect(partial(ignore, one))


def row_colours(kind: RowKind, side: int, tokens: Tokens) -> tuple[str | None, str]:
    """The background (None: the usual one) and the text colour of a row on one side."""
    if kind is RowKind.SAME:
        return None, tokens.text
    if kind is RowKind.IGNORED:
        return None, tokens.text_faint
    if kind in (RowKind.FIRST, RowKind.SECOND) and (kind is RowKind.FIRST) == bool(side):
        return tokens.hover, tokens.text_muted  # nothing on this side
    return (tokens.success_soft, tokens.success) if side else (tokens.danger_soft, tokens.danger)


class AlignedText(QWidget):
    """`ignore_requested` carries a JSON path."""

    ignore_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: Sequence[AlignedRow] = ()
        self.sides = (_Side(0, theme, self), _Side(1, theme, self))
        hbox((self.sides[0], 1), line(self, vertical=True), (self.sides[1], 1), inside=self, spacing=0, margins=0)
        for side, other in (self.sides, reversed(self.sides)):
            side.verticalScrollBar().valueChanged.connect(other.verticalScrollBar().setValue)
            side.horizontalScrollBar().valueChanged.connect(other.horizontalScrollBar().setValue)
            side.horizontalScrollBar().rangeChanged.connect(self._fit_scroll_bars)
            side.ignore_requested.connect(self.ignore_requested)
        self.sides[0].setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        theme.changed.connect(self._recolour)

    def show_rows(self, rows: Sequence[AlignedRow], *, keep_place: bool = False) -> None:
        """Show these lines, scrolled to the first difference unless the place is to be kept."""
        place, current = self.sides[0].verticalScrollBar().value(), self._focused().textCursor().blockNumber()
        self._rows = rows
        for side in self.sides:
            side.show_rows(rows)
        if keep_place:
            for side in self.sides:
                side.setTextCursor(QTextCursor(side.document().findBlockByNumber(min(current, len(rows) - 1))))
            self.sides[0].verticalScrollBar().setValue(place)
        else:
            self.go_to_difference(1, from_start=True)

    def differences(self) -> list[int]:
        """The first lines of adjacent ones that differ."""
        rows = self._rows
        return [
            number
            for number, row in enumerate(rows)
            if row.kind.differs and not (number and rows[number - 1].kind.differs)
        ]

    def go_to_difference(self, by: int, *, from_start: bool = False) -> None:
        """Scroll to the next (1) or previous (-1) difference, wrapping around."""
        places = self.differences()
        if not places:
            return
        current = -1 if from_start else self._focused().textCursor().blockNumber()
        if by > 0:
            place = next((place for place in places if place > current), places[0])
        else:
            place = next((place for place in reversed(places) if place < current), places[-1])
        for side in self.sides:
            side.go_to(place)

    def _focused(self) -> _Side:
        return self.sides[1] if self.sides[1].hasFocus() else self.sides[0]

    @Slot()
    def _fit_scroll_bars(self) -> None:
        """Both have a horizontal scroll bar, or none: with different heights their lines would part at the end."""
        needed = any(side.horizontalScrollBar().maximum() for side in self.sides)
        policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOn if needed else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        for side in self.sides:
            side.setHorizontalScrollBarPolicy(policy)

    @Slot()
    def _recolour(self) -> None:
        for side in self.sides:
            side.colour()


class _Side(QPlainTextEdit):
    """Read-only. Lines are not wrapped: they would not stay beside each other."""

    ignore_requested = Signal(str)

    def __init__(self, number: int, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._number, self._theme = number, theme
        self._rows: Sequence[AlignedRow] = ()
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setProperty("frameless", True)
        self.setProperty("part", "code")
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setTabChangesFocus(True)
        self.setAccessibleName(f"Body of the {('first', 'second')[number]} response")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalScrollBar().valueChanged.connect(self.colour)
        TextSize(self, theme.body_text, self.setFont)

    def show_rows(self, rows: Sequence[AlignedRow]) -> None:
        self._rows = rows
        self.setPlainText("\n".join(self._line(row) for row in rows))
        self.colour()

    def go_to(self, number: int) -> None:
        """Put the cursor on this line, with two lines above it."""
        self.setTextCursor(QTextCursor(self.document().findBlockByNumber(number)))
        self.verticalScrollBar().setValue(max(0, number - 2))
        self.horizontalScrollBar().setValue(0)

    @Slot()
    def colour(self) -> None:
        """Colour the visible lines: thousands at once would take the GUI thread too long."""
        selections: list[QTextEdit.ExtraSelection] = []
        block = self.firstVisibleBlock()
        last = block.blockNumber() + self.viewport().height() // max(1, self.fontMetrics().height()) + 1
        while block.isValid() and block.blockNumber() <= last and block.blockNumber() < len(self._rows):
            row = self._rows[block.blockNumber()]
            if row.kind is not RowKind.SAME:
                selections.append(self._selection(row, QTextCursor(block)))
            block = block.next()
        self.setExtraSelections(selections)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.colour()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer to ignore the value in the line."""
        if event.reason() == QContextMenuEvent.Reason.Mouse and not self.textCursor().hasSelection():
            self.setTextCursor(self.cursorForPosition(event.pos()))
        number = self.textCursor().blockNumber()
        menu = self.createStandardContextMenu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if number < len(self._rows) and self._rows[number].kind.differs:
            add_ignore_actions(menu, self._rows[number].field, self.ignore_requested.emit)
        menu.popup(event.globalPos())

    def _line(self, row: AlignedRow) -> str:
        text = row.second if self._number else row.first
        return f"{MARKS[self._number].get(row.kind, ' ')} {text}" if text is not None else ""

    def _selection(self, row: AlignedRow, cursor: QTextCursor) -> QTextEdit.ExtraSelection:
        background, colour = row_colours(row.kind, self._number, self._theme.tokens)
        look = QTextCharFormat()
        look.setProperty(QTextFormat.Property.FullWidthSelection, True)
        if background is not None:
            look.setBackground(QColor(background))
        look.setForeground(QColor(colour))
        selection = QTextEdit.ExtraSelection()
        selection.cursor, selection.format = cursor, look
        return selection
