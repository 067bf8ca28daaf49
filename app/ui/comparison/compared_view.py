"""Headers and bodies of two responses, or of two requests, their lines side by side; and the dialog around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QKeySequence,
    QPainter,
    QPalette,
    QResizeEvent,
    QShortcut,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QMenu,
    QSplitter,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTextEdit,
    QWidget,
)

from app.core.bodies.escape import escape
from app.core.comparison import AlignedRow, ComparedMessage, RowKind, SideBySide
from app.core.text import count_of
from app.ui.commands.command import menu_of, menu_text
from app.ui.inspector.body.text_style import ReadOnlyText, TextSize
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.card import line
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.fit_screen import bounded
from app.ui.widgets.labels import label, show_or_hide
from app.ui.widgets.layout import hbox, vbox
from app.ui.widgets.rows import Column, Index, Rows, RowsView

HEADERS_ROWS = 4
"""At most so many rows of headers are shown until the user moves the divider."""
PART_TITLE, LOW = 36, 480
"""Pixels of the line above headers and body; a view less high than this leaves out headers that are the same."""
MARK, FIRST, SECOND = 0, 2, 3
_MARKS = {
    RowKind.SAME: ("", "Same"),
    RowKind.CHANGED: ("≠", "Different"),
    RowKind.FIRST: ("-", "Only in the first {}"),
    RowKind.SECOND: ("+", "Only in the second {}"),
    RowKind.IGNORED: ("~", "Ignored"),
}
"""The mark of a header and it in words, with the noun."""
_LINE_MARKS = (
    {RowKind.CHANGED: "-", RowKind.FIRST: "-", RowKind.IGNORED: "~"},
    {RowKind.CHANGED: "+", RowKind.SECOND: "+", RowKind.IGNORED: "~"},
)
"""What begins a line of the first and of the second text."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*$")
_INDEX = re.compile(r"\[[0-9]+\]")
_SHOWN_MAX = 60


def _mark_words(noun: str, row: AlignedRow) -> str:
    return _MARKS[row.kind][1].format(noun)


class HeadersDelegate(QStyledItemDelegate):
    """Colours the cells, and fills them itself: with a style sheet for items, Qt ignores their colour."""

    def __init__(self, rows: Rows[AlignedRow], theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows, self._theme = rows, theme

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.palette.setColor(QPalette.ColorRole.Text, QColor(self._colours(index)[1]))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        ground = self._colours(index)[0]
        if ground is not None and not option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, QColor(ground))
        super().paint(painter, option, index)

    def _colours(self, index: Index) -> tuple[str | None, str]:
        """As `_row_colours`."""
        kind, column, tokens = self._rows.record(index.row()).kind, index.column(), self._theme.tokens
        if column in (FIRST, SECOND):
            return _row_colours(kind, column - FIRST, tokens)
        usual = tokens.danger if column == MARK else tokens.text
        return None, usual if kind.differs else tokens.text_muted


class HeadersTable(RowsView):
    """`ignore_requested` carries a header's name. `noun` and `can_ignore` as in `ComparedView`."""

    ignore_requested = Signal(str)

    def __init__(self, noun: str, theme: Theme, parent: QWidget, *, can_ignore: bool) -> None:
        super().__init__(f"Headers of both {noun}s", parent)
        self._can_ignore = can_ignore
        mono, centre, words = mono_font(SMALL), Qt.AlignmentFlag.AlignCenter, partial(_mark_words, noun)
        mark: Column[AlignedRow] = Column(
            "", lambda row: _MARKS[row.kind][0], words, spoken=words, align=centre, width=36
        )
        columns = [
            mark,
            Column("Header", lambda row: escape(row.field), width=150),
            Column("First", lambda row: row.first or "", font=mono, stretches=True),
            Column("Second", lambda row: row.second or "", font=mono, stretches=True),
        ]
        self.rows = Rows(columns, self)
        self.horizontalHeader().setMinimumSectionSize(32)
        self.show_rows(self.rows, metrics.ROW_DENSE)
        self.setItemDelegate(HeadersDelegate(self.rows, theme, self))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.customContextMenuRequested.connect(self._show_menu)
        theme.changed.connect(self.viewport().update)

    def menu(self, row: int) -> QMenu | None:
        """The context menu of a header; None if there is nothing to ignore."""
        aligned = self.rows.record(row)
        if not (self._can_ignore and aligned.kind.differs):
            return None
        menu = menu_of(self)
        action = menu.addAction(menu_text(f"Ignore this field: {aligned.field[:60]}"))
        action.triggered.connect(partial(self.ignore_requested.emit, aligned.field))
        return menu

    @Slot(QPoint)
    def _show_menu(self, place: QPoint) -> None:
        index = self.currentIndex()
        if index.isValid() and (menu := self.menu(index.row())) is not None:
            menu.popup(self.menu_place(place))


