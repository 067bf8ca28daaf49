"""The header of the open request: method, target, response status, title, time and size, its commands, and its note."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from typing import Any

from PySide6.QtCore import QEvent, QSignalBlocker, QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QMenu, QWidget
from shiboken6 import isValid

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.errors import NotFoundError, StorageUnavailableError
from app.core.model import Capture
from app.core.rules import NOTE_MAX, note_error
from app.core.text import (
    Title,
    clock_time,
    count_of,
    day_text,
    day_time,
    full_time,
    ms_text,
    size_text,
    source_text,
    title_of,
)
from app.core.worst_state import State
from app.ui.commands.command import ActionButton, Command
from app.ui.deliveries.words import forwarding_words
from app.ui.state_look import LOOKS
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.throttle import WhileShown
from app.ui.widgets.badge import MethodBadge, Pill, Tone
from app.ui.widgets.buttons import Button, CopyButton, IconButton
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import ElidedLabel, FittingLabel, label, style
from app.ui.widgets.layout import Stretch, hbox, vbox
from app.ui.widgets.text_fields import WrappedEdit

FACTS_WIDTH = 84
"""Pixels kept for the facts, a time to the millisecond at least, while there are spare buttons."""
MAIN_LEAST = 40
"""Pixels; with less for what came in, the provider's name is elided with it."""
LINES = 5
"""A longer note scrolls: it must not push the request out of view."""
PADDING, BORDER = 4, 2
"""The same values as in the style sheet."""


