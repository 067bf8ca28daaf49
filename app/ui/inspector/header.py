"""The header of the open request: method, target, response status, title, time and size, and its commands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QMenu, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.model import Capture
from app.core.text import (
    clock_time,
    count_of,
    day_text,
    day_time,
    full_time,
    ms_text,
    size_text,
    source_text,
    to_midnight_ms,
)
from app.core.worst_state import State
from app.ui.commands.command import ActionButton, Command
from app.ui.deliveries.words import forwarding_words
from app.ui.inspector.note import NotePanel
from app.ui.inspector.title import title_of
from app.ui.state_look import LOOKS
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import MethodBadge, Pill, Tone
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.copy_field import CopyButton
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import ElidedLabel, FittingLabel, restyle
from app.ui.widgets.layout import Stretch, hbox, vbox

DAY_CHECK_MS = 60_000
FACTS_WIDTH = 84
"""Pixels kept for the facts, a time to the millisecond at least, while there are spare buttons."""


def response_tone(status: int) -> Tone:
    """Of the response to the sender: only an error stands out, as success would look like the delivery's."""
    return "neutral" if status < 400 else "warning" if status < 500 else "danger"


class FactsRow(QWidget):
    """The facts, and buttons beside them: with labels in a wide row, the spare ones last. In a narrow one they make way
    for a menu at the end, the spare ones first, then the last added.
    """

    def __init__(self, facts: QWidget, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._facts, self._buttons, self._spare = facts, list[ActionButton](), list[ActionButton]()
        self._more = IconButton("more", "More for this request", theme, self)
        self._more.hide()
        self._more.clicked.connect(self._show_menu)
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


class RequestHeader(QFrame):
    """Shows one capture's summary. `show_commands` gives it its buttons."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
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
        self.title = ElidedLabel("", "strong", self)
        self.facts = FittingLabel("small", self)
        self.note = NotePanel(theme, self)
        signs = hbox(self.cut, self.state, self.response, spacing=metrics.SPACE_2)
        top = hbox(self._badge, (self.target, 0), self._copy, Stretch(), signs, spacing=metrics.SPACE_2)
        self._theme = theme
        self._capture: Capture | None = None
        self._day = QTimer(self, singleShot=True)
        self._day.timeout.connect(self._show_facts)
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
        self.target.updateGeometry()
        self._copy.text_to_copy = capture.target
        time = f" · {ms_text(capture.response_ms)}" if capture.response_ms is not None else ""
        self.response.show_state(f"{capture.response_status}{time}", response_tone(capture.response_status))
        meaning = f"The sender got a {capture.response_status} response"
        self.response.setToolTip(meaning)
        self.response.setAccessibleName(f"{meaning}{time}")
        self.cut.setVisible(not capture.complete)
        self._show_title(capture, providers)
        self._capture = capture
        self._show_facts()

    @Slot(object)
    def show_state(self, state: State) -> None:
        """How the request stands, beside the response to its sender; nothing of one that is not forwarded."""
        look = LOOKS.get(state)
        self.state.setVisible(look is not None)
        if look is not None:
            self.state.show_state(look.words, look.tone)
            meaning = forwarding_words(state).capitalize() or look.words
            self.state.setToolTip(meaning)
            self.state.setAccessibleName(meaning)

    def showEvent(self, event: QShowEvent) -> None:
        """The day may have changed while it was hidden."""
        super().showEvent(event)
        self._show_facts()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._day.stop()

    def _show_title(self, capture: Capture, providers: Mapping[str, str]) -> None:
        title = title_of(capture.summary(), providers)
        kind = "strong" if title.is_event else "muted"
        if self.title.property("kind") != kind:
            self.title.setProperty("kind", kind)
            restyle(self.title)
        self.title.setText(" · ".join(filter(None, (title.main, title.sender))))
        self.title.updateGeometry()

    @Slot()
    def _show_facts(self) -> None:
        """Write the time again: after midnight, “Today” is no longer right."""
        if self._capture is not None:
            now = now_us()
            self.facts.set_wordings(header_lines(self._capture, now), header_tooltip(self._capture))
            # Midnight may come earlier than computed: the clock is set, or the computer sleeps.
            self._day.start(min(DAY_CHECK_MS, to_midnight_ms(now)))


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
