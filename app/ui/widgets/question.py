"""Dialogs that ask: for confirmation before something that cannot be undone, or which of several options to take."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QDialog, QWidget
from shiboken6 import isValid

from app.ui.tasks import cancel_unless_there
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, Kind
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.labels import label

WIDTH = 440


class QuestionText(NamedTuple):
    """A question's texts, and whether there is anything to confirm."""

    title: str
    text: str
    confirm: str
    possible: bool = True


class Question(Dialog):
    """A title that names the action, what is deleted with it, and two buttons that say what they do."""

    def __init__(
        self,
        title: str,
        text: str,
        confirm: str,
        theme: Theme,
        parent: QWidget | None,
        *,
        kind: Kind = "danger",
        cancel: str = "Cancel",
    ) -> None:
        super().__init__(title, theme, parent)
        self.title.setWordWrap(True)
        self.text = label(text, "muted", self, wrap=True)
        self.body.addWidget(self.text)
        self.cancel = Button(cancel, theme, self)
        self.confirm = Button(confirm, theme, self, kind=kind)
        self.option: QCheckBox | None = None
        self.option_checked = False
        """Whether the option is checked. A bool, because the box no longer exists once the question is answered."""
        self._without = self._with = QuestionText(title, text, confirm)
        self.footer.addStretch(1)
        self.footer.addWidget(self.cancel)
        self.footer.addWidget(self.confirm)
        self.cancel.clicked.connect(self.reject)
        self.confirm.clicked.connect(self.accept)
        self.cancel.setDefault(True)
        self.cancel.setFocus()
        self.setFixedWidth(WIDTH)

    def showEvent(self, event: QShowEvent) -> None:
        """Qt measures wrapped text at the width it would like to have, so a long one would have to be scrolled."""
        if not event.spontaneous():
            self.resize(self.sized_for(WIDTH))
        super().showEvent(event)

    def offer(self, option: str, texts: QuestionText) -> None:
        """Add an option, checked by default; these are the texts while it is checked."""
        self._with = texts
        self.option = QCheckBox(option, self)
        self.option.setChecked(True)
        self.body.addWidget(self.option)
        self.option.toggled.connect(self._show_option)
        self._show_option(True)

    @Slot(bool)
    def _show_option(self, option_checked: bool) -> None:
        texts = self._with if option_checked else self._without
        self.option_checked = option_checked
        self.setWindowTitle(texts.title)
        self.title.setText(texts.title)
        self.text.setText(texts.text)
        self.confirm.setText(texts.confirm)
        self.confirm.setEnabled(texts.possible)

    async def answer(self) -> bool:
        """Open the dialog and return whether the user confirmed."""
        return await result_of(self) == QDialog.DialogCode.Accepted


async def ask(parent: QWidget, theme: Theme, title: str, text: str, confirm: str, *, kind: Kind = "danger") -> bool:
    """Ask over `parent`; the waiting task is cancelled if that was closed. The question closes if the task is
    cancelled.
    """
    cancel_unless_there(parent)
    return await Question(title, text, confirm, theme, parent, kind=kind).answer()


async def result_of(dialog: QDialog) -> int:
    """Open `dialog` and wait until it is finished, without a nested event loop.

    The waiting task is cancelled if the dialog is deleted with its parent, which tells no result.
    """
    waiter = _Waiter()
    dialog.finished.connect(waiter.finish)
    dialog.destroyed.connect(waiter.cancel)
    dialog.open()
    try:
        return await waiter.future
    finally:
        if isValid(dialog) and (not waiter.future.done() or waiter.future.cancelled()):
            dialog.reject()


class _Waiter:
    """Passes a dialog's result to a future."""

    def __init__(self) -> None:
        self.future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def finish(self, code: int) -> None:
        if not self.future.done():
            self.future.set_result(code)

    def cancel(self) -> None:
        self.future.cancel()


@dataclass(frozen=True)
class DialogOption:
    """One option: the button's label and kind."""

    text: str
    kind: Kind = "secondary"


class ChoiceDialog(Dialog):
    """Says what is wrong and offers options; the last one has the focus, and Esc selects none."""

    def __init__(
        self, title: str, text: str, options: tuple[DialogOption, ...], theme: Theme, parent: QWidget | None
    ) -> None:
        super().__init__(title, theme, parent)
        self.title.setWordWrap(True)
        self.text = label(text, "muted", self, wrap=True)
        self.body.addWidget(self.text)
        self.footer.addStretch(1)
        self.buttons: list[Button] = []
        for number, option in enumerate(options, 1):
            button = Button(option.text, theme, self, kind=option.kind)
            button.clicked.connect(partial(self.done, number))
            self.footer.addWidget(button)
            self.buttons.append(button)
        self.buttons[-1].setDefault(True)
        self.buttons[-1].setFocus()
        self.setFixedWidth(480)


async def choose(
    title: str, text: str, options: tuple[DialogOption, ...], theme: Theme, parent: QWidget | None = None
) -> DialogOption | None:
    """The option the user chose; None when the dialog was closed without a choice."""
    number = await result_of(ChoiceDialog(title, text, options, theme, parent))
    return options[number - 1] if number else None
