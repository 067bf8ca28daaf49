"""One endpoint on the dashboard: a painted row with a switch, a copy button and a menu button, and its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.core.model import Counts, Endpoint, StorageUse
from app.core.text import count_of, exact_time, use_text
from app.core.worst_state import State
from app.ui.deliveries.words import more_text
from app.ui.state_look import LOOKS, Look
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.badge import count_text, paint_box, paint_tags, tags_text
from app.ui.widgets.buttons import CopyButton, IconButton, PaintedButton
from app.ui.widgets.fields import Switch
from app.ui.widgets.labels import plain_tooltip
from app.ui.widgets.rows import paint_line

_EDGE = metrics.SPACE_4
_SWITCH, _MENU, _GAP = 48, 28, metrics.SPACE_5
_WIDE = {"target": 168, "retention": 72, "requests": 128, "activity": 120}
_NARROW = {"target": 120, "retention": 60, "requests": 104, "activity": 0}
_NARROWER = {**_NARROW, "retention": 0}
_NARROWEST = {**_NARROWER, "target": 96, "requests": 86}
"""The slug of a URL comes before the retention, and before the whole host of the target."""
_ROOMY = {**_WIDE, "target": 320}
_WIDTHS = ((_ROOMY, 1240), (_WIDE, 860), (_NARROW, 700), (_NARROWER, 620), (_NARROWEST, 0))
"""With the width of the row from which they are used."""


@dataclass(frozen=True)
class Columns:
    """One rectangle per column, as high as the row."""

    switch: QRect
    name: QRect
    target: QRect
    retention: QRect
    requests: QRect
    activity: QRect
    menu: QRect

    @classmethod
    def of(cls, width: int, height: int) -> Columns:
        """The columns of a row of this width; the name column takes the remaining space."""
        widths = next(widths for widths, least in _WIDTHS if width >= least)
        right = width - _EDGE - _MENU + 6
        menu = QRect(right, 0, _MENU, height)
        placed: dict[str, QRect] = {}
        for name in ("activity", "requests", "retention", "target"):
            gap = 0 if not widths[name] else metrics.SPACE_4 if name == "activity" else _GAP
            right -= gap + widths[name]
            placed[name] = QRect(right, 0, widths[name], height)
        left = _EDGE + _SWITCH
        return cls(
            switch=QRect(_EDGE - 3, 0, _SWITCH, height),
            name=QRect(left, 0, max(0, right - _GAP - left), height),
            menu=menu,
            **placed,
        )


def paint_sparkline(painter: QPainter, rect: QRectF, values: Sequence[float], tokens: Tokens) -> None:
    """Paint `values` as bars filling `rect`, the highest at full height; without any, a faint baseline."""
    if not values or rect.width() < len(values):
        return
    painter.save()
    top = max(values)
    step = rect.width() / len(values)
    for i, value in enumerate(values):
        height = max(3.0, rect.height() * value / top) if value else 2.0
        bar = QRectF(rect.left() + i * step, rect.bottom() - height, max(1.0, step - 2), height)
        paint_box(painter, bar, 1, tokens.accent if value else tokens.border_strong)
    painter.restore()


HEIGHT = 64
_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


@dataclass(frozen=True)
class RowContents:
    """The contents of a row. `mark` says why `url` may not work, `last` is the age of the latest request as text, `use`
    the endpoint's use of its own storage limit, and `read_only` why it cannot be switched.
    """

    endpoint: Endpoint
    url: str
    mark: str
    counts: Counts
    state: State
    activity: tuple[int, ...]
    last: str
    use: StorageUse
    read_only: str | None = None

    @property
    def look(self) -> Look | None:
        """None if there is nothing to say: it is on, has no target, and nothing is wrong."""
        if self.state in LOOKS:
            return LOOKS[self.state]
        if not self.endpoint.active:
            return Look("Switched off", "off", "text_faint")
        if not self.endpoint.forward_url:
            return None
        on = any(target.active for target in self.endpoint.targets)
        return Look("No deliveries yet" if on else "Forwarding is off", "forward", "text_faint")


class UrlLine:
    """A capture URL, measured once. Where it does not fit, what all endpoints share is left out: the base URL, then all
    but the slug. `widest` has the pixels of these wordings in any row, so that all rows choose the same one.
    """

    def __init__(self, url: str, *, marked: bool) -> None:
        self._left = 22 if marked else 0
        mono = QFontMetrics(mono_font())
        path = urlsplit(url).path
        self._wordings = url, path, path.rpartition("/")[2]
        # An advance is rounded, down too.
        self.widths = self.widest = tuple(mono.horizontalAdvance(text) + 1 for text in self._wordings)

    def room(self, name: QRect) -> QRect:
        """The rectangle of the URL in the name column, behind its mark."""
        return QRect(name.left() + self._left, 33, name.width() - 30 - self._left, 18)

    def fitting_text(self, width: int) -> str:
        """The text drawn in `width` pixels."""
        return self._wordings[self._fitting(width)]

    def end(self, room: QRect) -> int:
        """The right edge of the text drawn in `room`."""
        return room.left() + min(self.widths[self._fitting(room.width())], room.width())

    def _fitting(self, width: int) -> int:
        return next((place for place, most in enumerate(self.widest) if most <= width), len(self.widest) - 1)


def paint_row(painter: QPainter, contents: RowContents, url: UrlLine, columns: Columns, theme: Theme) -> None:
    """Draw everything that is not a control."""
    tokens = theme.tokens
    _paint_name(painter, contents, url, columns.name, theme)
    _paint_target(painter, contents, columns.target, theme)
    _text(painter, columns.retention, count_of(contents.endpoint.retention_days, "day"), tokens.text_muted, ui_font())
    _paint_requests(painter, contents, columns.requests, tokens)
    paint_sparkline(painter, QRectF(columns.activity.adjusted(0, 18, 0, -19)), contents.activity, tokens)


def full_text(use: StorageUse) -> str:
    """What happens at an endpoint's storage limit, once it is reached."""
    if not use.reached:
        return ""
    return "Storage full: not capturing" if use.capturing_stopped else "Storage full: oldest deleted"


