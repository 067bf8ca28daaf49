"""Messages to the user as values. Any part can post one; a bar in the window shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from PySide6.QtCore import QObject, Signal

MessageTone = Literal["danger", "warning", "info"]
_WORST_FIRST: tuple[MessageTone, ...] = ("danger", "warning", "info")
STORAGE_KEY, UNAVAILABLE_KEY = "storage", "unavailable"
"""Of the message that nothing can be stored, and of what therefore failed: it goes with the other."""
_numbers = count(1)


@dataclass(frozen=True)
class MessageAction:
    """A button on a message or a short notice: it calls `run`, and the message or notice disappears."""

    label: str
    run: Callable[[], object]


@dataclass(frozen=True)
class Message:
    """What happened, and what to do about it. A later message with the same `key` replaces the earlier one.

    A message that `answers` what the user did just now is shown before the others.
    """

    text: str
    advice: str = ""
    tone: MessageTone = "danger"
    actions: tuple[MessageAction, ...] = ()
    key: str = field(default_factory=lambda: f"message-{next(_numbers)}")
    answers: bool = False


class Messages(QObject):
    """The messages waiting to be read. Those posted before a window exists are kept for it."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: dict[str, Message] = {}

    def waiting(self) -> tuple[Message, ...]:
        """Messages that answer the user first, then the worst, then the oldest."""
        return tuple(sorted(self._waiting.values(), key=lambda one: (not one.answers, _WORST_FIRST.index(one.tone))))

    def post(self, message: Message) -> None:
        """Show `message`, unless the same one is waiting already."""
        known = self._waiting.get(message.key)
        same = any(
            (old.text, old.advice, old.actions) == (message.text, message.advice, message.actions)
            for old in self._waiting.values()
        )
        if known is None and same:
            return
        self._waiting[message.key] = message
        self.changed.emit()

    def show_while(self, text: str | None, key: str, **about: Any) -> None:
        """Show the message with this key while it has a text."""
        if text is None:
            self.withdraw(key)
        else:
            self.post(Message(text=text, key=key, **about))

    def has(self, key: str) -> bool:
        """Whether the message with this key is waiting."""
        return key in self._waiting

    def withdraw(self, key: str) -> None:
        """Remove the message with this key, if there is one."""
        if self._waiting.pop(key, None) is not None:
            self.changed.emit()
