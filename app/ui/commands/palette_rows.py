"""The palette's list: a model of what was found, and rows painted whole, with the letters found in the accent."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QSize,
    Qt,
    Slot,
)
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
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.ui.commands.key_caps import caps_width, paint_caps, spoken
from app.ui.commands.palette_entry import PaletteMatch
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens

ROW = 36
_FOUND = Qt.ItemDataRole.UserRole
_ICON, _PAD = 16, metrics.SPACE_3
_CAPS_ROOM, _KIND_ROOM, _DETAIL_LEAST = 112, 104, 48

Index = QModelIndex | QPersistentModelIndex


class FoundModel(QAbstractListModel):
    """What was found, the best first."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._rows: Sequence[PaletteMatch] = ()

    def show(self, rows: Sequence[PaletteMatch]) -> None:
        """List these."""
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def at(self, row: int) -> PaletteMatch:
        """The one in this row."""
        return self._rows[row]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        """How many there are."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The text; in words what the row shows; the found itself."""
        found = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return found.entry.text
        if role == Qt.ItemDataRole.AccessibleTextRole:
            entry = found.entry
            return ", ".join(part for part in (entry.text, entry.detail, entry.kind, spoken([entry.caps])) if part)
        return found if role == _FOUND else None


class FoundList(QListView):
    """Never takes the keyboard. It says that nothing shines through it, so that what lies below is not drawn anew."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setItemDelegate(FoundRow(theme, self))
        self.setProperty("part", "found")
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Results")
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The ground first, as promised."""
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), QColor(self._theme.tokens.surface_raised))
        painter.end()
        super().paintEvent(event)


class FoundRow(QStyledItemDelegate):
    """Icon, text with what was found in it, detail, kind, key caps."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icons: dict[str, QIcon] = {}
        theme.changed.connect(self._forget_icons)
        self._text, self._small, self._mono = ui_font(BASE), ui_font(SMALL), mono_font(11)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """One height for all."""
        return QSize(100, ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the row."""
        found: PaletteMatch = index.data(_FOUND)
        entry, tokens = found.entry, self._theme.tokens
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect: QRect = option.rect
        self._ground(painter, option, tokens)
        if found.last:
            painter.fillRect(rect.left() + _PAD, rect.bottom(), rect.width() - 2 * _PAD, 1, QColor(tokens.border))
        icon = self._icon(entry.icon)
        inner = rect.adjusted(_PAD, 0, -_PAD, 0)
        icon.paint(painter, QRect(inner.left(), inner.top() + (ROW - _ICON) // 2, _ICON, _ICON))
        inner.setLeft(inner.left() + _ICON + _PAD)
        inner.setRight(self._right_side(painter, inner, found, tokens) - _PAD)
        self._words(painter, inner, found, tokens)
        painter.restore()

    def _icon(self, icon: str | QIcon) -> QIcon:
        """Made once: drawing a glyph into an icon costs more than all else in a row."""
        if isinstance(icon, QIcon):
            return icon
        if icon not in self._icons:
            self._icons[icon] = self._theme.icon(icon)
        return self._icons[icon]

    @Slot()
    def _forget_icons(self) -> None:
        self._icons.clear()

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem, tokens: Tokens) -> None:
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.selection if selected else tokens.hover))
            painter.drawRoundedRect(option.rect.adjusted(0, 1, 0, -1), metrics.RADIUS, metrics.RADIUS)

    def _right_side(self, painter: QPainter, rect: QRect, found: PaletteMatch, tokens: Tokens) -> int:
        """Kind and keys, each in a column of its own; where they begin."""
        caps = found.entry.caps
        width = caps_width(caps)
        paint_caps(painter, rect.right() + 1 - width, rect.center().y() + 0.5, caps, tokens)
        begin = rect.right() + 1 - max(_CAPS_ROOM, width + _PAD)
        painter.setFont(self._small)
        painter.setPen(QColor(tokens.text_faint))
        room = QRect(begin - _KIND_ROOM, rect.top(), _KIND_ROOM, rect.height())
        kind = painter.fontMetrics().elidedText(found.entry.kind, Qt.TextElideMode.ElideRight, _KIND_ROOM)
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, kind)
        return room.left()

    def _words(self, painter: QPainter, rect: QRect, found: PaletteMatch, tokens: Tokens) -> None:
        fm = QFontMetrics(self._text)
        shown = fm.elidedText(found.entry.text, Qt.TextElideMode.ElideRight, rect.width() - 4)
        cut = len(shown) if shown == found.entry.text else len(shown) - 1
        layout = QTextLayout(shown, self._text)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.NoWrap)
        layout.setTextOption(option)
        layout.setFormats([_lit(shown, place, tokens) for place in found.places if place < cut])
        layout.beginLayout()
        line = layout.createLine()
        line.setLineWidth(rect.width())
        layout.endLayout()
        painter.setPen(QColor(tokens.text))
        layout.draw(painter, QPointF(rect.left(), rect.top() + (rect.height() - line.height()) / 2))
        left = rect.left() + round(line.naturalTextWidth()) + metrics.SPACE_2
        if found.entry.detail and rect.right() - left >= _DETAIL_LEAST:
            painter.setFont(self._mono)
            painter.setPen(QColor(tokens.text_faint))
            room = QRect(left, rect.top(), rect.right() - left, rect.height())
            detail = painter.fontMetrics().elidedText(
                found.entry.detail, Qt.TextElideMode.ElideRight, rect.right() - left
            )
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, detail)


def _lit(text: str, place: int, tokens: Tokens) -> QTextLayout.FormatRange:
    """How the letter at `place` stands out; Qt counts UTF-16 units."""
    style = QTextCharFormat()
    style.setForeground(QColor(tokens.accent_text))
    style.setFontWeight(QFont.Weight.Bold)
    lit = QTextLayout.FormatRange()
    lit.start = len(text[:place].encode("utf-16-le", "surrogatepass")) // 2
    lit.length = len(text[place].encode("utf-16-le", "surrogatepass")) // 2
    lit.format = style
    return lit
