"""Shows a multipart body as a column of cards, of which only those in view exist."""

from __future__ import annotations

import re
from asyncio import Lock
from bisect import bisect_right
from functools import partial
from itertools import accumulate

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from app.core.bodies.decompressor import codings
from app.core.bodies.formats.multipart import PartFinder, Span
from app.core.text import count_of, size_text
from app.ui.inspector.body.body_bars import NoticesBar, view_footer
from app.ui.inspector.body.body_source import LOADING, READ, BodySource, SourceView, of_bytes, read_plain
from app.ui.inspector.body.part_card import UNREAD_HEIGHT, MakePane, PartCard, read_part
from app.ui.tasks import Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import label
from app.ui.widgets.layout import vbox
from app.ui.widgets.notices import Toast

PACKED_MAX = 64 * 1024 * 1024
"""Bytes of a compressed body that are decompressed and kept."""
LEFT, GAP = metrics.SPACE_3, metrics.SPACE_2
"""Pixels to the left of the cards, where the bar above begins, and around them elsewhere."""
STEP = 48
"""Pixels that an arrow of the scroll bar scrolls."""


class PartCards(QAbstractScrollArea):
    """Up, Down, Home and End go from card to card, of which one is a stop of Tab."""

    def __init__(self, prefix: str, make_pane: MakePane, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._prefix, self._make_pane, self._theme, self._tasks = prefix, make_pane, theme, tasks
        self._body: BodySource | None = None
        self._spans: list[Span] = []
        self._heights: list[int] = []
        self._tops: list[int] = [GAP]
        self._turn = Lock()
        self._toast = Toast(theme, self)
        self._pattern: re.Pattern[str] | None = None
        self.cards: dict[int, PartCard] = {}
        self.current = 0
        self.setAccessibleName("Parts of the body")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalScrollBar().setSingleStep(STEP)
        self.verticalScrollBar().valueChanged.connect(self._place)
        theme.body_text.changed.connect(self._measure_all)

    def show_parts(self, body: BodySource | None, spans: list[Span]) -> None:
        """Show the parts of this body, which has no content coding; None shows nothing."""
        if any(card.has_focus() for card in self.cards.values()):
            self.setFocusProxy(None)  # type: ignore[arg-type]  # Qt's way to remove it
            self.setFocus()  # Qt would move it to any button of the window.
        for card in self.cards.values():
            self._remove(card)
        self.cards.clear()
        self._body, self._spans, self.current = body, spans, 0
        self._heights = [UNREAD_HEIGHT] * len(spans)
        self.verticalScrollBar().setValue(0)
        self._place()

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Mark the matches of this pattern."""
        self._pattern = pattern
        for card in self.cards.values():
            card.text.mark(pattern)

    def go_to(self, number: int) -> None:
        """Put the keyboard on this card, or the nearest one there is."""
        self._set_current(max(0, min(number, len(self._spans) - 1)))
        self._reveal(self.current)
        self.cards[self.current].toggle_button.setFocus(Qt.FocusReason.TabFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """From card to card, if the keyboard is on one and not on what is in it."""
        places = {
            Qt.Key.Key_Up: self.current - 1,
            Qt.Key.Key_Down: self.current + 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(self._spans),
        }
        number = places.get(Qt.Key(event.key()))
        if number is None or not self.cards or not self.cards[self.current].toggle_button.hasFocus():
            super().keyPressEvent(event)
        else:
            self.go_to(number)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Show the card that Tab leads into."""
        moved = super().focusNextPrevChild(forward)
        for number, card in list(self.cards.items()):
            if moved and card.has_focus():
                self._reveal(number)
        return moved

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._measure_all()

    def _at(self, y: int) -> int:
        """The card at this pixel from the top of the first."""
        return max(0, min(bisect_right(self._tops, y), len(self._spans)) - 1)

    def _reveal(self, number: int) -> None:
        """Scroll until the whole card is seen, or its top."""
        bar, top, room = self.verticalScrollBar(), self._tops[number] - GAP, self.viewport().height()
        bar.setValue(min(top, max(bar.value(), top + self._heights[number] + 2 * GAP - room)))
        self._place()

    def _set_current(self, number: int) -> None:
        if self.current in self.cards:
            self.cards[self.current].set_tab_stop(False)
        self.current = number
        self._place()
        self.cards[number].set_tab_stop(True)
        self._order()

    @Slot()
    def _place(self) -> None:
        """Make the cards in view and a little around it, and delete the others except what the user is using."""
        self._tops = list(accumulate((height + GAP for height in self._heights), initial=GAP))
        bar, room = self.verticalScrollBar(), self.viewport().height()
        bar.setPageStep(room)
        bar.setRange(0, max(0, self._tops[-1] - room))
        if not self._spans:
            return
        top = bar.value()
        first, last = self._at(top - room // 4), self._at(top + room * 5 // 4)
        wanted = {*range(first, last + 1), self.current}
        for number, card in list(self.cards.items()):
            if number not in wanted and card.pane is None and not card.has_focus():
                self._remove(self.cards.pop(number))
        missing = sorted(wanted - self.cards.keys())
        for number in missing:
            self.cards[number] = self._make(number)
        for number, card in self.cards.items():
            width = self.viewport().width() - LEFT - GAP
            card.setGeometry(LEFT, self._tops[number] - top, width, self._heights[number])
        if missing:
            self.cards[self.current].set_tab_stop(True)
            self._order()

    def _make(self, number: int) -> PartCard:
        assert self._body is not None
        name = f"{self._prefix}{number + 1}"
        load = partial(read_part, self._body, self._spans[number], f"part-{name}")
        what, turn, toast, make_pane = f"part {name}", self._turn, self._toast, self._make_pane
        around = self.viewport()
        card = PartCard(what, self._theme, self._tasks, around, load=load, turn=turn, make_pane=make_pane, toast=toast)
        card.text.mark(self._pattern)
        card.resized.connect(self._measure)
        card.toggled.connect(self._toggled)
        card.show()
        return card

    def _remove(self, card: PartCard) -> None:
        card.end()
        card.hide()
        card.deleteLater()

    def _order(self) -> None:
        """Tab goes from card to card; their order in the list of children is that of `raise_`."""
        for number in sorted(self.cards):
            self.cards[number].raise_()
        self._toast.raise_()
        self.setFocusProxy(self.cards[self.current].toggle_button)
        order_tabs(self)

    @Slot(object)
    def _measure(self, card: PartCard) -> None:
        """A card needs another height."""
        self._heights[self._number(card)] = self._height(card)
        if self._keep_place() == self._number(card) and card.toggle_button.hasFocus():
            self._reveal(self.current)

    @Slot()
    def _measure_all(self) -> None:
        for number, card in self.cards.items():
            self._heights[number] = self._height(card)
        self._keep_place()

    def _height(self, card: PartCard) -> int:
        return card.height_for(self.viewport().width() - LEFT - GAP, self.viewport().height() - 2 * GAP)

    def _number(self, card: PartCard) -> int:
        return next(number for number, one in self.cards.items() if one is card)

    def _keep_place(self) -> int:
        """The current card stays where it is if it is in view, or else the first that is; its number."""
        bar = self.verticalScrollBar()
        kept, before = self.current, self._tops
        if not bar.value() <= before[kept] < bar.value() + self.viewport().height():
            kept = self._at(bar.value() + GAP)
        self._place()
        bar.setValue(bar.value() + self._tops[kept] - before[kept])
        return kept

    @Slot(object)
    def _toggled(self, card: PartCard) -> None:
        self._set_current(self._number(card))
        self._reveal(self.current)


class PartsView(SourceView):
    """Shows the parts of a body. `what` names that: `body`, or as a part of another one, `part 3`."""

    def __init__(self, what: str, make_pane: MakePane, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__("parts", tasks, parent)
        prefix = f"{what.removeprefix('part ')}." if what.startswith("part ") else ""
        self.notices = NoticesBar(theme, self)
        self.cards = PartCards(prefix, make_pane, theme, tasks, self)
        self.count = label("", "small", self)
        self.setFocusProxy(self.cards)
        vbox(self.notices, (self.cards, 1), view_footer(self.count, self), inside=self, spacing=0, margins=0)

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        self.cards.mark(pattern)

    def show_nothing(self) -> None:
        self.cards.show_parts(None, [])
        self.notices.say([])
        self.count.setText("")

    async def load(self, source: BodySource) -> None:
        self.count.setText(LOADING)
        body, cut = source, False
        if codings(source.headers):
            plain = await read_plain(source, PACKED_MAX)
            body, cut = of_bytes(plain[:PACKED_MAX], source.name), len(plain) > PACKED_MAX
        finder, offset = PartFinder(source.content_type), 0
        while offset < body.size and not finder.full and (data := await body.read(offset, READ)):
            offset += len(data)
            await in_thread(finder.feed, data)
        finder.finish(cut=cut)
        notices = finder.notes + ([f"Only parts within the first {size_text(PACKED_MAX)} are shown."] if cut else [])
        if not finder.spans:
            notices = ["No parts found: the boundary does not occur in the body."]
        self.notices.say(notices)
        self.count.setText(count_of(len(finder.spans), "part"))
        self.cards.show_parts(body, finder.spans)