def _paint_name(painter: QPainter, contents: RowContents, url: UrlLine, room: QRect, theme: Theme) -> None:
    tokens = theme.tokens
    endpoint, full = contents.endpoint, full_text(contents.use)
    top = QRect(room.left(), 12, room.width(), 20)
    colour = tokens.text if endpoint.active else tokens.text_muted
    used = _text(painter, top, endpoint.name, colour, ui_font(BASE, QFont.Weight.DemiBold))
    rest = top.adjusted(used + 10, 0, 0, 0)
    if full:
        colour = tokens.danger if contents.use.capturing_stopped else tokens.warning
        # Before the tags, which are cut for it.
        rest.adjust(_text(painter, rest, full, colour, ui_font(SMALL, QFont.Weight.DemiBold)) + 10, 0, 0, 0)
    tagged = paint_tags(painter, rest, endpoint.tags, tokens)
    if not full and endpoint.description:
        rest.adjust(tagged + 6 if tagged else 0, 0, 0, 0)
        _text(painter, rest, " ".join(endpoint.description.split()), tokens.text_faint, ui_font(SMALL))
    url_room = url.room(room)
    if contents.mark:
        theme.icon("warning", "warning").paint(painter, QRect(room.left(), url_room.top() + 1, 16, 16))
    _text(painter, url_room, url.fitting_text(url_room.width()), tokens.text_muted, mono_font())


