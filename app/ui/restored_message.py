"""What the first window after a restore says: that it is done, and where the previous database is."""

from __future__ import annotations

from pathlib import Path

from app.ui.messages import Message, MessageAction, Messages
from app.ui.widgets.open_folder import open_folder


def post_restored(messages: Messages, replaced: Path) -> None:
    """`replaced` is the previous database."""
    advice = f"The previous database is kept as {replaced.name} in {replaced.parent}."

    def show() -> None:
        # Its button takes a message away, and with it the path.
        if (problem := open_folder(replaced.parent)) is not None:
            messages.post(Message(text=problem, advice=advice, tone="info", answers=True))

    action = MessageAction("Show in folder", show)
    messages.post(Message(text="The backup was restored.", advice=advice, tone="info", actions=(action,)))
