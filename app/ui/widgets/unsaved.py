"""Asks before the input in a dialog is discarded: by Esc, by its buttons, or on quitting."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.ui.widgets.dialog import Dialog
from app.ui.widgets.question import Question

TITLE, DISCARD, KEEP = "Discard changes?", "Discard", "Keep editing"


class EditDialog(Dialog):
    """`unsaved` is the question's text. Without changes the dialog closes without asking."""

    unsaved = "Your changes have not been saved."
    _question: Question | None = None
    _then: Callable[[], None] | None = None

    def has_changes(self) -> bool:
        """Whether there are unsaved changes that are not being saved now."""
        raise NotImplementedError

    def reject(self) -> None:
        """Close if there are no changes, or after the user discards them."""
        if self.has_changes():
            self.ask_to_discard()
        else:
            super().reject()

    def discard(self) -> None:
        """Undo what took effect before it was saved; called when the user discards the changes."""

    def ask_to_discard(self, then: Callable[[], None] | None = None) -> None:
        """Ask, at most once at a time; `then` is called if the user discards the changes."""
        self._then = then
        if self._question is not None:
            self._question.raise_()
            return
        self._question = Question(TITLE, self.unsaved, DISCARD, self.theme, self, cancel=KEEP)
        self._question.finished.connect(self._answered)
        self._question.open()

    @Slot(int)
    def _answered(self, result: int) -> None:
        then, self._then, self._question = self._then, None, None
        if result == Question.DialogCode.Accepted:
            self.discard()
            self.done(Question.DialogCode.Rejected)
            if then is not None:
                then()


def confirm_discard(window: QWidget, then: Callable[[], None]) -> bool:
    """True if no dialog over `window` has unsaved changes. Otherwise asks, and calls `then` after Discard."""
    for dialog in window.findChildren(EditDialog):
        if not dialog.isHidden() and dialog.has_changes():
            dialog.ask_to_discard(then)
            return False
    return True
