"""The surfaces of pages and cards, hairlines, boxes with a notice, and what a page shows that has nothing else: why and
what to do.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from app.ui.messages import MessageTone
from app.ui.theme import metrics
from app.ui.theme.icons import mark
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.fit_screen import Scrolling
from app.ui.widgets.focus import focus_first
from app.ui.widgets.labels import ElidedLabel, IconLabel, label, style
from app.ui.widgets.layout import Space, Stretch, fill, hbox, vbox

TONE_ICONS = {"danger": ("failed", "danger"), "warning": ("warning", "warning"), "info": ("info", "accent_text")}


class NoticeBox(QFrame):
    """Hidden while it has no text. Its `icon` is that of the tone unless another is given, with its colour. Add buttons
    to `buttons`."""

    def __init__(self, tone: MessageTone, theme: Theme, parent: QWidget, icon: tuple[str, str] | None = None) -> None:
        super().__init__(parent)
        self.setProperty("part", "notice")
        self.setProperty("tone", tone)
        self._icon = IconLabel(16, theme, self, *(icon or TONE_ICONS[tone]))
        self.text = label("", "", self, wrap=True, selectable=True)
        self.buttons = hbox(spacing=metrics.SPACE_2)
        hbox(
            (self._icon, 0, Qt.AlignmentFlag.AlignTop),
            (self.text, 1),
            self.buttons,
            inside=self,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_3, metrics.SPACE_2),
        )
        self.hide()

    def show_text(self, text: str, tone: MessageTone | None = None) -> None:
        """Show `text`; an empty one hides the notice."""
        if tone is not None:
            style(self, "tone", tone)
            self._icon.show_icon(*TONE_ICONS[tone])
        self.text.setText(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))


class Page(QWidget):
    """A page of the window. `header` has its title and what it is about; buttons may follow."""

    def __init__(self, title: str, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.about = ElidedLabel(text, "muted", self)
        words = vbox(label(title, "display", self), self.about, spacing=2)
        self.header = hbox((words, 1), spacing=metrics.SPACE_2)

    def take_focus(self) -> None:
        """Put the keyboard into its first control, or into its list if it has one."""
        focus_first(self)


class Card(QFrame):
    """A raised surface; add content to `body`."""

    def __init__(self, parent: QWidget | None = None, *, padding: int = metrics.SPACE_4) -> None:
        super().__init__(parent)
        self.setProperty("part", "card")
        self.body = vbox(inside=self, spacing=metrics.SPACE_2, margins=padding)


def line(parent: QWidget | None = None, *, vertical: bool = False) -> QFrame:
    result = QFrame(parent)
    result.setProperty("part", "line")
    if vertical:
        result.setFixedWidth(1)
        result.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
    else:
        result.setFixedHeight(1)
        result.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return result


TEXT_WIDTH = 440
SCROLL_BAR = 14
LEAST = QSize(160, 80)
"""The minimum height in pixels; if there is less, the content scrolls."""

EMPTY_WIDTH = 280
"""Width in pixels of the text in a pane that may be narrow."""

TILE_FROM = 240
"""Pixels of height from which there is room for the icon."""


class EmptyState(QWidget):
    """Icon (empty: Hookline's mark), title, text and at most one action, centred; `body` takes more below them."""

    action = Signal()

    def __init__(
        self,
        icon: str,
        title: str,
        text: str,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        action: str | None = None,
    ) -> None:
        super().__init__(parent)
        content = QWidget(self)
        self.tile, self.tile_from = QFrame(content), TILE_FROM
        self.tile.setFixedSize(64, 64)
        if icon:
            self.tile.setProperty("part", "tile")
        picture = IconLabel(28, theme, self.tile, icon, "accent_text")
        picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        if not icon:
            picture.setPixmap(mark(52))
        vbox(picture, inside=self.tile)
        self.title = label(title, "heading", content)
        self.title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.text = label(text, "muted", content, wrap=True)
        self.text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._text_width = TEXT_WIDTH
        self.body = vbox(Stretch(2), inside=content, spacing=metrics.SPACE_2, margins=metrics.SPACE_5)
        centre = Qt.AlignmentFlag.AlignHCenter
        # An alignment flag would give a wrapped label the height of one line; stretches do not.
        self._row = hbox(Stretch(), self.text, Stretch())
        fill(self.body, (self.tile, 0, centre), Space(metrics.SPACE_2), (self.title, 0, centre), self._row)
        self.button: Button | None = None
        if action:
            self.button = Button(action, theme, content, kind="primary")
            self.button.clicked.connect(self.action)
            fill(self.body, Space(metrics.SPACE_2), (self.button, 0, centre))
        self.body.addStretch(3)
        vbox(Scrolling(content, LEAST, self), inside=self)
        self.set_text_width(TEXT_WIDTH)

    def say(self, title: str, text: str) -> None:
        self.title.setText(title)
        self.text.setText(text)

    def set_text_width(self, most: int) -> None:
        """Wrap the text at this width, or earlier if the page is narrower."""
        self._text_width = most
        self.text.setFixedWidth(max(LEAST.width(), min(most, self.text_room())))
        self._row.invalidate()  # Qt forgets the height it had for another width or text only with the next layout

    def text_room(self) -> int:
        """The width in pixels between the margins and beside a scroll bar; before layout, unlimited."""
        if not self.testAttribute(Qt.WidgetAttribute.WA_Resized):
            return TEXT_WIDTH
        margins = self.body.contentsMargins()
        return self.width() - margins.left() - margins.right() - SCROLL_BAR

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a low pane the icon gives way to the words."""
        super().resizeEvent(event)
        self.tile.setVisible(self.height() >= self.tile_from)
        self.set_text_width(self._text_width)