class FactsRow(QWidget):
    """The facts, and buttons beside them: with labels in a wide row, the spare ones last. In a narrow one they make way
    for a menu at the end, the spare ones first, then the last added.
    """

    def __init__(self, facts: QWidget, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._facts, self._buttons, self._spare = facts, list[ActionButton](), list[ActionButton]()
        self._more = IconButton("more", "More for this request", theme, self, run=self._show_menu)
        self._more.hide()
        self._menu = QMenu(self)
        self._menu.setToolTipsVisible(True)  # why a command cannot be run
        self._row = hbox((facts, 1), self._more, inside=self, spacing=metrics.SPACE_1, margins=0)

    def add(self, button: ActionButton, *, spare: bool) -> None:
        self._row.insertWidget(self._row.count() - 1, button)
        self._buttons.append(button)
        if spare:
            self._spare.append(button)

    def minimumSizeHint(self) -> QSize:
        """Without labels, and with the menu in place of the spare buttons and one more."""
        least = self._facts.minimumSizeHint().width() + self._icons(len(self._buttons) - len(self._spare))
        return QSize(least, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        """The name of a command, and so of its label, may change."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return done

    @Slot()
    def _show_menu(self) -> None:
        self._menu.popup(self._more.mapToGlobal(self._more.rect().bottomLeft()))

    def _icons(self, buttons: int) -> int:
        """Pixels of so many buttons without labels."""
        return buttons * (self._more.sizeHint().width() + metrics.SPACE_1)

    def _fit(self) -> None:
        order = sorted(self._buttons, key=lambda one: one in self._spare)
        shown, hidden = [*order], list[ActionButton]()
        while shown and self.width() < FACTS_WIDTH + self._icons(len(shown) + bool(hidden)):
            hidden.append(shown.pop())
        free = self.width() - self._facts.sizeHint().width() - self._icons(len(shown))
        for button in order:
            free -= button.label_width()
            button.set_labelled(free >= 0 and not hidden)
            button.setVisible(button not in hidden)
        commands = [button.command for button in self._buttons if button in hidden]
        if commands != self._menu.actions():
            self._menu.clear()
            self._menu.addActions(commands)
        self._more.setVisible(bool(hidden))


class _Title(ElidedLabel):
    """What came in is elided, who sent it is not: nothing else in the header says that."""

    def __init__(self, kind: str, parent: QWidget) -> None:
        super().__init__("", kind, parent)
        self._sender = ""

    def show_title(self, title: Title) -> None:
        """`invoice.paid · Stripe`, or without the provider if that is not known."""
        self._sender = f" · {title.sender}" if title.sender else ""
        self.setText(title.main + self._sender)

    def shown_text(self) -> str:
        fm = self.fontMetrics()
        room = self.text_rect().width() - fm.horizontalAdvance(self._sender)
        if room < MAIN_LEAST:
            return super().shown_text()
        main = self.text().removesuffix(self._sender)
        return fm.elidedText(main, self._elide, room) + self._sender


class RequestHeader(QFrame):
    """Shows one capture's summary. `show_commands` gives it its buttons."""

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "surface")
        self._badge = MethodBadge("", theme, self)
        self.target = ElidedLabel("", "", self, Qt.TextElideMode.ElideMiddle)
        self.target.setFont(mono_font())
        self._copy = CopyButton("", "target", theme, self)
        self.state = Pill("", "neutral", self)
        self.response = Pill("", "neutral", self)
        self.cut = Pill("cut off", "warning", self)
        self.cut.setToolTip("The sender disconnected before the end of the body. What was received is kept.")
        self.title = _Title("strong", self)
        self.facts = FittingLabel("small", self)
        self.note = _NotePanel(theme, tasks, self)
        signs = hbox(self.cut, self.state, self.response, spacing=metrics.SPACE_2)
        top = hbox(self._badge, (self.target, 0), self._copy, Stretch(), signs, spacing=metrics.SPACE_2)
        self._theme = theme
        self._capture: Capture | None = None
        self._lines: tuple[str, ...] = ()
        self._clock = WhileShown(self, self._show_facts)
        self._below = FactsRow(self.facts, theme, self)
        vbox(
            top,
            self.title,
            self._below,
            self.note,
            inside=self,
            spacing=metrics.SPACE_1,
            margins=(metrics.SPACE_4, metrics.SPACE_3, metrics.SPACE_3, metrics.SPACE_1),
        )

    def show_commands(self, commands: Iterable[Command], spare: Collection[Command] = ()) -> None:
        """A button for each of these, in this order; those in `spare` are the first in a menu where space is short."""
        for command in commands:
            self._below.add(ActionButton(command, self._theme, self._below), spare=command in spare)
        order_tabs(self)

    def show_capture(self, capture: Capture, providers: Mapping[str, str]) -> None:
        """`providers` has the providers' names by ID."""
        self._badge.set_method(escape(capture.method[:20]))
        self.target.setText(escape(capture.target))
        self._copy.text_to_copy = capture.target
        time = f" · {ms_text(capture.response_ms)}" if capture.response_ms is not None else ""
        status = capture.response_status
        # Only an error stands out: success would look like the delivery's.
        tone: Tone = "neutral" if status < 400 else "warning" if status < 500 else "danger"
        self.response.show_state(f"{status}{time}", tone)
        meaning = f"The sender got a {status} response"
        self.response.setToolTip(meaning)
        self.response.setAccessibleName(f"{meaning}{time}")
        self.cut.setVisible(not capture.complete)
        self._show_title(capture, providers)
        self._capture, self._lines = capture, ()
        self._show_facts()

    def show_state(self, state: State) -> None:
        """How the request stands, beside the response to its sender; nothing of one that is not forwarded."""
        look = LOOKS.get(state)
        self.state.setVisible(look is not None)
        if look is not None:
            self.state.show_state(look.words, look.tone)
            meaning = forwarding_words(state).capitalize() or look.words
            self.state.setToolTip(meaning)
            self.state.setAccessibleName(meaning)

    def _show_title(self, capture: Capture, providers: Mapping[str, str]) -> None:
        title = title_of(capture.summary(), providers)
        style(self.title, "kind", "strong" if title.is_event else "muted")
        self.title.show_title(title)

    @Slot()
    def _show_facts(self) -> None:
        """Write the time again if it reads otherwise now: after midnight, “Today” is no longer right."""
        if self._capture is not None and (lines := header_lines(self._capture, now_us())) != self._lines:
            self._lines = lines
            self.facts.set_wordings(lines, header_tooltip(self._capture))


def header_lines(capture: Capture, now: int) -> tuple[str, ...]:
    """Time, size and source in one line, then shorter versions of it; the time is kept longest."""
    size, at = size_text(capture.size), capture.received_at
    time, day = day_time(at, now), day_text(at, now)
    short = clock_time(at) if day == "Today" else f"{day} {clock_time(at)[:5]}"
    return (
        f"{size} · {time} · from {capture.source_address}",
        f"{size} · {time}",
        time,
        f"{size} · {short}",
        short,
    )


def header_tooltip(capture: Capture) -> str:
    """The full text, in lines."""
    source = source_text(capture.source_address, capture.source_port)
    return f"{count_of(capture.size, 'byte')} from {source}\n{full_time(capture.received_at)}"


class _NotePanel(QFrame):
    """`show_note` shows a note; `start` edits it; `store` is given the request's ID and the new text.

    Opening another request while editing saves the note; if the store cannot save it, the text is kept until the user
    returns. Nothing is saved after the request was deleted.
    """

    store: Callable[[str, str], Coroutine[Any, Any, None]]

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self.setProperty("part", "note")
        self._capture_id: str | None = None
        self._note = self._stored = ""
        self._drafts: dict[str, str] = {}
        self._previous_focus: QWidget | None = None
        self._left_for: QWidget | None = None
        """What had the focus after the note was saved last."""
        self._unsaved_for = ""
        self.writing = False
        self.read_only = False
        """Whether the user may write none."""
        self.text = _NoteEdit(self)
        self.text.done.connect(self.save)
        self.text.cancelled.connect(self.cancel)
        self.text.textChanged.connect(self._check)
        self.edit = IconButton("edit", "Edit note (N)", theme, self, run=self.start)
        self.author = label("", "faint", self)
        self._footer = QWidget(self)
        self.hint = FittingLabel("small", self._footer)
        self.cancel_button = Button("Cancel", theme, self._footer, kind="ghost", compact=True, run=self.cancel)
        self.save_button = Button("Save", theme, self._footer, kind="primary", compact=True, run=self.save)
        self._build_layout()
        self._show()

    def show_note(self, capture_id: str | None, note: str | None, author: str | None = None) -> None:
        """Show the note of this request, if it has one, and which user of a team's store wrote it; None for no
        request."""
        self.author.setText(f"by {author}" if author else "")
        if capture_id != self._capture_id:
            if self.writing:
                self._save_if_changed()
            self._left_for = None
            self._capture_id = capture_id
            self._note = self._stored = note or ""
            if capture_id in self._drafts:
                self._write(self._drafts.pop(capture_id), focus=False)
            else:
                self._show()
        elif note != self._note:
            self._note = self._stored = note or ""
            if not self.writing:
                self._show()
        self.author.setVisible(not self.writing and bool(author))

    def keep_unsaved(self, reason: str) -> None:
        """The request was deleted for this `reason`: unsaved text stays and can be copied. Empty: it is stored."""
        if reason != self._unsaved_for:
            self._unsaved_for = reason
            self.save_button.setEnabled(not reason)
            self.edit.setEnabled(not reason)
            self._check()

    async def _save(self, capture_id: str, text: str) -> None:
        """If the store cannot save the note now, it can be saved again later; if the request was deleted meanwhile, the
        text can be copied.
        """
        try:
            await self._tasks.complete(self.store(capture_id, text), self)
        except NotFoundError:
            if capture_id == self._capture_id:
                self._restore_draft(capture_id, text)
        except StorageUnavailableError:
            self._restore_draft(capture_id, text)
            raise

    @Slot()
    def start(self) -> None:
        """Edit the note of the request shown."""
        if self._capture_id is not None and not self.writing and not self._unsaved_for:
            self._write(self._note, focus=True)

    @Slot()
    def save(self) -> None:
        """Save the text."""
        if self.writing and not self._unsaved_for:
            self._save_if_changed()
            self._end()
            self._left_for = self.window().focusWidget()

    @Slot()
    def cancel(self) -> None:
        """Discard the changes."""
        if self.writing:
            self._end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wraps lines again."""
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        """The width is known only now."""
        super().showEvent(event)
        self._fit()

    def _build_layout(self) -> None:
        top = hbox((self.text, 1), (self.edit, 0, Qt.AlignmentFlag.AlignTop), spacing=metrics.SPACE_1)
        hbox(
            (self.hint, 1),
            self.cancel_button,
            self.save_button,
            inside=self._footer,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_1, 0, 0, 0),
        )
        vbox(top, self.author, self._footer, inside=self, spacing=metrics.SPACE_1, margins=0)

    def _write(self, text: str, *, focus: bool) -> None:
        self._previous_focus = self.window().focusWidget() if focus else None
        self.writing = True
        self._apply_style()
        self.text.setPlainText(text)
        self.text.moveCursor(QTextCursor.MoveOperation.End)
        if focus:
            self.text.setFocus()

    def _show(self) -> None:
        self.writing = False
        self.text.setPlainText(self._note)
        self._apply_style()

    def _apply_style(self) -> None:
        style(self, "writing", self.writing)
        margin = 0 if self.writing else metrics.SPACE_1
        self.setContentsMargins(margin, metrics.SPACE_1, margin, metrics.SPACE_1)
        self.text.setReadOnly(not self.writing)
        style(self.text, "frameless", not self.writing)
        self.edit.setVisible(not self.writing and not self.read_only)
        self._footer.setVisible(self.writing)
        self.author.setVisible(not self.writing and bool(self.author.text()))
        self.setVisible(self.writing or bool(self._note))
        self._fit()

    def _fit(self) -> None:
        """As high as its lines, up to a maximum."""
        line = self.text.fontMetrics().lineSpacing()
        lines_in_full = max(1, int(self.text.document().size().height()))
        bar = Qt.ScrollBarPolicy.ScrollBarAsNeeded if lines_in_full > LINES else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.text.setVerticalScrollBarPolicy(bar)
        lines = LINES if self.writing else min(LINES, lines_in_full)
        around = 2 * (int(self.text.document().documentMargin()) + PADDING + (BORDER if self.writing else 0))
        self.text.setFixedHeight(lines * line + around)

    @Slot()
    def _check(self) -> None:
        dropped, length = self.text.dropped, len(self.text.toPlainText().strip())
        unsaved = bool(self._unsaved_for) and self.writing
        style(self.hint, "kind", "error" if dropped or unsaved else "small")
        self._fit()
        if unsaved:
            deleted = "Cannot be saved: the request was deleted. Copy the text to keep it."
            self.hint.set_wordings((deleted, "Deleted. Copy the text to keep it."))
            return
        of, more = f"{length:,} of {NOTE_MAX:,}", f"{dropped:,} more did not fit"
        self.hint.set_wordings((f"{of} · {more}", more) if dropped else (f"{of} · Ctrl+Enter saves, Esc cancels", of))

    def _save_if_changed(self) -> None:
        text = self.text.toPlainText().strip()
        if self._capture_id is not None and text != self._note and not self._unsaved_for:
            self._note = text
            self._tasks.start(self._save(self._capture_id, text), "save a note")

    def _restore_draft(self, capture_id: str, text: str) -> None:
        if capture_id != self._capture_id:
            self._drafts[capture_id] = text
        elif not self.writing:
            self._note = self._stored
            # A user who has gone elsewhere meanwhile types what is meant for there.
            self._write(text, focus=self.window().focusWidget() is self._left_for)

    def _end(self) -> None:
        """Return to reading; the focus returns to where it was before."""
        self._show()
        if self._previous_focus is not None and isValid(self._previous_focus):
            self._previous_focus.setFocus()
        self._previous_focus = None


class _NoteEdit(WrappedEdit):
    """Plain text, limited to the length of a note. Ctrl+Enter saves, Esc cancels; while it is read-only it takes no key
    that is a command.
    """

    done = Signal()
    cancelled = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName("Note")
        self.setPlaceholderText("Add a note about this request")
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.dropped = 0
        """Characters of the last input that did not fit."""
        self._last_change = (0, 0)
        self.document().contentsChange.connect(self._remember)
        self.textChanged.connect(self._keep_to_rules)

    @Slot(int, int, int)
    def _remember(self, at: int, removed: int, added: int) -> None:
        self._last_change = (at, added)

    @Slot()
    def _keep_to_rules(self) -> None:
        """Only valid text of the input stays, so that it can be saved at any moment."""
        text = self.toPlainText()
        self.dropped = 0
        if note_error(text) is None:
            return
        at, added = self._last_change
        cursor = QTextCursor(self.document())
        last = self.document().characterCount() - 1  # Qt counts the final paragraph separator, too.
        cursor.setPosition(min(at, last))
        cursor.setPosition(min(at + added, last), QTextCursor.MoveMode.KeepAnchor)
        typed = cursor.selectedText()
        kept = "".join("\ufffd" if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in typed)
        if len(text.strip()) > NOTE_MAX:
            kept = kept[: max(0, len(typed) - (len(text) - NOTE_MAX))]
        with QSignalBlocker(self):
            cursor.joinPreviousEditBlock()
            cursor.insertText(kept)
            cursor.endEditBlock()
        self.dropped = len(typed) - len(kept)

    def event(self, event: QEvent) -> bool:
        """While editing, Enter and Esc belong to the note, whatever command uses them elsewhere."""
        key = event.key() if isinstance(event, QKeyEvent) else None
        keys = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape)
        if event.type() == QEvent.Type.ShortcutOverride and key in keys and not self.isReadOnly():
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Write."""
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if self.isReadOnly():
            super().keyPressEvent(event)
        elif enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.done.emit()
        elif event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)
