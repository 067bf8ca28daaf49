"""The filter above the list: the text field with its suggestions, its terms as chips, the error, and the progress."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import QObject, QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from app.core.bodies.escape import escape
from app.core.search.field import Completion, Stored, chips, completions, without
from app.core.search.parse import parse
from app.core.search.query import Filter, Query, QueryError, flatten
from app.core.text import count_of
from app.ui.commands.command import menu_text
from app.ui.requests.filter_line import FilterLine
from app.ui.requests.saved_filters import SavedButton, SavedFilters
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import label, plain_tooltip
from app.ui.widgets.layout import hbox, vbox

CHIPS_MAX = 12
TEXT_MAX = 200
"""Maximum width in pixels of the text of a chip."""
HEIGHT, GAP, CROSS = 22, 6, 10
_LINE_HEIGHT = 2
PATIENCE_MS = 120
"""A faster search shows nothing, so that nothing flickers while the user types."""
FRAME_MS = 33
STEP, PART = 0.02, 0.3
"""Movement per frame and length of the progress line, as shares of its width."""
FRESH_S = 30.0
"""Seconds before the stored values are read again."""
LONGEST = 100
"""Maximum characters of a stored value; a longer one is not a name."""


class ChipButton(Button):
    """One term; a click, Enter, Delete or Backspace removes it."""

    def __init__(self, term: str, theme: Theme, parent: QWidget) -> None:
        font = mono_font(11)
        shown = QFontMetrics(font).elidedText(escape(term), Qt.TextElideMode.ElideMiddle, TEXT_MAX)
        super().__init__(menu_text(shown), theme, parent, kind="link", icon="close")
        self.setProperty("part", "term")
        self.setFont(font)
        self.setIconSize(QSize(CROSS + GAP, CROSS))
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self.setAccessibleName(f"Remove {escape(term)}")
        self.setToolTip(plain_tooltip(f"Remove {escape(term)}"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Delete and Backspace remove the term, too."""
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.click()
        else:
            super().keyPressEvent(event)


