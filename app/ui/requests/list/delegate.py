"""Paints one request per row, with all text plain and escaped, at the same height for all; and what its tooltip says of
each of its targets."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QModelIndex, QObject, QPoint, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QCursor, QFont, QFontMetrics, QHelpEvent, QPainter, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.delivery import Delivery
from app.core.events import DeliveriesQueued, DeliveryChanged, Subscriptions, TargetChanged
from app.core.model import DeliveryState, Summary
from app.core.providers import ProviderMark, monogram_of
from app.core.text import Title, ago_text, count_of, exact_time, size_text, title_of
from app.core.worst_state import State, delivery_state
from app.ui.deliveries.words import counted, forwarding_words
from app.ui.requests.list.model import SUMMARY_ROLE, Index, RequestModel, row_text, without_targets
from app.ui.services import Services
from app.ui.state_look import LOOKS
from app.ui.tasks import Latest, Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import LIGHT, Tokens, contrast, mix
from app.ui.widgets.badge import METHOD_SIZE, paint_box, paint_method
from app.ui.widgets.labels import plain_tooltip
from app.ui.widgets.marked_text import elide_around, paint_marks

GAP, LEAST, SENDER_MAX = 10, 40, 130
"""Pixels between the parts; a sender that would have less room is left out unless it is as short as that; the widest
that a sender's name gets."""
PATH_SHARE = 0.4
"""Of the room, for a path that does not fit beside the rest."""
PATH_LEAST = 64
"""Pixels; a path that is cut to less says too little to cut an event for it, which keeps as many beside a path."""
_FLAGS = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine


class TitlePainter:
    """Draws a title into the available room: the event where it is known, else what came in a few words; and who sent
    it, if that is known. The sender's name is left out first; then `main` and the path share the room. Nothing is
    hidden in it, whatever senders wrote.
    """

    def __init__(self) -> None:
        self._plain, self._bold = _Font(ui_font(BASE)), _Font(ui_font(BASE, QFont.Weight.DemiBold))
        self._small, self._mono = _Font(ui_font(SMALL)), _Font(mono_font(SMALL))

    def paint(
        self,
        painter: QPainter,
        rect: QRect,
        title: Title,
        *,
        bold: bool,
        tokens: Tokens,
        marked: re.Pattern[str] | None = None,
    ) -> None:
        """Draw into `rect`, a soft ground behind what `marked` finds."""
        pen = _Pen(painter, tokens, marked)
        main = _TextPart(title.main, self._bold if bold else self._plain)
        path = self._path(title.path, main, rect.width())
        main_room, path_room = _rooms(main, path, rect.width())
        little = main_room < PATH_LEAST or (path and path_room < min(path.width, PATH_LEAST))
        if path and title.is_event and main_room < main.width and little:
            path = None
            main_room, path_room = _rooms(main, path, rect.width())
        if path and not title.is_event and main_room < main.width and rect.width() < 2 * PATH_LEAST:
            pen.write_path(rect, path)  # of both together only the first letters would be left
            return
        colour = tokens.text if title.is_event else tokens.text_muted
        # An event's end says as much as its beginning; what Hookline says has the most important first.
        mode = Qt.TextElideMode.ElideMiddle if title.is_event else Qt.TextElideMode.ElideRight
        rest = pen.write(rect, main, colour, main_room, mode)
        if title.sender:
            sender = _TextPart(title.sender, self._small)
            width = min(sender.width, SENDER_MAX)
            spare = rect.width() - main_room - GAP - (GAP + path_room if path else 0)
            if spare >= min(LEAST, width):
                rest = pen.write(rest, sender, tokens.text_muted, min(width, spare), Qt.TextElideMode.ElideMiddle)
        if path:
            pen.write_path(rest, path)

    def _path(self, text: str, main: _TextPart, width: int) -> _TextPart | None:
        """Without its query if there is no room for that: the path before it says what the request is about."""
        if not text:
            return None
        path = _TextPart(text, self._mono)
        before, query, _ = text.partition("?")
        if before and query and path.width > _path_room(main, width):
            return _TextPart(before, self._mono)
        return path


def _path_room(main: _TextPart, width: int) -> int:
    """Pixels of `width` that the path may take."""
    return max(round(width * PATH_SHARE), width - GAP - main.width)


