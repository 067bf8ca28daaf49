"""The palette's entries, which of them match what was typed, and the list that shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QIcon,
    QPainter,
    QPaintEvent,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QWidget

from app.core.fuzzy import match
from app.ui.commands.key_caps import KeyNames, key_caps_width, paint_key_caps, spoken_keys
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.rows import Column, Rows, RowsList, no_tooltip, paint_line
from app.ui.window_file import WindowFile

RECENT_MAX = 5
"""Recently used entries that are listed first while nothing is typed."""
_RECENT_BONUS = 4
"""Points for recent use: of two similar matches, the one used recently comes first."""


@dataclass(frozen=True)
class PaletteEntry:
    """`key` identifies it among the recently used ones; empty if its use is not remembered.

    A search also matches `detail`, `kind` and `synonyms`, but not `reason`, which says why it cannot be run now. The
    texts must be escaped. `icon` is a name of `theme.icons.NAMES`.
    """

    key: str
    text: str
    kind: str
    run: Callable[[], object]
    icon: str | QIcon
    detail: str = ""
    reason: str = ""
    synonyms: str = ""
    key_names: KeyNames = ()


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
    """The format of the matching character at `place`; Qt counts UTF-16 units."""
    style = QTextCharFormat()
    style.setForeground(QColor(tokens.accent_text))
    style.setFontWeight(QFont.Weight.Bold)
    span = QTextLayout.FormatRange()
    span.start = len(text[:place].encode("utf-16-le", "surrogatepass")) // 2
    span.length = len(text[place].encode("utf-16-le", "surrogatepass")) // 2
    span.format = style
    return span