class ChipRow(QWidget):
    """Chips side by side, on as many lines as they need. `removed` carries the index of the term."""

    removed = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.chips: list[ChipButton] = []
        self._terms: list[str] = []
        self._more = label("", "faint", self)
        self.hide()

    def show_terms(self, terms: Sequence[str]) -> None:
        """Show these terms; an empty list hides the row."""
        if list(terms) == self._terms:
            return
        self._terms = list(terms)
        for chip in self.chips:
            chip.hide()
            chip.deleteLater()
        self.chips = []
        for number, term in enumerate(self._terms[:CHIPS_MAX]):
            chip = ChipButton(term, self._theme, self)
            chip.clicked.connect(partial(self.removed.emit, number))
            chip.show()
            self.chips.append(chip)
        rest = len(self._terms) - CHIPS_MAX
        self._more.setText(f"and {rest} more" if rest > 0 else "")
        self._more.adjustSize()
        self._place()
        self.setVisible(bool(terms))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out the lines again."""
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        x, y = 0, 0
        for item in (*self.chips, self._more):
            size = item.sizeHint()
            if x and x + size.width() > self.width():
                x, y = 0, y + HEIGHT + GAP
            item.setGeometry(x, y, min(size.width(), max(1, self.width())), HEIGHT)
            x += size.width() + GAP
        self.setFixedHeight(y + HEIGHT)
        self._more.setVisible(bool(self._more.text()))


STORED = ("event", "provider", "tag")
"""Filters whose values come from the store."""
PAUSE_MS = 150
"""A search begins after a pause in typing of this length."""


class FilterBar(QFrame):
    """`changed` carries the current query, None for no filter. An invalid one changes nothing but shows its error."""

    changed = Signal(object)
    entered = Signal()
    """Enter: a stopped search continues."""
    results_requested = Signal()
    """The results should get the keyboard focus."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "header")
        self.line = FilterLine(theme, self)
        self.saved = SavedButton(SavedFilters(services.data_folder), theme, self)
        self._error_row = QWidget(self)
        self.error = label("", "error", self._error_row, wrap=True)
        self.chips = ChipRow(theme, self)
        self.progress = _ProgressLine(theme, self)
        self.fix = Button("Use it", theme, self, kind="link")
        self.stored = _StoredValues(services, tasks, self)
        self._suggested_for: tuple[str, int] | None = None
        """The text and the place in it that more values may be suggested for."""
        self.query: Query | None = None
        """The last valid query."""
        self._wrong: QueryError | None = None
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self.apply)
        self._build_layout()
        self.line.textChanged.connect(self._pause.start)
        self.line.textEdited.connect(self._suggest_for_typed)
        self.line.suggestions_requested.connect(self._suggest)
        self.line.suggestions.activated.connect(self._complete)
        self.line.suggestions.closed.connect(self._suggestions_closed)
        self.line.entered.connect(self._enter)
        self.line.results_requested.connect(self._go_to_results)
        self.fix.clicked.connect(self._apply_fix)
        self.chips.removed.connect(self._remove)
        self.saved.filter_selected.connect(self.set_text)
        self.stored.changed.connect(self._suggest_again)

    def start(self) -> None:
        """Focus the field with its text selected; if it is empty, the suggestions open."""
        self.line.setFocus()
        self.line.selectAll()
        if not self.line.text():
            self._suggest()

    def put(self, text: str) -> Query | None:
        """Set the text without emitting `changed`; the query it stands for, None if it is empty or invalid."""
        self._replace_text(text)
        self._pause.stop()
        self.query = None
        if not self._read():
            self.chips.show_terms(())
            self.saved.current = ""
        return self.query

    @Slot(str)
    def set_text(self, text: str) -> None:
        """Apply this filter at once."""
        self._replace_text(text)
        self.apply()

    @Slot()
    def clear(self) -> None:
        self.set_text("")

    @Slot()
    def apply(self) -> None:
        """Apply the current text; while it is invalid the last valid filter stays in force."""
        self._pause.stop()
        before = self.query
        if self._read() and (self.query and self.query.terms) != (before and before.terms):
            self.changed.emit(self.query)

    def _replace_text(self, text: str) -> None:
        self.line.suggestions.hide()  # they are for places in the text before
        self.line.setText(text)

    def _read(self) -> bool:
        """Whether the text is valid; shows its error otherwise."""
        try:
            query = parse(self.line.text())
        except QueryError as error:
            # Incomplete text is not an error while completions are offered.
            if not self.line.suggestions.isVisible():
                self._show_error(error)
            return False
        self._show_error(None)
        self.query = query if query.terms else None
        self.line.mark(_names(query), None)
        self.chips.show_terms(chips(query))
        self.saved.current = query.text.strip()
        order_tabs(self)  # The chips are new widgets.
        return True

    def _show_error(self, error: QueryError | None) -> None:
        self._wrong = error
        self.error.setText(error.message if error else "")
        self._error_row.setVisible(error is not None)
        self.fix.setVisible(error is not None and error.suggestion is not None)
        self.line.setAccessibleDescription(error.message if error else "")
        if error is not None:
            if error.suggestion:
                self.fix.setText(f"Use {error.suggestion}")
            # An empty range is where something is missing.
            self.line.mark((), (min(error.start, max(0, error.end - 1)), error.end))

    def _build_layout(self) -> None:
        top = hbox((self.line, 1), self.saved, spacing=metrics.SPACE_1)
        hbox((self.error, 1), self.fix, inside=self._error_row, spacing=metrics.SPACE_2, margins=0)
        inside = vbox(
            top, self._error_row, self.chips, spacing=6, margins=(metrics.SPACE_4, metrics.SPACE_2, metrics.SPACE_3, 6)
        )
        vbox(inside, self.progress, inside=self, spacing=0, margins=0)
        self._error_row.hide()

    @Slot()
    def _suggestions_closed(self) -> None:
        self._suggested_for = None
        self._pause.start()

    @Slot()
    def _suggest_for_typed(self) -> None:
        """Between two terms nothing is suggested automatically: Enter and Down move to the results there."""
        before = self.line.text()[: self.line.place()]
        if before and not before[-1].isspace():
            self._suggest()
        else:
            self.line.suggestions.hide()

    @Slot()
    def _suggest(self) -> None:
        text, place = self.line.text(), self.line.place()
        if any(f"{name}:" in text for name in STORED):
            self.stored.refresh()
        self.line.suggestions.offer(completions(text, place, self.stored.offered))
        self._suggested_for = text, place  # if there are none yet, those for the text before were closed

    @Slot()
    def _suggest_again(self) -> None:
        """More values are known now than when the text was typed."""
        if self.line.hasFocus() and self._suggested_for == (self.line.text(), self.line.place()):
            self._suggest()

    @Slot(object)
    def _complete(self, completion: Completion) -> None:
        """A completed filter name is followed by its value; a completed value ends its term."""
        is_value = not completion.insert.endswith(":")
        last = completion.end == len(self.line.text())
        self.line.replace(completion.start, completion.end, completion.insert + (" " if is_value and last else ""))
        if is_value:
            self.apply()
        else:
            self._suggest()

    @Slot()
    def _enter(self) -> None:
        """Apply the text. The focus stays: the user may type more, and in the list letters are commands."""
        self._suggested_for = None
        self.apply()
        if self._wrong is None:
            self.entered.emit()

    @Slot()
    def _go_to_results(self) -> None:
        """Apply the text, and move to the results if it is valid."""
        self.apply()
        if self._wrong is None:
            self.results_requested.emit()

    @Slot(int)
    def _remove(self, number: int) -> None:
        if self.query is not None:
            self.set_text(without(self.query, number))
            self.line.setFocus()

    @Slot()
    def _apply_fix(self) -> None:
        """Replace the error with the suggestion."""
        if self._wrong is not None and self._wrong.suggestion:
            self.line.replace(self._wrong.start, self._wrong.end, self._wrong.suggestion)
            self.apply()
            self.line.setFocus()