def _rooms(main: _TextPart, path: _TextPart | None, width: int) -> tuple[int, int]:
    """Pixels for `main` and the path."""
    if path is None:
        return max(0, min(main.width, width)), 0
    path_room = max(0, min(path.width, _path_room(main, width)))
    return max(0, min(main.width, width - GAP - path_room)), path_room


class _Font:
    def __init__(self, font: QFont) -> None:
        self.font, self.metrics = font, QFontMetrics(font)


class _TextPart:
    """A text, its font, and the pixels in which it is not elided."""

    def __init__(self, text: str, font: _Font) -> None:
        self.text, self.font = text, font
        self.width = font.metrics.horizontalAdvance(text) + 1  # an advance is rounded, down too


class _Pen:
    """Writes one part after the other."""

    def __init__(self, painter: QPainter, tokens: Tokens, marked: re.Pattern[str] | None) -> None:
        self._painter, self._tokens, self._marked = painter, tokens, marked

    def write(self, rect: QRect, part: _TextPart, colour: str, room: int, mode: Qt.TextElideMode) -> QRect:
        """Draw `part` into at most `room` pixels; what is left of `rect`."""
        text, advance = part.text, part.width - 1
        if part.width > room:
            text = elide_around(text, self._marked, part.font.metrics, room, mode)
            advance = part.font.metrics.horizontalAdvance(text)
        self._painter.setFont(part.font.font)
        if self._marked is not None:
            paint_marks(self._painter, rect, text, self._marked, self._tokens)
        self._painter.setPen(QColor(colour))
        self._painter.drawText(rect, _FLAGS, text)
        return rect.adjusted(advance + GAP, 0, 0, 0)

    def write_path(self, rect: QRect, path: _TextPart) -> None:
        """Paths of one API differ at their end; behind a query the end alone says nothing."""
        mode = Qt.TextElideMode.ElideMiddle if "?" in path.text else Qt.TextElideMode.ElideLeft
        self.write(rect, path, self._tokens.text_faint, rect.width(), mode)


PROVIDER_SIZE = 18
RADIUS = 5
LETTERS = "#ffffff"
LEGIBLE, VISIBLE = 4.5, 1.9
"""Minimum contrast of the letters with their background, and of that with the list."""


class ProviderMarks:
    """`marks` come from the catalogue; a provider that is no longer in it gets a grey one."""

    def __init__(self, marks: Mapping[str, ProviderMark]) -> None:
        self._marks = marks
        self._pixmaps: dict[tuple[str, str, float], QPixmap] = {}

    def pixmap(self, provider: str, tokens: Tokens, ratio: float) -> QPixmap:
        """The icon for a screen of this scale."""
        key = (provider, tokens.name, ratio)
        found = self._pixmaps.get(key)
        if found is None:
            mark = self._marks.get(provider) or ProviderMark(monogram=monogram_of(provider), colour=LIGHT.text_faint)
            found = self._pixmaps[key] = _drawn(mark, tokens, ratio)
        return found


def ground_of(colour: str, tokens: Tokens) -> str:
    """A provider's colour, lightened on a dark list until visible; white letters stay legible."""
    ground, share = colour, 0.0
    while contrast(ground, tokens.surface) < VISIBLE and share < 1:
        share += 0.04
        lighter = mix(LETTERS, colour, share)
        if contrast(LETTERS, lighter) < LEGIBLE:
            break
        ground = lighter
    return ground


def _drawn(mark: ProviderMark, tokens: Tokens, ratio: float) -> QPixmap:
    picture = QPixmap(round(PROVIDER_SIZE * ratio), round(PROVIDER_SIZE * ratio))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    paint_box(painter, QRectF(0, 0, PROVIDER_SIZE, PROVIDER_SIZE), RADIUS, ground_of(mark.colour, tokens))
    painter.setPen(QColor(LETTERS))
    painter.setFont(ui_font(9 if len(mark.monogram) > 1 else 11, QFont.Weight.Bold))
    painter.drawText(QRectF(0, 0, PROVIDER_SIZE, PROVIDER_SIZE), Qt.AlignmentFlag.AlignCenter, mark.monogram)
    painter.end()
    return picture


