"""Dialogs: their frame, those that ask a question or for a file, and those that ask before their input is discarded.

They are opened, never executed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QAbstractSlider, QCheckBox, QDialog, QFileDialog, QFrame, QLayout, QWidget
from shiboken6 import isValid

from app.core.errors import HooklineError
from app.ui.tasks import Tasks, cancel_unless_there, unless_cancelled
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, Kind
from app.ui.widgets.card import line
from app.ui.widgets.fit_screen import Scrolling, bounded, fit
from app.ui.widgets.focus import bring_into_view
from app.ui.widgets.labels import label
from app.ui.widgets.layout import Stretch, fill, hbox, keep_room, vbox

LEAST_HEIGHT = 72
"""Minimum height of the content, on the smallest screen."""
_PAGES = {
    Qt.Key.Key_PageUp: QAbstractSlider.SliderAction.SliderPageStepSub,
    Qt.Key.Key_PageDown: QAbstractSlider.SliderAction.SliderPageStepAdd,
}


class Dialog(QDialog):
    """Add content to `body` and buttons to `footer` (a stretch keeps the later ones on the right). Esc rejects."""

    def __init__(self, title: str, theme: Theme, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setWindowTitle(title)
        self.setModal(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.title = label(title, "title", self)
        content = QWidget(self)
        self.body = vbox(
            inside=content,
            spacing=metrics.SPACE_4,
            margins=(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_5, metrics.SPACE_5),
        )
        self.content_area = Scrolling(content, QSize(0, LEAST_HEIGHT), self)
        self.edge = line(self)
        keep_room(self.edge)
        self.edge.hide()
        self.content_area.verticalScrollBar().valueChanged.connect(self._show_edge)
        header_frame = vbox(self.title, margins=(metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5, 0))
        footer_frame = QFrame(self)
        footer_frame.setProperty("part", "footer")
        self.footer = hbox(
            inside=footer_frame,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_5, metrics.SPACE_3, metrics.SPACE_5, metrics.SPACE_3),
        )
        vbox(header_frame, self.edge, (self.content_area, 1), footer_frame, inside=self, spacing=0)

    def fill_to_edges(self) -> None:
        """Leave no room around what is in the body, but for the title."""
        self.body.setContentsMargins(0, metrics.SPACE_4, 0, 0)
        self.body.setSpacing(0)

    def fill_columns(self, left: QLayout, right: QLayout) -> None:
        """Fill the dialog with a list and the details of its selected item, separated by a line."""
        self.fill_to_edges()
        fill(self.body, line(self), (hbox(left, line(self, vertical=True), (right, 1), spacing=0), 1))

    def make_close_button(self, text: str, *, kind: Kind = "secondary") -> Button:
        return Button(text, self.theme, self, kind=kind, run=self.reject)

    @Slot(int)
    def _show_edge(self, scrolled: int) -> None:
        """Where the content is cut by the title."""
        self.edge.setVisible(scrolled > 0)

    def is_idle(self) -> bool:
        """Whether the dialog only shows something, so that closing it unasked loses nothing."""
        return False

    def sized_for(self, width: int) -> QSize:
        """As high as the content needs at this width, within the screen."""
        layout = self.layout()
        if layout is None:
            return bounded(self, QSize(width, 0))
        wraps = layout.hasHeightForWidth()
        return bounded(self, QSize(width, layout.totalHeightForWidth(width) if wraps else layout.sizeHint().height()))

    def showEvent(self, event: QShowEvent) -> None:
        """Move the dialog onto the screen, unless it is only restored after being minimized."""
        if not event.spontaneous():
            fit(self)
        super().showEvent(event)

    def focusNextPrevChild(self, onward: bool) -> bool:
        """Tab leads to nothing that is scrolled out of view."""
        moved = super().focusNextPrevChild(onward)
        bring_into_view(self.focusWidget())
        return moved

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Page Up and Page Down scroll the content."""
        page = _PAGES.get(Qt.Key(event.key()))
        if page is not None and self.content_area.verticalScrollBar().maximum():
            self.content_area.verticalScrollBar().triggerAction(page)
        else:
            super().keyPressEvent(event)


_D = TypeVar("_D", bound=QDialog)


def opened(window: QWidget, kind: type[_D], key: str = "") -> _D | None:
    """The dialog of this kind that is open over `window`; `key` tells those apart of which there may be several."""
    dialogs = (one for one in window.findChildren(kind) if one.parentWidget() is window and one.objectName() == key)
    return next((one for one in dialogs if not one.isHidden()), None)  # closed ones are deleted a little later


