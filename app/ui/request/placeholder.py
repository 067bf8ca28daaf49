"""What the detail pane shows while no request is open."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.ui.request.body.source_pane import EMPTY_WIDTH
from app.ui.theme.theme import Theme
from app.ui.widgets.empty_state import EmptyState

NOT_STORED = "This request is no longer stored"
LOST = "It was deleted manually, by retention, or to stay within a storage limit."


class Placeholder(EmptyState):
    """Says that none is selected, or why the selected one is not shown."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("body", "", "", theme, parent)
        self.set_text_width(EMPTY_WIDTH)
        self.none_chosen()

    def none_chosen(self) -> None:
        """Nothing is selected in the list."""
        self.say("No request selected", "Select a request in the list to see its body, headers and more.")

    def not_open(self) -> None:
        """The selected request is not open."""
        self.say("No request open", "Press Enter to open the selected request.")

    def say(self, title: str, text: str) -> None:
        """This."""
        self.title.setText(title)
        self.text.setText(text)