ROW = 32
TIME_WIDTH, SIZE_WIDTH, STATE_WIDTH, MARK_WIDTH = 42, 56, 22, 24
SIZE_GAP = 7
"""Pixels of the size's column that stay free before the time: some dates are a little wider than their own column."""
MARGIN = 12
BADGE_LEFT, PROVIDER_LEFT, TITLE_LEFT = 20, 80, 106
"""Where method, provider's mark and title begin. The mark's place stays empty where nobody known sent a request: titles
stand below each other."""
NAME_MAX, NAME_SHARE, NAME_GAP = 160, 1 / 3, 12
"""Pixels that an endpoint's name gets at most, its part of what it shares with the title, and pixels behind it."""
SIZED = 360
"""Rows narrower than this and the endpoint's name leave out the size: the title would have less room than it."""
NARROW, SMALL_BADGE, NARROW_NAME_LEFT = 340, 38, 64
"""Rows narrower than this and with an endpoint's name have a method's badge of these pixels, the name from here on, and
no provider's mark: name and event would be cut to their first letters."""
TITLE_GAP = 8


class _Columns(NamedTuple):
    """On the right of a row, from the right. `size` has no width in a narrow row."""

    time: QRect
    size: QRect
    state: QRect
    star: QRect
    note: QRect


class RequestDelegate(QStyledItemDelegate):
    """Paints `Summary` rows. `names` has the endpoints' names if the list shows several, and `fit_names` sets the width
    of their column; `marked` is the pattern to highlight. `state_of` gives a request's state, `target_words` has
    how it went to each target, by ID, `tooltip_shown` carries the one whose tooltip is shown.
    """

    tooltip_shown = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.names: dict[int, str] | None = None
        self.marked: re.Pattern[str] | None = None
        self.state_of: Callable[[Summary], State] = without_targets
        self.target_words: Mapping[str, str] = {}
        self._listed_names: set[str] = set()
        self._names_width = 0
        self._providers: Mapping[str, str] = {}
        self._provider_marks = ProviderMarks({})
        self._theme = theme
        self._title_painter = TitlePainter()
        self._small = ui_font(SMALL)
        self._small_metrics = QFontMetrics(self._small)

    def show_providers(self, names: Mapping[str, str], marks: Mapping[str, ProviderMark]) -> None:
        """Use these names and marks for providers, by ID."""
        self._providers, self._provider_marks = names, ProviderMarks(marks)

    def fit_names(self, endpoint_ids: Collection[int]) -> bool:
        """Make the column of names as wide as the longest of these endpoints' names; whether that changed it."""
        listed = {name for number, name in (self.names or {}).items() if number in endpoint_ids}
        if listed == self._listed_names:
            return False
        self._listed_names, before = listed, self._names_width
        # An advance is rounded, to less too.
        self._names_width = max((self._small_metrics.horizontalAdvance(name) + 1 for name in listed), default=0)
        return self._names_width != before

    def in_words(self, summary: Summary) -> str:
        """The full text of a row."""
        return row_text(summary, self._providers, self.names, self._forwarding(summary))

    def _forwarding(self, summary: Summary) -> str:
        return self.target_words.get(summary.id) or forwarding_words(self.state_of(summary))

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """The same height for all rows."""
        return QSize(200, ROW)

    def time_rect(self, row: QRect) -> QRect:
        """The rectangle of the age in a row."""
        return self._columns(row).time

    def star_rect(self, row: QRect) -> QRect:
        """The rectangle of the star in a row, shown if it is starred, selected or under the mouse."""
        return self._columns(row).star

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Ground, dot, method, provider, title, star, note, forwarding, size, age."""
        summary: Summary = index.data(SUMMARY_ROLE)
        tokens, rect = self._theme.tokens, option.rect
        painter.save()
        ground = self._ground(painter, option, tokens)
        if not summary.read:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.accent))
            painter.drawEllipse(QRectF(rect.left() + 8, rect.center().y() - 2, 6, 6))
        left, top = rect.left(), rect.top() + (ROW - METHOD_SIZE.height()) / 2
        narrow = self.names is not None and rect.width() < NARROW
        badge = QRectF(left + BADGE_LEFT, top, SMALL_BADGE if narrow else METHOD_SIZE.width(), METHOD_SIZE.height())
        paint_method(painter, badge, escape(summary.method[:20]), tokens, ground)
        columns = self._columns(rect)
        if narrow:
            left -= PROVIDER_LEFT - NARROW_NAME_LEFT
        left += self._name(painter, QRect(left, rect.top(), rect.width(), ROW), columns.size.left(), summary, tokens)
        if narrow:
            left -= TITLE_LEFT - PROVIDER_LEFT
        elif summary.provider:
            place = QPoint(left + PROVIDER_LEFT, rect.top() + (ROW - PROVIDER_SIZE) // 2)
            ratio = painter.deviceTransform().m11()
            painter.drawPixmap(place, self._provider_marks.pixmap(summary.provider, tokens, ratio))
        self._right_side(painter, columns, summary, tokens)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        right = self._marks(painter, columns, summary, offer_star=selected or hovered)
        title = title_of(summary, self._providers)
        room = QRect(left + TITLE_LEFT, rect.top(), right - left - TITLE_LEFT - TITLE_GAP, ROW)
        self._title_painter.paint(painter, room, title, bold=not summary.read, tokens=tokens, marked=self.marked)
        painter.restore()

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem, tokens: Tokens) -> str:
        state, rect = option.state, option.rect
        selected = bool(state & QStyle.StateFlag.State_Selected)
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        colour = tokens.selection if selected else tokens.hover if hovered else tokens.surface
        painter.fillRect(rect, QColor(colour))
        focused = bool(state & QStyle.StateFlag.State_HasFocus)
        if selected and focused:
            painter.fillRect(QRect(rect.left(), rect.top(), 3, rect.height()), QColor(tokens.accent))
        painter.setPen(QColor(tokens.border))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        return colour

    def _columns(self, row: QRect) -> _Columns:
        names = min(self._names_width, NAME_MAX) if self.names is not None else 0
        size_width = SIZE_WIDTH if row.width() >= SIZED + names else 0
        right, rects = row.right() - MARGIN, []
        for width in (TIME_WIDTH, size_width, STATE_WIDTH, MARK_WIDTH, MARK_WIDTH):
            right -= width
            rects.append(QRect(right, row.top(), width, row.height()))
        return _Columns(*rects)

    def _right_side(self, painter: QPainter, columns: _Columns, summary: Summary, tokens: Tokens) -> None:
        """Paint age and size."""
        painter.setFont(self._small)
        painter.setPen(QColor(tokens.text_muted))
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(columns.time, flags, ago_text(summary.received_at, now_us()))
        if columns.size.width():
            if not summary.complete:
                painter.setPen(QColor(tokens.warning))
            size = columns.size.adjusted(0, 0, -SIZE_GAP, 0)
            painter.drawText(size, flags, size_text(summary.size) if summary.complete else "cut off")

    def _marks(self, painter: QPainter, columns: _Columns, summary: Summary, *, offer_star: bool) -> int:
        """Paint forwarding state, star and note; returns where the title must end."""
        right = columns.size.left()
        state = self.state_of(summary)
        if state in LOOKS:
            right = columns.state.left()
            self._icon(painter, columns.state, LOOKS[state].icon, LOOKS[state].colour)
        if summary.starred or offer_star:
            right = columns.star.left()
            star = ("starred", "warning_fill") if summary.starred else ("star", "text_faint")
            self._icon(painter, columns.star, *star)
        if summary.note:
            right = columns.note.left()
            self._icon(painter, columns.note, "note", "text_muted")
        return right

    def _icon(self, painter: QPainter, rect: QRect, name: str, colour: str) -> None:
        pixmap = self._theme.pixmap(name, colour, metrics.ICON, painter.deviceTransform().m11())
        painter.drawPixmap(rect.center() - QPoint(metrics.ICON // 2 - 1, metrics.ICON // 2 - 1), pixmap)

    def _name(self, painter: QPainter, row: QRect, right: int, summary: Summary, tokens: Tokens) -> int:
        """Paint the endpoint's name if several are listed; returns how far that moves the title, which ends at `right`
        at most.
        """
        if self.names is None:
            return 0
        room = right - row.left() - TITLE_LEFT
        width = min(self._names_width, NAME_MAX, round(room * NAME_SHARE))
        name = self.names.get(summary.endpoint_id, "")
        painter.setFont(self._small)
        painter.setPen(QColor(tokens.text_muted))
        rect = QRect(row.left() + PROVIDER_LEFT, row.top(), width, ROW)
        painter.drawText(rect, _FLAGS, self._small_metrics.elidedText(name, Qt.TextElideMode.ElideRight, width))
        return width + NAME_GAP

    def helpEvent(self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: Index) -> bool:
        """What the star does, or else the exact time and the whole target, as plain text; made only when asked for."""
        if index.isValid():
            summary: Summary = index.data(SUMMARY_ROLE)
            text = tooltip(summary, self._providers, self._forwarding(summary))
            if self.star_rect(option.rect).contains(event.pos()):
                text = "Remove star (S)" if summary.starred else "Star (S)"
                if summary.starred_by is not None:
                    text = f"Starred by {escape(summary.starred_by)}\n{text}"
            QToolTip.showText(event.globalPos(), plain_tooltip(text), view)
            self.tooltip_shown.emit(summary)
        return True


def tooltip(summary: Summary, providers: Mapping[str, str], forwarding: str = "") -> str:
    """What the row has no room for; `forwarding` says how it was forwarded."""
    title = title_of(summary, providers)
    lines = [f"{title.main} · {title.sender}" if title.sender else title.main]
    lines += [f"{escape(summary.method)} {escape(summary.target[:600])}", exact_time(summary.received_at)]
    if forwarding:
        lines.append(forwarding.capitalize())
    if summary.note:
        first, *more = (escape(line) for line in summary.note.split("\n"))
        by = f" by {escape(summary.noted_by)}" if summary.noted_by is not None else ""
        lines += [f"Note{by}: {first}", *more]
    if not summary.complete:
        lines.append("The sender disconnected before the end of the body.")
    return "\n".join(lines)


KEPT = 500
"""Requests whose results are remembered."""


class TargetResults(QObject):
    """Gives the list's rows their state, and their words about forwarding: of the worst target alone until the others
    are known."""

    def __init__(
        self, rows: QListView, delegate: RequestDelegate, model: RequestModel, services: Services, tasks: Tasks
    ) -> None:
        super().__init__(rows)
        self._rows, self._model, self._store = rows, model, services.store
        self._texts: dict[str, str] = {}
        self._reading: str | None = None
        self._latest = Latest(self, tasks, "list: deliveries of a row")
        delegate.state_of = self.state
        delegate.target_words = self._texts
        delegate.tooltip_shown.connect(self._ask)
        rows.selectionModel().currentChanged.connect(self._moved)
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.add(DeliveryChanged, self._changed)
        self._subscriptions.add(DeliveriesQueued, self._changed)
        self._subscriptions.add(TargetChanged, lambda event: rows.viewport().update())

    def stop(self) -> None:
        """Unsubscribe from the bus, and stop reading."""
        self._subscriptions.end()
        self._latest.stop()

    def state(self, summary: Summary) -> State:
        endpoint = self._store.endpoints.by_id(summary.endpoint_id)
        return delivery_state(summary.delivery, endpoint.targets if endpoint is not None else ())

    @Slot(object)
    def _ask(self, summary: Summary) -> None:
        if summary.id not in self._texts and summary.delivery is not DeliveryState.NONE:
            self._reading = summary.id
            self._latest.run(partial(self._read, summary.id))

    @Slot(QModelIndex, QModelIndex)
    def _moved(self, current: QModelIndex, _: QModelIndex) -> None:
        if current.isValid():
            self._ask(current.data(SUMMARY_ROLE))

    def _changed(self, event: DeliveryChanged | DeliveriesQueued) -> None:
        changed = event.shown.keys()
        for name in changed & self._texts.keys():
            del self._texts[name]
        if self._reading in changed:
            self._latest.stop()  # what it reads may be of before
        current: Summary | None = self._rows.currentIndex().data(SUMMARY_ROLE)
        if current is not None and current.id in changed:
            self._ask(current)

    async def _read(self, capture_id: str) -> None:
        text = targets_text(await self._store.deliveries.of_capture(capture_id))
        if len(self._texts) >= KEPT:
            self._texts.clear()
        self._texts[capture_id] = text
        row = self._model.row_of(capture_id)
        if not text or row is None:
            return
        index = self._model.index(row)
        self._model.dataChanged.emit(index, index)
        viewport = self._rows.viewport()
        place = viewport.mapFromGlobal(QCursor.pos())
        if QToolTip.isVisible() and self._rows.indexAt(place) == index:
            QApplication.sendEvent(viewport, QHelpEvent(QHelpEvent.Type.ToolTip, place, QCursor.pos()))


def targets_text(deliveries: Sequence[Delivery]) -> str:
    """`1 of 2 targets failed, 1 delivered`; empty if all went alike. Replays do not count."""
    counts = counted(one.state for one in deliveries if one.replay_id is None)
    if len(counts) < 2:
        return ""
    (first, word), *others = counts
    targets = count_of(sum(count for count, _ in counts), "target")
    return f"{first} of {targets} {word}" + "".join(f", {count} {word}" for count, word in others)