def open_once(window: QWidget, kind: type[_D], make: Callable[[], _D], key: str = "") -> _D:
    """Open a new one, unless one is open: that comes to the front, where a modal one is already."""
    dialog = opened(window, kind, key)
    if dialog is not None:
        if not dialog.isModal():
            dialog.raise_()
            dialog.activateWindow()
        return dialog
    dialog = make()
    dialog.setObjectName(key)
    if dialog.isModal():
        dialog.open()
    else:
        dialog.show()
    return dialog


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
        self.cancel = self.make_close_button(cancel)
        self.confirm = Button(confirm, theme, self, kind=kind, run=self.accept)
        self.option: QCheckBox | None = None
        self.option_checked = False
        """Whether the option is checked. A bool, because the box no longer exists once the question is answered."""
        self._without = self._with = QuestionText(title, text, confirm)
        fill(self.footer, Stretch(), self.cancel, self.confirm)
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
    result: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def finish(code: int) -> None:
        if not result.done():
            result.set_result(code)

    def cancel() -> None:
        result.cancel()

    dialog.finished.connect(finish)
    dialog.destroyed.connect(cancel)
    dialog.open()
    try:
        return await result
    finally:
        if isValid(dialog) and (not result.done() or result.cancelled()):
            dialog.reject()


class DialogOption(NamedTuple):
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
        self.buttons = [
            Button(option.text, theme, self, kind=option.kind, run=partial(self.done, number))
            for number, option in enumerate(options, 1)
        ]
        fill(self.footer, Stretch(), *self.buttons)
        self.buttons[-1].setDefault(True)
        self.buttons[-1].setFocus()
        self.setFixedWidth(480)


async def choose(
    title: str, text: str, options: tuple[DialogOption, ...], theme: Theme, parent: QWidget | None = None
) -> DialogOption | None:
    """The option the user chose; None when the dialog was closed without a choice."""
    number = await result_of(ChoiceDialog(title, text, options, theme, parent))
    return options[number - 1] if number else None


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
            self.done(Question.DialogCode.Rejected)
            if then is not None:
                then()


class SubmitDialog(EditDialog):
    """What was edited is submitted by a button, by Enter in a field of one line, and by Ctrl+Enter. The dialog stays as
    it is while that is being stored, and after an error.
    """

    def __init__(self, title: str, theme: Theme, tasks: Tasks, parent: QWidget | None) -> None:
        super().__init__(title, theme, parent)
        self._tasks = tasks
        self.busy = False
        """Whether what was submitted is being stored."""
        self.submitted: Any = None
        """What `edited` was when it was submitted last."""
        QShortcut(QKeySequence("Ctrl+Return"), self, self.submit)

    def make_submit_button(self, text: str, icon: str | None = None) -> Button:
        self._submit_button = Button(text, self.theme, self, kind="primary", icon=icon, run=self.submit)
        return self._submit_button

    def reveal_errors(self) -> bool:
        """Show every error and go to the first; whether there is one."""
        raise NotImplementedError

    def edited(self) -> Any:
        """What is to be stored, as it is now."""

    async def store(self) -> Callable[[], object] | None:
        """Store what was submitted. Returns what is called when the dialog closes then; None keeps it open."""
        raise NotImplementedError

    def show_failure(self, error: HooklineError) -> None:
        """Say why nothing was stored."""
        raise NotImplementedError

    def refresh(self) -> object:
        """Show what is edited and whether it can be submitted now."""
        raise NotImplementedError

    def set_busy(self, busy: bool) -> None:
        self.busy = busy
        self.refresh()

    @Slot()
    def submit(self) -> None:
        """Store what was edited if it is valid; otherwise show every error."""
        if not self.busy and not self.reveal_errors() and self._submit_button.isEnabled():
            self.submitted = self.edited()
            self.set_busy(True)
            self._tasks.start(self._store(), f"store what was edited in {self.windowTitle()!r}")

    async def _store(self) -> None:
        with unless_cancelled(self.set_busy, False):
            try:
                stored = await self.store()
            except HooklineError as error:
                self.show_failure(error)
                return
        if stored is not None:
            stored()
            self.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter in a field of one line submits; Esc closes."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.submit()
        else:
            super().keyPressEvent(event)


def confirm_discard(window: QWidget, then: Callable[[], None]) -> bool:
    """True if no dialog over `window` has unsaved changes. Otherwise asks, and calls `then` after Discard."""
    for dialog in window.findChildren(EditDialog):
        if not dialog.isHidden() and dialog.has_changes():
            dialog.ask_to_discard(then)
            return False
    return True


ALL_FILES = "All files (*)"


class FileDialog(QFileDialog):
    """Asks for a file, which exists unless it is to `save`. It begins in the folder `place`, or with that file's name.

    `filters` are like `PNG picture (*.png)`. A name to save without an extension gets that of the filter, before the
    user is asked whether a file of that name may be replaced.
    """

    def __init__(
        self, over: QWidget, title: str, place: Path, filters: Sequence[str] = (), *, save: bool = False
    ) -> None:
        super().__init__(over, title, str(place), ";;".join(filters))
        self.setFileMode(QFileDialog.FileMode.AnyFile if save else QFileDialog.FileMode.ExistingFile)
        if save:
            self.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
            self.filterSelected.connect(self._add_extension)
            self._add_extension(self.selectedNameFilter())

    async def chosen(self) -> Path | None:
        """What the user chooses; None if that was to cancel."""
        accepted = await result_of(self) == QDialog.DialogCode.Accepted
        path = Path(self.selectedFiles()[0]) if accepted else None
        self.deleteLater()
        return path

    @Slot(str)
    def _add_extension(self, name_filter: str) -> None:
        found = re.search(r"\*\.(\w+)", name_filter)
        self.setDefaultSuffix(found[1] if found is not None else "")
