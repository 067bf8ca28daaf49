"""Messages to the user as values. Whoever has something to say posts it here; one bar in the window draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from PySide6.QtCore import QObject, Signal

MessageTone = Literal["danger", "warning", "info"]
_numbers = count(1)


@dataclass(frozen=True)
class MessageAction:
    """A button on a message: it runs `run` and takes the message away."""

    label: str
    run: Callable[[], object]


@dataclass(frozen=True)
class Message:
    """What happened, and what to do about it. A later message with the same `key` takes the earlier one's place.

    One that `answers` what the user did just now does not wait behind the others.
    """

    text: str
    advice: str = ""
    tone: MessageTone = "danger"
    actions: tuple[MessageAction, ...] = ()
    key: str = field(default_factory=lambda: f"message-{next(_numbers)}")
    answers: bool = False


class Messages(QObject):
    """The messages that wait to be read. Those posted before a window exists are kept for it."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: dict[str, Message] = {}

    def waiting(self) -> tuple[Message, ...]:
        """Answers to the user first, then the oldest."""
        return tuple(sorted(self._waiting.values(), key=lambda message: not message.answers))

    def post(self, message: Message) -> None:
        """Show `message`; one that says what is already said is not repeated."""
        known = self._waiting.get(message.key)
        same = any(
            (old.text, old.advice, old.actions) == (message.text, message.advice, message.actions)
            for old in self._waiting.values()
        )
        if known is None and same:
            return
        self._waiting[message.key] = message
        self.changed.emit()

    def withdraw(self, key: str) -> None:
        """Take the message with this key away, if it is still there."""
        if self._waiting.pop(key, None) is not None:
            self.changed.emit()
