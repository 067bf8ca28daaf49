"""The filter above the list: the line with its suggestions, its terms as chips, what is wrong, and how far it is."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.core.search.completion import Completion, completions
from app.core.search.format import chips, without
from app.core.search.parse import parse
from app.core.search.query import Filter, Query, QueryError
from app.core.search.walk import walk
from app.ui.requests.filter.chips import ChipRow
from app.ui.requests.filter.line import FilterLine
from app.ui.requests.filter.progress import ProgressLine
from app.ui.requests.filter.saved import SavedButton, SavedFilters
from app.ui.requests.filter.stored_values import StoredValues
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import label
from app.ui.widgets.tab_order import order_tabs

STORED = ("event", "provider")
"""Filters whose values are those that are stored."""
PAUSE_MS = 150
"""A search begins when nothing was typed for so long."""


class FilterBar(QFrame):
    """`changed` carries the query in force, None for no filter. A wrong one changes nothing but says what is wrong."""

    changed = Signal(object)
    entered = Signal()
    """Enter: a search that was stopped goes on."""
    led_on = Signal()
    """The keyboard is to go to the results."""
    left = Signal()
    """The keyboard is to go where it came from."""

    def __init__(self, saved: SavedFilters, stored: StoredValues, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "header")
        self.line = FilterLine(theme, self)
        self.saved = SavedButton(saved, theme, self)
        self._error_row = QWidget(self)
        self.error = label("", "error", self._error_row, wrap=True)
        self.chips = ChipRow(theme, self)
        self.progress = ProgressLine(theme, self)
        self.fix = Button("Use it", theme, self, kind="link")
        self._stored = stored
        self._suggested_for = ("", 0)
        self.query: Query | None = None
        """What is in force: the last that was right."""
        self._wrong: QueryError | None = None
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self.apply)
        self._build_layout()
        self.line.textChanged.connect(self._typed)
        self.line.textEdited.connect(self._suggest_for_typed)
        self.line.asked.connect(self._suggest)
        self.line.taken.connect(self._complete)
        self.line.suggestions.closed.connect(self._typed)
        self.line.entered.connect(self._enter)
        self.line.led_on.connect(self._lead_on)
        self.line.left.connect(self.left)
        self.fix.clicked.connect(self._mend)
        self.chips.removed.connect(self._remove)
        self.saved.chosen.connect(self.set_text)
        stored.came.connect(self._suggest_again)

    def start(self) -> None:
        """Put the keyboard into the line, with what it holds selected; an empty one shows what there is."""
        self.line.setFocus()
        self.line.selectAll()
        if not self.line.text():
            self._suggest()

    def put(self, text: str) -> Query | None:
        """Hold this text, and tell nobody; the query it stands for, None if it is empty or wrong."""
        self.line.setText(text)
        self._pause.stop()
        self.query = None
        self._read()
        return self.query

    @Slot(str)
    def set_text(self, text: str) -> None:
        """Filter by this at once."""
        self.line.setText(text)
        self.apply()

    @Slot()
    def clear(self) -> None:
        """No filter."""
        self.set_text("")

    @Slot()
    def apply(self) -> None:
        """Take what is typed now; while it is wrong the last right one stays in force."""
        self._pause.stop()
        before = self.query
        if self._read() and (self.query and self.query.terms) != (before and before.terms):
            self.changed.emit(self.query)

    def _read(self) -> bool:
        """Whether the text is right; says what is wrong with it."""
        try:
            query = parse(self.line.text())
        except QueryError as error:
            # While the rest is being offered it is not wrong yet.
            if not self.line.suggestions.isVisible():
                self._tell(error)
            return False
        self._tell(None)
        self.query = query if query.terms else None
        self.line.mark(_names(query), None)
        terms = chips(query)
        # One plain word needs no chip: the line's own cross takes it away.
        self.chips.show_terms([chip.text for chip in terms] if len(terms) > 1 or (terms and terms[0].name) else [])
        self.saved.in_force = query.text.strip()
        order_tabs(self)  # the chips are new
        return True

    def _tell(self, error: QueryError | None) -> None:
        self._wrong = error
        self.error.setText(error.message if error else "")
        self._error_row.setVisible(error is not None)
        self.fix.setVisible(error is not None and error.suggestion is not None)
        self.line.setAccessibleDescription(error.message if error else "")
        if error is not None:
            if error.suggestion:
                self.fix.setText(f"Use {error.suggestion}")
            # A place without width is the one where something is missing.
            self.line.mark((), (min(error.start, max(0, error.end - 1)), error.end))

    def _build_layout(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(metrics.SPACE_1)
        top.addWidget(self.line, 1)
        top.addWidget(self.saved)
        wrong = QHBoxLayout(self._error_row)
        wrong.setContentsMargins(0, 0, 0, 0)
        wrong.setSpacing(metrics.SPACE_2)
        wrong.addWidget(self.error, 1)
        wrong.addWidget(self.fix)
        inside = QVBoxLayout()
        inside.setContentsMargins(metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_2, 6)
        inside.setSpacing(6)
        inside.addLayout(top)
        inside.addWidget(self._error_row)
        inside.addWidget(self.chips)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(inside)
        column.addWidget(self.progress)
        self._error_row.hide()

    @Slot()
    def _typed(self) -> None:
        self._pause.start()

    @Slot()
    def _suggest_for_typed(self) -> None:
        """Between two terms nothing is offered unasked: Enter and Down lead to the results there."""
        before = self.line.text()[: self.line.place()]
        if before and not before[-1].isspace():
            self._suggest()
        else:
            self.line.suggestions.hide()

    @Slot()
    def _suggest(self) -> None:
        text, place = self._suggested_for = (self.line.text(), self.line.place())
        if any(f"{name}:" in text for name in STORED):
            self._stored.look()
        self.line.suggestions.offer(completions(text, place, self._stored.offered))

    @Slot()
    def _suggest_again(self) -> None:
        """More is known now than when it was typed."""
        if self.line.hasFocus() and self._suggested_for == (self.line.text(), self.line.place()):
            self._suggest()

    @Slot(object)
    def _complete(self, chosen: Completion) -> None:
        """A filter's name asks for its value next; a value ends its term."""
        whole = not chosen.insert.endswith(":")
        last = chosen.end == len(self.line.text())
        self.line.replace(chosen.start, chosen.end, chosen.insert + (" " if whole and last else ""))
        if whole:
            self.apply()
        else:
            self._suggest()

    @Slot()
    def _enter(self) -> None:
        """Take what is typed. The keyboard stays: more may be typed, and in the list letters are commands."""
        self.apply()
        if self._wrong is None:
            self.entered.emit()

    @Slot()
    def _lead_on(self) -> None:
        """Take what is typed, and go to the results unless it is wrong."""
        self.apply()
        if self._wrong is None:
            self.led_on.emit()

    @Slot(int)
    def _remove(self, number: int) -> None:
        if self.query is not None:
            self.set_text(without(self.query, chips(self.query)[number]))
            self.line.setFocus()

    @Slot()
    def _mend(self) -> None:
        """Put what was suggested in the place of what is wrong."""
        if self._wrong is not None and self._wrong.suggestion:
            self.line.replace(self._wrong.start, self._wrong.end, self._wrong.suggestion)
            self.apply()
            self.line.setFocus()


def _names(query: Query) -> list[tuple[int, int]]:
    """Where the names of filters stand, with their colons."""
    filters = (leaf.term for leaf in walk(query.terms) if isinstance(leaf.term, Filter))
    return [(term.start, term.start + len(term.name) + 1) for term in filters]