def _different_first(row: AlignedRow) -> int:
    return 0 if row.kind.differs else 1 if row.kind is not RowKind.IGNORED else 2


class ComparedView(QWidget):
    """`above` is for what is said of each message. `noun` names in sentences what they are; `can_ignore`: menus offer
    to let a header or a value differ; titles begin `inset` pixels from the edge."""

    def __init__(
        self, noun: str, theme: Theme, parent: QWidget, *, can_ignore: bool, inset: int = metrics.SPACE_4
    ) -> None:
        super().__init__(parent)
        self._inset = inset
        self.above = vbox(spacing=0)
        self.headers = HeadersTable(noun, theme, self, can_ignore=can_ignore)
        self.headers_title = label("Headers", "strong", self)
        self.body = _AlignedText(noun, theme, self, can_ignore=can_ignore)
        self.body_title = label("Body", "strong", self)
        self.notes = label("", "muted", self, wrap=True)
        back, on = (partial(self.body.go_to_difference, by) for by in (-1, 1))
        self.previous = IconButton("up", "Previous difference in the body (Alt+Up)", theme, self, run=back)
        self.following = IconButton("down", "Next difference in the body (Alt+Down)", theme, self, run=on)
        for keys, button in (("Alt+Down", self.following), ("Alt+Up", self.previous)):
            QShortcut(QKeySequence(keys), self).activated.connect(button.click)
        self._moved = False
        """Whether the user has moved the divider."""
        self._lay_out()

    def show_messages(
        self, first: ComparedMessage, second: ComparedMessage, found: SideBySide, *, keep_place: bool
    ) -> None:
        """Show headers and bodies of both, and how many differences they have."""
        self.headers.rows.set_records(sorted(found.headers, key=_different_first))
        self._share_room()
        differing = sum(row.kind.differs for row in found.headers)
        ignored = any(row.kind is RowKind.IGNORED for row in found.headers)
        same = "same except ignored ones" if ignored else "same"
        self.headers_title.setText(f"Headers · {f'{differing} different' if differing else same}")
        self.body.show_rows(found.body, keep_place=keep_place)
        places = len(self.body.differences())
        words = count_of(places, "difference") if places else self._body_words(first, second, found)
        self.body_title.setText(f"Body · {words}")
        show_or_hide(self.notes, "\n".join(found.notes))
        for button in (self.previous, self.following):
            button.setEnabled(bool(places))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_room()

    def _share_room(self) -> None:
        """The headers have what they need, the body has the rest, until the user moves the divider."""
        if self._moved:
            return
        records = self.headers.rows.records()
        listed = [row for row in records if row.kind.differs] if self.height() < LOW else records
        rows = min(len(listed), HEADERS_ROWS)
        needed = PART_TITLE + (self.headers.horizontalHeader().height() + rows * metrics.ROW_DENSE + 2 if rows else 0)
        self.headers.setVisible(rows > 0)
        self._split.setSizes([needed, max(1, self._split.height() - needed)])

    @Slot()
    def _divider_moved(self) -> None:
        self._moved = True
        self.headers.show()

    @staticmethod
    def _body_words(first: ComparedMessage, second: ComparedMessage, found: SideBySide) -> str:
        if not first.body and not second.body:
            return "none"
        if found.body_differs:
            return "different"
        whole = first.complete and second.complete
        return "same" if whole and first.body == second.body else "no differences"

    def _lay_out(self) -> None:
        headers = self._part(self.headers_title, (), self.headers)
        headers.setMinimumHeight(PART_TITLE)
        self.headers.setMinimumHeight(1)
        self._split = QSplitter(Qt.Orientation.Vertical, self, childrenCollapsible=False, handleWidth=1)
        self._split.addWidget(headers)
        self._split.addWidget(self._part(self.body_title, (self.previous, self.following), self.body, self.notes))
        self._split.setStretchFactor(1, 1)
        self._split.splitterMoved.connect(self._divider_moved)
        vbox(self.above, line(self), (self._split, 1), inside=self, spacing=0)

    def _part(
        self, title: QWidget, buttons: Sequence[QWidget], content: QWidget, notes: QWidget | None = None
    ) -> QWidget:
        part = QWidget(self)
        part.setProperty("part", "surface")
        part.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        title.setMinimumHeight(PART_TITLE - 2 * metrics.SPACE_1)
        row = hbox(
            (title, 1),
            *buttons,
            spacing=0,
            margins=(self._inset, metrics.SPACE_1, metrics.SPACE_3, metrics.SPACE_1),
        )
        column = vbox(row, inside=part, spacing=0)
        if notes is not None:
            notes.setContentsMargins(self._inset, 0, self._inset, metrics.SPACE_2)
            column.addWidget(notes)
        column.addWidget(content, 1)
        part.setMinimumHeight(96)
        return part


