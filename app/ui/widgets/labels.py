"""Labels that show text as it is, never as markup, and shorten it where space is short; and those with an icon."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap

from PySide6.QtCore import QRect, QSize, Qt, Slot
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QMenu, QSizePolicy, QWidget

from app.ui.theme.theme import Theme

_TOOLTIP_LINE, _TOOLTIP_LINES = 90, 12
_JOINER = "\u2060"
_BREAKS = re.compile(r"[/?&=.-](?=\S)|[^\s/?&=.-]{16}(?=\S)")


def label(
    text: str = "", kind: str = "", parent: QWidget | None = None, *, wrap: bool = False, selectable: bool = False
) -> QLabel:
    """A plain-text label; `kind` is display, title, heading, strong, muted, small, faint, section or error. The mouse
    selects a part of a `selectable` one, to be copied.
    """
    result = QLabel(parent)
    result.setTextFormat(Qt.TextFormat.PlainText)
    result.setText(text)
    result.setWordWrap(wrap)
    if selectable:
        result.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    if kind:
        result.setProperty("kind", kind)
    return result


def show_or_hide(place: QLabel, text: str) -> None:
    """Show `text`; without any, leave the place to others."""
    place.setText(text)
    place.setVisible(bool(text))


def plain_tooltip(text: str) -> str:
    """`text` for `setToolTip`, shown literally: Qt would otherwise guess that it is markup.

    It stays plain text, because screen readers read a tooltip as it is: an invisible word joiner keeps `<` and `&lt;`
    from starting a tag. Long lines are broken, and the middle of a very long text is left out, so that no tooltip
    covers the screen.
    """
    if not text:
        return ""
    most = _TOOLTIP_LINE * _TOOLTIP_LINES
    if len(text) > most:
        text = f"{text[: most // 2]} … {text[-most // 2 :]}"
    lines = [part for line in text.split("\n") for part in _broken(line)]
    if len(lines) > 2 * _TOOLTIP_LINES:
        lines = [*lines[:_TOOLTIP_LINES], "…", *lines[-_TOOLTIP_LINES:]]
    return "\n".join(lines).replace("<", f"<{_JOINER}").replace("&lt;", f"&{_JOINER}lt;")


def _broken(line: str) -> list[str]:
    if len(line) <= _TOOLTIP_LINE:  # `wrap` takes its time, and a window begins with two hundred tooltips.
        return [line]
    return wrap(line, _TOOLTIP_LINE, replace_whitespace=False, expand_tabs=False, break_on_hyphens=False) or [line]


def breakable(text: str) -> str:
    """`text` with zero-width spaces that let long URLs in it wrap; to be shown, not to be copied."""
    return _BREAKS.sub("\\g<0>\u200b", text)


def restyle(widget: QWidget) -> None:
    """Apply the style sheet again after a dynamic property changed."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    widget.update()


def style(widget: QWidget, name: str, value: object) -> None:
    """Give the widget a property that the style sheet knows."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        restyle(widget)


class IconLabel(QLabel):
    """One of `theme.icons.characters`, `size` pixels wide and high, in a token's colour, which follows the theme."""

    def __init__(self, size: int, theme: Theme, parent: QWidget, icon: str = "", colour: str = "text_muted") -> None:
        super().__init__(parent)
        self._size, self._theme, self._icon, self._colour = size, theme, icon, colour
        theme.changed.connect(self._recolour)
        self._recolour()

    def show_icon(self, icon: str, colour: str) -> None:
        if (icon, colour) != (self._icon, self._colour):
            self._icon, self._colour = icon, colour
            self._recolour()

    @Slot()
    def _recolour(self) -> None:
        if self._icon:
            self.setPixmap(self._theme.pixmap(self._icon, self._colour, self._size, self.devicePixelRatioF()))


class ElidedLabel(QLabel):
    """A line that is elided with "…"; the tooltip then has the full text, and Copy in the context menu copies it."""

    def __init__(
        self,
        text: str = "",
        kind: str = "",
        parent: QWidget | None = None,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(parent)
        self._elide, self._meaning = elide, ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        if kind:
            self.setProperty("kind", kind)

    def set_meaning(self, sentence: str) -> None:
        """Set the tooltip and the accessible name, whether or not the text fits."""
        self._meaning = sentence
        self.setAccessibleName(sentence)

    def whole_text(self) -> str:
        """What there would be with enough room."""
        return self.text()

    def shown_text(self) -> str:
        """The text that fits."""
        line = self.text().replace("\r", " ").replace("\n", " ")
        return self.fontMetrics().elidedText(line, self._elide, self.text_rect().width())

    def text_rect(self) -> QRect:
        """The contents without the label's indent."""
        return self.contentsRect().adjusted(max(0, self.indent()), 0, 0, 0)

    def sizeHint(self) -> QSize:
        """The full text's size, so that it is elided only if space is short."""
        margins = self.contentsMargins()
        metrics = self.fontMetrics()
        line = self.whole_text().replace("\n", " ")
        width = metrics.horizontalAdvance(line) + max(0, self.indent()) + margins.left() + margins.right() + 2
        return QSize(width, metrics.height() + margins.top() + margins.bottom())

    def minimumSizeHint(self) -> QSize:
        """A few characters."""
        whole = self.sizeHint()
        return QSize(min(whole.width(), 24), whole.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw what fits; the tooltip is set only if something was cut."""
        elided = self.shown_text()
        tooltip = plain_tooltip(self._meaning or (self.text() if elided != self.text() else ""))
        if tooltip != self.toolTip():
            self.setToolTip(tooltip)
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.text_rect(), int(self.alignment() | Qt.AlignmentFlag.AlignVCenter), elided)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer to copy the full text."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Copy").triggered.connect(self._copy)
        menu.popup(event.globalPos())

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.whole_text())


class UrlLabel(ElidedLabel):
    """Elided in the middle; a URL in its host, because its path is what tells it from others."""

    def shown_text(self) -> str:
        scheme, separator, rest = self.text().partition("://")
        host, slash, path = rest.partition("/")
        shown, room, fm = super().shown_text(), self.text_rect().width(), self.fontMetrics()
        if not separator or shown == self.text():
            return shown
        origin, path = f"{scheme}{separator}{host}", f"{slash}{path}"
        cut = fm.elidedText(origin, Qt.TextElideMode.ElideRight, max(0, room - fm.horizontalAdvance(path)))
        return cut + path if cut else fm.elidedText(path, Qt.TextElideMode.ElideLeft, room)


class FittingLabel(ElidedLabel):
    """`set_wordings` takes the texts from longest to shortest; the first one, or `meaning`, is the tooltip and the
    accessible name.
    """

    def __init__(self, kind: str, parent: QWidget) -> None:
        super().__init__("", kind, parent)
        self._wordings: tuple[str, ...] = ("",)

    def set_wordings(self, wordings: Sequence[str], meaning: str = "") -> None:
        """Show the first text that fits, or else the last."""
        self._wordings = tuple(wordings)
        self.set_meaning(meaning or self._wordings[0])
        self._choose()
        self.updateGeometry()

    def whole_text(self) -> str:
        """The longest, whichever is shown."""
        return self._wordings[0]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._choose()

    def _choose(self) -> None:
        room, fm = self.text_rect().width(), self.fontMetrics()
        # `horizontalAdvance` rounds, so that a text of its width may be elided nevertheless.
        fitting = (text for text in self._wordings if fm.elidedText(text, self._elide, room) == text)
        text = next(fitting, self._wordings[-1])
        if text != self.text():
            self.setText(text)
