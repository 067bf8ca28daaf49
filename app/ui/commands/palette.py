"""The command palette: which entries match what is typed, and the list that shows them over the window; it runs an
entry and restores the focus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QRectF, Qt, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QColor,
    QFocusEvent,
    QFont,
    QFontMetrics,
    QHideEvent,
    QIcon,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QShowEvent,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QApplication, QFrame, QLineEdit, QWidget
from shiboken6 import isValid

from app.core.fuzzy import match
from app.ui.commands.command import PaletteEntry, key_caps_width, paint_key_caps, spoken_keys
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.card import line
from app.ui.widgets.labels import IconLabel
from app.ui.widgets.layout import hbox, vbox
from app.ui.widgets.marked_text import styled, utf16
from app.ui.widgets.rows import Column, Rows, RowsList, no_tooltip, paint_line
from app.ui.window_file import WindowFile

RECENT_MAX = 5
"""Recently used entries that are listed first while nothing is typed."""
_RECENT_BONUS = 4
"""Points for recent use: of two similar matches, the one used recently comes first."""


@dataclass(frozen=True)
class PaletteMatch:
    """An entry and the positions of the matching characters in its text. `last` marks the last recently used one."""

    entry: PaletteEntry
    places: tuple[int, ...] = ()
    last: bool = False


def find(entries: Iterable[PaletteEntry], text: str, recent: Sequence[str]) -> list[PaletteMatch]:
    """Entries that match `text`, the best first: by their text, then by other words. All of them, those of `recent`
    first, if it is empty. Those that cannot be run come last.
    """
    if not text.strip():
        return _all(entries, recent)
    found = []
    for entry in entries:
        fit = match(text, entry.text, (entry.kind, entry.detail, entry.synonyms))
        if fit is not None:
            score = fit.score + (_RECENT_BONUS if entry.key in recent else 0)
            rank = (bool(entry.reason), not fit.positions, -score)
            found.append((rank, PaletteMatch(entry, fit.positions)))
    return [one for _, one in sorted(found, key=itemgetter(0))]


def _all(entries: Iterable[PaletteEntry], recent: Sequence[str]) -> list[PaletteMatch]:
    entries = sorted(entries, key=lambda entry: bool(entry.reason))
    by_key = {entry.key: entry for entry in entries if entry.key and not entry.reason}
    recently_used = [by_key[key] for key in recent if key in by_key][:RECENT_MAX]
    recent_keys = {entry.key for entry in recently_used}
    first = [PaletteMatch(entry, last=number == len(recently_used)) for number, entry in enumerate(recently_used, 1)]
    return first + [PaletteMatch(entry) for entry in entries if entry.key not in recent_keys]


RECENT_KEY = "palette/recent"
RECENT_KEPT = 20
"""More than are shown: some may be deleted, or unavailable for now."""


class RecentEntries:
    """Keys of recently used entries, newest first, in `window.ini`; an unreadable value counts as none."""

    def __init__(self, folder: Path) -> None:
        self._file = WindowFile(folder)

    def keys(self) -> list[str]:
        return self._file.decoded(RECENT_KEY, list[str]) or []

    def use(self, key: str) -> None:
        """`key` was used now."""
        keys = [key, *(other for other in self.keys() if other != key)][:RECENT_KEPT]
        self._file.set_encoded(RECENT_KEY, keys)


ROW = 36
_ICON, _PAD = 16, metrics.SPACE_3
_CAPS_ROOM, _KIND_ROOM, _DETAIL_LEAST = 112, 104, 48


class ResultList(RowsList[PaletteMatch]):
    """Never takes the focus. It is opaque, so that Qt does not repaint what lies below."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        column = Column[PaletteMatch](
            "", lambda result: result.entry.text, tooltip=no_tooltip, spoken=_in_words, paint=partial(_paint, theme)
        )
        self.results = Rows([column], parent)
        super().__init__("Results", self.results, ROW, theme, parent, rounded=True)
        self._theme = theme
        self.setProperty("part", "found")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Fill the background first, as an opaque widget must."""
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), QColor(self._theme.tokens.surface_raised))
        painter.end()
        super().paintEvent(event)


def _in_words(result: PaletteMatch) -> str:
    entry = result.entry
    parts = (entry.text, entry.reason, entry.detail, entry.kind, spoken_keys([entry.key_names]))
    return ", ".join(filter(None, parts))


def _paint(theme: Theme, painter: QPainter, rect: QRect, result: PaletteMatch) -> None:
    """Icon, text with highlighted matches, detail, kind and key caps."""
    entry, tokens = result.entry, theme.tokens
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if result.last:
        painter.fillRect(rect.left() + _PAD, rect.bottom(), rect.width() - 2 * _PAD, 1, QColor(tokens.border))
    icon = entry.icon if isinstance(entry.icon, QIcon) else theme.icon(entry.icon)
    inner = rect.adjusted(_PAD, 0, -_PAD, 0)
    icon.paint(painter, QRect(inner.left(), inner.top() + (ROW - _ICON) // 2, _ICON, _ICON))
    inner.setLeft(inner.left() + _ICON + _PAD)
    inner.setRight(_paint_right_side(painter, inner, entry, tokens) - _PAD)
    _paint_text(painter, inner, result, tokens)


def _paint_right_side(painter: QPainter, rect: QRect, entry: PaletteEntry, tokens: Tokens) -> int:
    """Paint kind and keys, each in a column of its own. Returns their left edge."""
    width = key_caps_width(entry.key_names)
    paint_key_caps(painter, rect.right() + 1 - width, rect.center().y() + 0.5, entry.key_names, tokens)
    begin = rect.right() + 1 - max(_CAPS_ROOM, width + _PAD)
    room = QRect(begin - _KIND_ROOM, rect.top(), _KIND_ROOM, rect.height())
    paint_line(painter, room, entry.kind, ui_font(SMALL), tokens.text_faint)
    return room.left()


def _paint_text(painter: QPainter, rect: QRect, result: PaletteMatch, tokens: Tokens) -> None:
    entry, font = result.entry, ui_font(BASE)
    elided = QFontMetrics(font).elidedText(entry.text, Qt.TextElideMode.ElideRight, rect.width() - 4)
    cut = len(elided) if elided == entry.text else len(elided) - 1
    layout = QTextLayout(elided, font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.NoWrap)
    layout.setTextOption(option)
    layout.setFormats([_highlighted(elided, place, tokens) for place in result.places if place < cut])
    layout.beginLayout()
    line = layout.createLine()
    line.setLineWidth(rect.width())
    layout.endLayout()
    painter.setPen(QColor(tokens.text_faint if entry.reason else tokens.text))
    layout.draw(painter, QPointF(rect.left(), rect.top() + (rect.height() - line.height()) / 2))
    room = rect.adjusted(round(line.naturalTextWidth()) + metrics.SPACE_2, 0, 0, 0)
    if room.width() > _DETAIL_LEAST:
        detail_font = ui_font(SMALL) if entry.reason else mono_font(11)
        paint_line(painter, room, entry.reason or entry.detail, detail_font, tokens.text_faint)


def _highlighted(text: str, place: int, tokens: Tokens) -> QTextLayout.FormatRange:
    """The format of the matching character at `place`."""
    style = QTextCharFormat()
    style.setForeground(QColor(tokens.accent_text))
    style.setFontWeight(QFont.Weight.Bold)
    return styled(utf16(text[:place]), utf16(text[place]), style)


PLACEHOLDER = "Search commands, endpoints and requests"
LENGTH_MAX = 2_000
_TEMPORARY = (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)
"""The focus comes back by itself, from another window or a menu."""
WIDTH, ROWS_MAX = 680, 10
HEADER_HEIGHT = 50
"""Height of the text field with the line below it."""
_SHADOW, _DROP = 28, 8
"""Pixels: the width of the shadow around the panel, and its offset downwards."""


class Palette(QWidget):
    """The panel with its shadow. The window below is not dimmed, because it would have to be repainted. `entries` is
    called at each opening; `typed_entries` are made from the typed text itself, and listed first; `search_entries`
    search for the typed words, and are listed last, so that there is always an entry.
    """

    opening = Signal()
    """Emitted before the entries are read."""

    def __init__(
        self,
        recent: RecentEntries,
        theme: Theme,
        window: QWidget,
        *,
        entries: Callable[[], Sequence[PaletteEntry]],
        typed_entries: Callable[[str], Sequence[PaletteEntry]],
        search_entries: Callable[[str], Sequence[PaletteEntry]],
    ) -> None:
        super().__init__(window)
        self._recent, self._theme = recent, theme
        self.entries, self.typed_entries, self.search_entries = entries, typed_entries, search_entries
        self._entries: Sequence[PaletteEntry] = ()
        self._recent_keys: Sequence[str] = ()
        self._previous_focus: QWidget | None = None
        self.panel = QFrame(self)
        self.field = QLineEdit(self.panel, placeholderText=PLACEHOLDER, maxLength=LENGTH_MAX)
        self.rows = ResultList(theme, self.panel)
        self.model = self.rows.results
        self._search_icon = IconLabel(metrics.ICON, theme, self.panel, "search")
        self._build()
        self.field.textChanged.connect(self._search)
        self.rows.clicked.connect(self._run_entry)
        self.rows.selectionModel().currentChanged.connect(self._report_row)
        self.hide()

    @Slot()
    def toggle(self) -> None:
        """Open it, or close it if it is open."""
        if self.isVisible():
            self.dismiss()
        else:
            self.open()

    @Slot()
    def open(self) -> None:
        """Open it empty, unless a dialog is open."""
        if QApplication.activeModalWidget() is not None:
            return
        self.opening.emit()
        self._entries, self._recent_keys = self.entries(), self._recent.keys()
        self._previous_focus = self.window().focusWidget()
        self.field.clear()
        self._search()
        self._place()
        self.show()
        self.raise_()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    @Slot()
    def dismiss(self) -> None:
        """Close, and restore the focus."""
        previous = self._previous_focus
        # Before hiding: if the hidden field had the focus, Qt would give it to the next widget.
        if previous is not None and isValid(previous) and previous.isVisibleTo(self.window()):
            # As if by a key, to show the focus ring; a text field would select all its text for that.
            is_line = isinstance(previous, QLineEdit)
            previous.setFocus(Qt.FocusReason.OtherFocusReason if is_line else Qt.FocusReason.ShortcutFocusReason)
        else:
            self.field.clearFocus()
        self.hide()

    def showEvent(self, event: QShowEvent) -> None:
        """Watch for clicks beside it, and for the keys of its field."""
        super().showEvent(event)
        QApplication.instance().installEventFilter(self)  # type: ignore[union-attr]

    def hideEvent(self, event: QHideEvent) -> None:
        """Forget the entries: endpoints may be deleted meanwhile."""
        super().hideEvent(event)
        self._entries = ()
        self.model.set_records(())
        if not self.isHidden():
            self.dismiss()  # the window was hidden: it comes back without the palette
        QApplication.instance().removeEventFilter(self)  # type: ignore[union-attr]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the window's size. A click beside the panel only closes the palette; so does a dialog that opens."""
        kind = event.type()
        if watched is self.field:
            if isinstance(event, QFocusEvent) and event.lostFocus() and event.reason() not in _TEMPORARY:
                self.hide()
            return isinstance(event, QKeyEvent) and kind == QEvent.Type.KeyPress and self._take_key(event)
        if isinstance(event, QMouseEvent) and kind == QEvent.Type.MouseButtonPress and self._beside(watched, event):
            self.dismiss()
            return True
        if kind == QEvent.Type.Resize and watched is self.window():
            self._place()
        elif kind == QEvent.Type.WindowBlocked and watched is self.window():
            self.dismiss()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(0, 0, 0, 18 if self._theme.is_dark else 4))
        shadow = QRectF(self.panel.geometry()).translated(0, _DROP)
        for spread in range(_SHADOW - _DROP, 0, -2):
            painter.drawRoundedRect(shadow.adjusted(-spread, -spread, spread, spread), spread + 8, spread + 8)

    def _beside(self, watched: QObject, event: QMouseEvent) -> bool:
        """Whether it is a click in the window, but neither in the panel nor in a menu over it."""
        if not isinstance(watched, QWidget) or watched.window() is not self.window():
            return False
        return not self.panel.rect().contains(self.panel.mapFromGlobal(event.globalPosition().toPoint()))

    @Slot()
    def _search(self) -> None:
        text = self.field.text()
        found = [
            *map(PaletteMatch, self.typed_entries(text)),
            *find(self._entries, text, self._recent_keys),
            *map(PaletteMatch, self.search_entries(text)),
        ]
        self.model.set_records(found)
        self.rows.select_row(0)
        self.rows.scrollToTop()
        self._place()

    def _take_key(self, event: QKeyEvent) -> bool:
        """Whether the key is not one for the field. Tab does nothing."""
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            return True
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._run_entry()
        elif key == Qt.Key.Key_Escape:
            self.dismiss()
        else:
            return self._move(key)
        return True

    def _move(self, key: Qt.Key) -> bool:
        """Up and Down wrap around, other keys that move in a list stop at the ends; whether it is one of them."""
        count, row = max(1, self.model.rowCount()), self.rows.current_row()
        page = max(1, self.rows.viewport().height() // ROW - 1)
        target = {
            Qt.Key.Key_Up: (row - 1) % count,
            Qt.Key.Key_Down: (row + 1) % count,
            Qt.Key.Key_PageUp: max(0, row - page),
            Qt.Key.Key_PageDown: min(count - 1, row + page),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: count - 1,
        }.get(key)
        if target is not None:
            self.rows.select_row(target)
        return target is not None

    @Slot()
    def _run_entry(self) -> None:
        """Close, restore the focus, and only then run the entry: what it does may depend on the focus."""
        result = self.rows.current_record()
        if result is None:
            return
        entry = result.entry
        self.dismiss()
        if entry.key:
            self._recent.use(entry.key)
        entry.run()

    @Slot()
    def _report_row(self) -> None:
        """Let screen readers read the row although the focus stays in the text field."""
        row = self.rows.current_row()
        if row >= 0 and self.isVisible() and QAccessible.isActive():
            focus_event = QAccessibleEvent(self.rows, QAccessible.Event.Focus)
            focus_event.setChild(row)
            QAccessible.updateAccessibility(focus_event)

    def _place(self) -> None:
        window = self.window().size()
        width = min(WIDTH, window.width() - 2 * metrics.SPACE_5)
        top = max(metrics.SPACE_5, window.height() // 10)
        room = min(ROWS_MAX, (window.height() - top - metrics.SPACE_6 - HEADER_HEIGHT) // ROW)
        self.rows.setFixedHeight(ROW * max(1, min(self.model.rowCount(), room)))
        height = HEADER_HEIGHT + self.rows.height() + 2 * metrics.SPACE_2
        left = (window.width() - width) // 2
        self.setGeometry(left - _SHADOW, top - _SHADOW, width + 2 * _SHADOW, height + 2 * _SHADOW)
        self.panel.setGeometry(_SHADOW, _SHADOW, width, height)

    def _build(self) -> None:
        self.setAccessibleName("Command palette")
        self.field.setProperty("frameless", True)
        self.field.setAccessibleName(PLACEHOLDER)
        self.panel.setProperty("part", "popup")
        top_line = QWidget(self.panel)
        top_line.setFixedHeight(HEADER_HEIGHT - 3)
        hbox(
            self._search_icon,
            (self.field, 1),
            inside=top_line,
            spacing=metrics.SPACE_1,
            margins=(metrics.SPACE_4 + 4, 0, metrics.SPACE_3, 0),
        )
        below = vbox(self.rows, margins=metrics.SPACE_2)
        vbox(top_line, line(self.panel), below, inside=self.panel, spacing=0, margins=1)