def add_ignore_actions(menu: QMenu, path: str, ignore: Callable[[str], object]) -> None:
    """An entry for the JSON value of this path, one for it in all items of the array, one for its name anywhere."""
    if not path or path == "$":
        return
    menu.addSeparator()
    name = _NAME.search(path)
    paths = [path, _INDEX.sub("[*]", path), *([f"$..{name[0]}"] if name else [])]
    for one in dict.fromkeys(paths):
        shown = one if len(one) <= _SHOWN_MAX else f"{one[:_SHOWN_MAX]}…"
        where = " anywhere" if one.startswith("$..") else ""
        action = menu.addAction(menu_text(f"Ignore this field{where}: {shown}"))
        action.triggered.connect(partial(ignore, one))


def _row_colours(kind: RowKind, side: int, tokens: Tokens) -> tuple[str | None, str]:
    """The background (None: the usual one) and the text colour of a row on one side."""
    if kind is RowKind.SAME:
        return None, tokens.text
    if kind is RowKind.IGNORED:
        return None, tokens.text_faint
    if kind in (RowKind.FIRST, RowKind.SECOND) and (kind is RowKind.FIRST) == bool(side):
        return tokens.hover, tokens.text_muted  # nothing on this side
    return (tokens.success_soft, tokens.success) if side else (tokens.danger_soft, tokens.danger)


class _AlignedText(QWidget):
    """`ignore_requested` carries a JSON path."""

    ignore_requested = Signal(str)

    def __init__(self, noun: str, theme: Theme, parent: QWidget, *, can_ignore: bool) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: Sequence[AlignedRow] = ()
        first, second = (_Side(number, noun, theme, self, can_ignore=can_ignore) for number in (0, 1))
        self.sides = (first, second)
        hbox((self.sides[0], 1), line(self, vertical=True), (self.sides[1], 1), inside=self, spacing=0)
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


class _Side(ReadOnlyText):
    """Lines are not wrapped: they would not stay beside each other."""

    ignore_requested = Signal(str)

    def __init__(self, number: int, noun: str, theme: Theme, parent: QWidget, *, can_ignore: bool) -> None:
        super().__init__(parent)
        self._number, self._theme, self._can_ignore = number, theme, can_ignore
        self._rows: Sequence[AlignedRow] = ()
        self.setLineWrapMode(ReadOnlyText.LineWrapMode.NoWrap)
        self.setProperty("part", "code")
        self.setAccessibleName(f"Body of the {('first', 'second')[number]} {noun}")
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
        """Offer to ignore the value in the line, where that is possible."""
        if event.reason() == QContextMenuEvent.Reason.Mouse and not self.textCursor().hasSelection():
            self.setTextCursor(self.cursorForPosition(event.pos()))
        number = self.textCursor().blockNumber()
        menu = self.createStandardContextMenu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if self._can_ignore and number < len(self._rows) and self._rows[number].kind.differs:
            add_ignore_actions(menu, self._rows[number].field, self.ignore_requested.emit)
        menu.popup(event.globalPos())

    def _line(self, row: AlignedRow) -> str:
        text = row.second if self._number else row.first
        return f"{_LINE_MARKS[self._number].get(row.kind, ' ')} {text}" if text is not None else ""

    def _selection(self, row: AlignedRow, cursor: QTextCursor) -> QTextEdit.ExtraSelection:
        background, colour = _row_colours(row.kind, self._number, self._theme.tokens)
        look = QTextCharFormat()
        look.setProperty(QTextFormat.Property.FullWidthSelection, True)
        if background is not None:
            look.setBackground(QColor(background))
        look.setForeground(QColor(colour))
        selection = QTextEdit.ExtraSelection()
        selection.cursor, selection.format = cursor, look
        return selection


WIDTH, HEIGHT = 1240, 760
MARGINS = QSize(48, 48)
"""What is seen of the window around the dialog."""
LOW_DIALOG = 600
"""A dialog less high than this leaves its title to its frame."""


class SideBySideDialog(Dialog):
    """Stays open beside the window, as large as that: bodies are read side by side."""

    def __init__(self, title: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(title, theme, parent)
        self.setModal(False)
        self.setWindowFlag(Qt.WindowType.Window)
        self.body.setSpacing(0)

    def sizeHint(self) -> QSize:
        """The room of the window."""
        window = self.parentWidget()
        least = QSize(WIDTH, HEIGHT)
        return bounded(self, least if window is None else (window.window().size() - MARGINS).expandedTo(least))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        high = self.height() >= LOW_DIALOG
        self.title.setVisible(high)
        self.body.setContentsMargins(0, metrics.SPACE_3 if high else 0, 0, 0)

    def is_idle(self) -> bool:
        """Always: it only shows something."""
        return True
