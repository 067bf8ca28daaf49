"""Messages: what failed is said once, in words, also when there is no window yet."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app.ui.messages import Message, MessageAction, Messages
from app.ui.theme.theme import Theme
from app.ui.widgets.notices import ErrorBar


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    theme = Theme()
    theme.apply(qapp)
    return theme


def texts(messages: Messages) -> list[str]:
    return [message.text for message in messages.waiting()]


class TestBar:
    def test_what_was_posted_before_the_bar_exists_is_kept(self, theme: Theme, qtbot: QtBot) -> None:
        messages = Messages()
        messages.post(Message(text="The disk is full.", advice="Free some space."))
        bar = ErrorBar(messages, theme)
        qtbot.addWidget(bar)
        assert not bar.isHidden()
        assert bar.message() == messages.waiting()[0]
        assert "Free some space." in bar.accessibleName()

    def test_messages_queue_and_are_dismissed_one_by_one(self, theme: Theme, qtbot: QtBot) -> None:
        messages = Messages()
        bar = ErrorBar(messages, theme)
        qtbot.addWidget(bar)
        assert bar.isHidden()
        messages.post(Message(text="first"))
        messages.post(Message(text="second"))
        assert bar.message() is not None
        assert bar.message().text == "first"  # type: ignore[union-attr]
        bar.dismiss()
        assert bar.message().text == "second"  # type: ignore[union-attr]
        bar.dismiss()
        assert bar.message() is None
        assert bar.isHidden()

    def test_the_same_key_takes_the_earlier_ones_place(self, theme: Theme, qtbot: QtBot) -> None:
        messages = Messages()
        bar = ErrorBar(messages, theme)
        qtbot.addWidget(bar)
        messages.post(Message(text="disk full", key="storage"))
        messages.post(Message(text="database locked", key="storage"))
        assert texts(messages) == ["database locked"]
        assert bar.message().text == "database locked"  # type: ignore[union-attr]
        messages.withdraw("storage")
        assert bar.isHidden()

    def test_an_answer_to_the_user_does_not_wait_behind_the_others(self, theme: Theme, qtbot: QtBot) -> None:
        messages = Messages()
        bar = ErrorBar(messages, theme)
        qtbot.addWidget(bar)
        messages.post(Message(text="The disk is full."))
        messages.post(Message(text="That link leads nowhere.", answers=True))
        assert texts(messages) == ["That link leads nowhere.", "The disk is full."]
        bar.dismiss()
        assert bar.message() == messages.waiting()[0]
        assert texts(messages) == ["The disk is full."]

    def test_a_worse_one_does_not_wait_behind_the_others(self, theme: Theme, qtbot: QtBot) -> None:
        messages = Messages()
        bar = ErrorBar(messages, theme)
        qtbot.addWidget(bar)
        messages.post(Message(text="The oldest are deleted.", tone="info"))
        messages.post(Message(text="A target is paused.", tone="warning"))
        messages.post(Message(text="The disk is full."))
        assert texts(messages) == ["The disk is full.", "A target is paused.", "The oldest are deleted."]
        assert bar.message().text == "The disk is full."  # type: ignore[union-attr]

    def test_what_is_already_said_is_not_repeated(self) -> None:
        messages = Messages()
        for _ in range(50):
            messages.post(Message(text="cannot store"))
        assert len(messages.waiting()) == 1

    def test_an_action_runs_and_takes_its_message_away(self, theme: Theme, qtbot: QtBot) -> None:
        messages = Messages()
        bar = ErrorBar(messages, theme)
        qtbot.addWidget(bar)
        ran: list[str] = []
        actions = (
            MessageAction("Use 8789", lambda: ran.append("8789")),
            MessageAction("Quit", lambda: ran.append("q")),
        )
        messages.post(Message(text="Port 8787 is taken.", actions=actions))
        buttons = {button.text(): button for button in bar.findChildren(QPushButton) if button.text() != "Details"}
        assert list(buttons) == ["Use 8789", "Quit"]
        buttons["Use 8789"].click()
        assert ran == ["8789"]
        assert messages.waiting() == ()
