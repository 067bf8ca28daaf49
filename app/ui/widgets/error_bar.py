"""The bar at the top of the window that shows messages, one at a time."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QWidget

from app.ui.messages import Message, MessageAction, Messages
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.card import TONE_ICONS
from app.ui.widgets.labels import IconLabel, label, restyle
from app.ui.widgets.layout import hbox
from app.ui.widgets.notice_text import NoticeText


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
        self._dismiss = IconButton("close", "Dismiss", theme, self)
        self._dismiss.clicked.connect(self.dismiss)
        self._lay_out()
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

    def _lay_out(self) -> None:
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

    @Slot()
    def _refresh(self) -> None:
        waiting = self._messages.waiting()
        message = waiting[0] if waiting else None
        self._more.setText(f"{len(waiting) - 1} more" if len(waiting) > 1 else "")
        self._more.setVisible(len(waiting) > 1)
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
        self.setProperty("tone", message.tone)
        restyle(self)
        self._icon.show_icon(*TONE_ICONS[message.tone])

    def act(self, action: MessageAction) -> None:
        """Run `action` and remove its message."""
        self.dismiss()
        action.run()