def _paint_target(painter: QPainter, contents: RowContents, room: QRect, theme: Theme) -> None:
    tokens, target = theme.tokens, contents.endpoint.forward_url
    if contents.look is not None:
        icon = theme.icon(contents.look.icon, contents.look.colour)
        icon.paint(painter, QRect(room.left(), HEIGHT // 2 - 8, 16, 16))
    words, font = room.adjusted(22, 0, 0, 0), ui_font()
    if not target:
        _text(painter, words, contents.look.words if contents.look is not None else "", tokens.text_muted, font)
        return
    parts, more = urlsplit(target), more_text(contents.endpoint.targets)
    if more and QFontMetrics(font).horizontalAdvance(more) > words.width() // 2:
        more = f" +{len(contents.endpoint.targets) - 1}"
    needed = QFontMetrics(font).horizontalAdvance(more) + 1  # an advance is rounded, down too
    used = _text(painter, words.adjusted(0, 0, -needed, 0), parts.netloc + parts.path, tokens.text_muted, font)
    if more:
        _text(painter, words.adjusted(used, 0, 0, 0), more, tokens.text_faint, font)


def _paint_requests(painter: QPainter, contents: RowContents, room: QRect, tokens: Tokens) -> None:
    counts = contents.counts
    top, bottom = QRect(room.left(), 12, room.width(), 20), QRect(room.left(), 33, room.width(), 18)
    used = _text(painter, top, f"{counts.total:,}", tokens.text, ui_font(BASE, QFont.Weight.DemiBold))
    if counts.unread:
        fresh = ui_font(SMALL, QFont.Weight.DemiBold)
        rest = top.adjusted(used + 6, 0, 0, 0)
        _text(painter, rest, unread_text(counts.unread, rest.width(), fresh), tokens.accent_text, fresh)
    _text(painter, bottom, contents.last, tokens.text_faint, ui_font(SMALL))


def unread_text(unread: int, width: int, font: QFont) -> str:
    """The unread count in full, or shortened if it does not fit into `width` pixels, at last as in the sidebar."""
    short, fm = count_text(unread), QFontMetrics(font)
    wordings = (f"{unread:,} new", f"{short} new")
    fitting = (text for text in wordings if fm.elidedText(text, Qt.TextElideMode.ElideRight, width) == text)
    return next(fitting, short)


def _text(painter: QPainter, room: QRect, text: str, colour: str, font: QFont) -> int:
    """Draw one elided line if there is any `room`, and return its width."""
    return paint_line(painter, room, text, font, colour) if room.width() > 8 else 0


class DashboardRow(PaintedButton):
    """A click or Enter opens the endpoint (`clicked`). Tab stops once; Left and Right go to its controls and back."""

    menu_requested = Signal(object, object)
    switched = Signal(object, bool)
    url_copied = Signal(object)

    def __init__(self, contents: RowContents, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.contents = contents
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.switch = Switch("", theme, self)
        self.switch.clicked.connect(self._switch_clicked)
        self.copy_button = CopyButton(contents.url, "URL", theme, self)
        self.copy_button.clicked.connect(self._url_copied)
        self.menu_button = IconButton("more", "More", theme, self, run=self._menu_clicked)
        self._stops: tuple[QWidget, ...] = (self, self.switch, self.copy_button, self.menu_button)
        for control in self._stops[1:]:
            control.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
            control.installEventFilter(self)
        self._show(contents)
        self.switch.set_value(contents.endpoint.active)

    def show_contents(self, contents: RowContents) -> None:
        """Repaint if they changed."""
        if contents != self.contents:
            self._show(contents)

    def _show(self, contents: RowContents) -> None:
        self.contents = contents
        endpoint = contents.endpoint
        self.setAccessibleName(endpoint.name)
        words = (
            f"{contents.look.words}." if contents.look is not None else "",
            contents.mark,
            full_text(contents.use),
            endpoint.description,
            tags_text(endpoint.tags),
            count_of(contents.counts.total, "request"),
        )
        self.setAccessibleDescription(" ".join(filter(None, words)))
        self.switch.setAccessibleName(f"{endpoint.name} active")
        self.menu_button.setAccessibleName(f"More actions for {endpoint.name}")
        self.switch.setChecked(endpoint.active)
        self.switch.setEnabled(contents.read_only is None)
        self.switch.setToolTip(plain_tooltip(contents.read_only or ""))
        self.copy_button.text_to_copy = contents.url
        self.url = UrlLine(contents.url, marked=bool(contents.mark))
        self._place()
        self.update()

    def shorten_url(self, widest: tuple[int, ...]) -> None:
        """Leave out of the URL what other rows have no room for: see `UrlLine`."""
        if widest != self.url.widest:
            self.url.widest = widest
            self._place()
            self.update()

    def sizeHint(self) -> QSize:
        """Two lines and padding."""
        return QSize(760, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """Narrow enough for the smallest window."""
        return QSize(560, HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._step(event):
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The arrow keys in a control."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and self._step(event):
            return True
        return super().eventFilter(watched, event)

    def _step(self, event: QKeyEvent) -> bool:
        """Move the focus inside the row; returns whether the key does that."""
        step = _STEPS.get(Qt.Key(event.key()))
        if step is None:
            return False
        stops = [one for one in self._stops if one.isEnabled()]
        at = next((place for place, one in enumerate(stops) if one.hasFocus()), 0) + step
        stops[max(0, min(at, len(stops) - 1))].setFocus(Qt.FocusReason.TabFocusReason)
        return True

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_requested.emit(self.contents.endpoint, event.globalPos())

    def event(self, event: QEvent) -> bool:
        """Each column has its own tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), plain_tooltip(self.tooltip_at(event.pos())), self)
            return True
        return super().event(event)

    def tooltip_at(self, place: QPoint) -> str:
        """The tooltip of the column at `place`."""
        contents, columns = self.contents, self._columns()
        if columns.target.contains(place) and contents.look is not None:
            return "\n".join((*(target.url for target in contents.endpoint.targets), contents.look.words))
        if columns.requests.contains(place) and contents.counts.last_received_at is not None:
            return f"Last request {exact_time(contents.counts.last_received_at)}"
        if columns.retention.contains(place) and contents.use.limit is not None:
            return f"{use_text(contents.use.used, contents.use.limit)} stored"
        if columns.activity.contains(place):
            return f"{count_of(sum(contents.activity), 'request')} in the last hour"
        if columns.name.contains(place):
            endpoint = contents.endpoint
            lines = (endpoint.name, endpoint.description, tags_text(endpoint.tags), contents.url, contents.mark)
            return "\n".join(filter(None, lines))
        return ""

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens, columns = self.theme.tokens, self._columns()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse():
            painter.fillRect(self.rect(), QColor(tokens.hover))
        painter.fillRect(QRect(0, 0, self.width(), 1), QColor(tokens.border))
        paint_row(painter, self.contents, self.url, columns, self.theme)
        self.paint_ring(painter, QRectF(self.rect()).adjusted(2, 2, -2, -3), 2)

    def _columns(self) -> Columns:
        return Columns.of(self.width(), HEIGHT)

    def _place(self) -> None:
        columns = self._columns()
        for widget in (self.switch, self.copy_button, self.menu_button):
            widget.resize(widget.sizeHint())
        self.switch.move(columns.switch.left(), (HEIGHT - self.switch.height()) // 2)
        room = self.url.room(columns.name)
        middle = room.center().y() - self.copy_button.height() // 2
        self.copy_button.move(self.url.end(room) + 4, middle)
        self.menu_button.move(columns.menu.left(), (HEIGHT - self.menu_button.height()) // 2)

    @Slot()
    def _switch_clicked(self) -> None:
        self.switched.emit(self.contents.endpoint, self.switch.isChecked())

    @Slot()
    def _url_copied(self) -> None:
        self.url_copied.emit(self.contents.endpoint)

    @Slot()
    def _menu_clicked(self) -> None:
        place = self.menu_button.mapToGlobal(self.menu_button.rect().bottomLeft())
        self.menu_requested.emit(self.contents.endpoint, place)