def _names(query: Query) -> list[tuple[int, int]]:
    """Where the names of filters stand, with their colons."""
    filters = (leaf.term for leaf in flatten(query.terms) if isinstance(leaf.term, Filter))
    return [(term.start, term.start + len(term.name) + 1) for term in filters]


class _ProgressLine(QWidget):
    """Occupies its space even while nothing is shown."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._place = 0.0
        self._share: float | None = None
        self._running = False
        self._patience = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._frames = QTimer(self, interval=FRAME_MS)
        self._patience.timeout.connect(self._frames.start)
        self._frames.timeout.connect(self._move)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(_LINE_HEIGHT)

    def set_running(self, running: bool) -> None:
        """Start after a moment, or end."""
        if running == self._running:
            return
        self._running = running
        if running:
            self._place, self._share = 0.0, None
            self._patience.start()
        else:
            self._patience.stop()
            self._frames.stop()
            self.update()

    def set_share(self, share: float | None) -> None:
        """The share searched, 0 to 1; None if unknown."""
        if share != self._share:
            self._share = share
            self.update()

    def is_showing(self) -> bool:
        """Whether anything is visible."""
        return self._frames.isActive()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the moving part, or the share that is done."""
        if not self.is_showing():
            return
        if self._share is None:
            width = self.width() * PART
            left = (self._place % 1.0) * (self.width() + width) - width
        else:
            left, width = 0.0, self.width() * self._share
        QPainter(self).fillRect(QRectF(left, 0, width, self.height()), QColor(self._theme.tokens.accent))

    @Slot()
    def _move(self) -> None:
        self._place += STEP
        if self._share is None:
            self.update()


class _StoredValues(QObject):
    """`offered` has the values last read for the current list; `changed` is emitted when they change."""

    changed = Signal()

    def __init__(self, services: Services, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._services = services
        self._latest = Latest(self, tasks, "filter: stored values", only_reads=False)
        self._endpoint_id: int | None = None
        self._read_at = -math.inf
        self.offered: Mapping[str, Sequence[Stored]] = {}

    def show_endpoint(self, endpoint_id: int | None) -> None:
        """Offer the values of this endpoint, or of all (None)."""
        self._latest.stop()
        self._endpoint_id, self._read_at, self.offered = endpoint_id, -math.inf, {}

    def refresh(self) -> None:
        """Read the values, unless that was done a moment ago."""
        if not self._latest.running and time.monotonic() - self._read_at > FRESH_S:
            self._latest.run(self._read)

    async def _read(self) -> None:
        endpoint_id = self._endpoint_id
        found = await self._services.store.senders.lately(endpoint_id)
        if endpoint_id != self._endpoint_id:
            return
        self._read_at = time.monotonic()
        providers, events, tags = Counter[str](), Counter[str](), Counter[str]()
        sent_by: dict[str, str] = {}
        for one in found:
            providers[one.provider] += one.count
            if one.event is not None:
                events[one.event] += one.count
                sent_by.setdefault(one.event, one.provider)
        for endpoint in self._services.store.endpoints.all():
            tags.update(endpoint.tags)
        offered = {
            "provider": [(name, self._describe(name, count)) for name, count in providers.most_common()],
            "event": [(event, self._describe(sent_by[event], count)) for event, count in events.most_common()],
            "tag": [(tag, count_of(count, "endpoint")) for tag, count in tags.most_common()],
        }
        for name in ("provider", "event"):
            offered[name] = [value for value in offered[name] if _is_name(value[0])]
        if offered != self.offered:
            self.offered = offered
            self.changed.emit()

    def _describe(self, provider: str, count: int) -> str:
        return f"{escape(self._services.providers.get(provider, provider))} · {count_of(count, 'request')}"


def _is_name(value: str) -> bool:
    return 0 < len(value) <= LONGEST and escape(value) == value
