"""Notices: their text, on one line and all of it by *Details* where that line is cut; the bar at the top of the window
that shows messages, one at a time; and a short notice above the bottom that hides by itself, and may offer what to do
about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import zip_longest

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Slot
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import QFrame, QGraphicsDropShadowEffect, QWidget
from shiboken6 import isValid

from app.ui.messages import Message, MessageAction, Messages
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.card import TONE_ICONS
from app.ui.widgets.labels import ElidedLabel, FittingLabel, IconLabel, breakable, label, show_or_hide, style
from app.ui.widgets.layout import Stretch, hbox, vbox

_NAME_MAX = 40
"""Characters of a notice that name its button to a screen reader."""


class NoticeText(QWidget):
    """`kind` is that of the label of the line."""

    def __init__(self, theme: Theme, parent: QWidget, kind: str = "") -> None:
        super().__init__(parent)
        self._line = FittingLabel(kind, self)
        self._advice = ElidedLabel("", "muted", self)
        self._all = label("", "small" if kind == "small" else "", self, wrap=True, selectable=True)
        self._all.hide()
        self.details = Button("Details", theme, self, kind="link", compact=True, run=self._toggle)
        self._text, self._open = "", False
        line = hbox(self._line, self._advice, Stretch(), spacing=metrics.SPACE_2)
        centre = Qt.AlignmentFlag.AlignVCenter
        hbox((vbox(line, self._all), 1), (self.details, 0, centre), inside=self, spacing=metrics.SPACE_2)

    def text(self) -> str:
        """All of it, without the advice."""
        return self._text

    def say(self, text: str, *shorter: str, advice: str = "") -> None:
        """Show the first of `text` and `shorter` that fits; `advice` follows where there is room."""
        if (text, advice) != (self._text, self._advice.text()):
            self._open = False
        self._text = text
        self._line.set_wordings((text, *shorter))
        self._advice.setText(advice)
        self._all.setText(breakable(f"{text}\n{advice}".strip()))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        """A font has other widths."""
        done = super().event(event)
        if event.type() in (QEvent.Type.Polish, QEvent.Type.FontChange):
            self._fit()
        return done

    @Slot()
    def _toggle(self) -> None:
        self._open = not self._open
        self._fit()

    def _fit(self) -> None:
        advice = bool(self._advice.text())
        wanted = self._line.sizeHint().width()
        wanted += advice * (metrics.SPACE_2 + self._advice.sizeHint().width())
        whole = wanted <= self.width()
        self._open = self._open and not whole
        self._line.setVisible(not self._open)
        self._advice.setVisible(advice and whole)
        self._all.setVisible(self._open)
        self.details.setVisible(not whole)
        word = "Less" if self._open else "Details"
        self.details.setText(word)
        self.details.setAccessibleName(f"{word}: {self._text[:_NAME_MAX]}")


class ErrorBar(QFrame):
    """Shows the first waiting message and how many follow; hidden while there are none."""

    def __init__(self, messages: Messages, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._messages, self._theme = messages, theme
        self._current: Message | None = None
        self.setProperty("part", "bar")
        self._icon = IconLabel(18, theme, self)
        self._text = NoticeText(theme, self, "strong")
        self._more = label("", "small", self)
        self._buttons = hbox(spacing=metrics.SPACE_2)
        self._dismiss = IconButton("close", "Dismiss", theme, self, run=self.dismiss)
        hbox(
            self._icon,
            (self._text, 1),
            self._buttons,
            self._more,
            self._dismiss,
            inside=self,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_5, metrics.SPACE_2, metrics.SPACE_4, metrics.SPACE_2),
        )
        messages.changed.connect(self._refresh)
        self._refresh()

    def message(self) -> Message | None:
        """The message now shown."""
        return self._current

    @Slot()
    def dismiss(self) -> None:
        """Remove the message shown; the next one follows."""
        if self._current is not None:
            self._messages.withdraw(self._current.key)

    @Slot()
    def _refresh(self) -> None:
        waiting = self._messages.waiting()
        message = waiting[0] if waiting else None
        show_or_hide(self._more, f"{len(waiting) - 1} more" if len(waiting) > 1 else "")
        if message is not self._current:
            self._show(message)
        self.setVisible(message is not None)

    def _show(self, message: Message | None) -> None:
        self._current = message
        while item := self._buttons.takeAt(0):
            if widget := item.widget():
                widget.hide()
                widget.deleteLater()
        if message is None:
            return
        self._text.say(message.text, advice=message.advice)
        self.setAccessibleName(f"{message.text} {message.advice}".strip())
        for action in message.actions:
            button = Button(action.label, self._theme, self)
            button.clicked.connect(partial(self.act, action))
            self._buttons.addWidget(button)
        style(self, "tone", message.tone)
        self._icon.show_icon(*TONE_ICONS[message.tone])

    def act(self, action: MessageAction) -> None:
        """Run `action` and remove its message."""
        self.dismiss()
        action.run()


SHOWN_MS = 5000
BELOW = 48
"""Pixels below it, so that the bar at the bottom of a list stays free."""
ACTIONS_MAX = 2


class Toast(QFrame):
    """One notice at a time over `parent`; a later one replaces it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._actions: Sequence[MessageAction] = ()
        self.setProperty("part", "toast")
        self._text = ElidedLabel("", "", self)
        acts = [partial(self._act, number) for number in range(ACTIONS_MAX)]
        self.buttons = [Button("", theme, self, kind="link", run=act) for act in acts]
        for button in self.buttons:
            button.hide()
        hbox(
            (self._text, 1),
            *self.buttons,
            inside=self,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_4, metrics.SPACE_2, metrics.SPACE_3, metrics.SPACE_2),
        )
        shadow = QGraphicsDropShadowEffect(self)
        shadow.setBlurRadius(24)
        shadow.setOffset(0, 4)
        shadow.setColor(QColor(0, 0, 0, 70))
        self.setGraphicsEffect(shadow)
        self._timer = QTimer(self, singleShot=True, interval=SHOWN_MS)
        self._timer.timeout.connect(self.hide)
        parent.installEventFilter(self)
        self.hide()

    def say(self, text: str, *actions: MessageAction) -> None:
        """Show `text` for a while, with a button for each action, unless the window was closed meanwhile."""
        if not isValid(self):
            return
        self._text.setText(text)
        self._actions = actions
        for button, action in zip_longest(self.buttons, actions):
            button.setText(action.label if action is not None else "")
            button.setVisible(action is not None)
        # Without a button clicks go to what lies below.
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, not actions)
        self._place()
        self.show()
        self.raise_()
        self._timer.start()

    def take_back(self, text: str) -> None:
        """Hide it if it still shows `text`, which is no longer true."""
        if self._text.text() == text:
            self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay within the parent."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        """Bottom centre."""
        parent = self.parentWidget()
        if parent is not None:
            width = min(self.sizeHint().width(), parent.width() - 2 * metrics.SPACE_5)
            self.resize(width, self.sizeHint().height())
            self.move((parent.width() - width) // 2, max(0, parent.height() - self.height() - BELOW))

    def _act(self, number: int) -> None:
        self.hide()
        self._actions[number].run()
