"""The line below a large body: how much of it is shown, and the ways to the rest."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.core.wording import size_text
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import ElidedLabel


class RestBar(QFrame):
    """Says how much of a large body is shown, with the way to the rest."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "footer")
        self.text = ElidedLabel("", "small", self)
        self.more = Button("Load more", theme, self, kind="link")
        self.save = Button("Save as…", theme, self, kind="link")
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_4, 2, metrics.SPACE_3, 2)
        row.addWidget(self.text, 1)
        row.addWidget(self.more)
        row.addWidget(self.save)
        self.hide()

    def say(self, read: int, size: int, full: bool) -> None:
        """So many of its bytes are shown; `full` when no more will be."""
        if full:
            text = f"The first part of {size_text(size)} is shown. Hex and Save as… give all of it."
        elif read < size:
            text = f"Showing the first {size_text(read)} of {size_text(size)}"
        else:
            text = "Showing the first lines"
        self._say(text, full)

    def say_unpacked(self, unpacked: int, size: int, lines: int | None, full: bool) -> None:
        """The same for a body that came packed in `size` bytes; only so many `lines` of what was unpacked, if given."""
        if full:
            text = f"Unpacking stops at {size_text(unpacked)}: it may be a bomb. Hex shows it as sent."
        else:
            beginning = "the first" if lines is None else f"{lines:,} lines of the first"
            text = f"Showing {beginning} {size_text(unpacked)}, unpacked from {size_text(size)}"
        self._say(text, full)

    def _say(self, text: str, full: bool) -> None:
        self.text.setText(text)
        self.more.setVisible(not full)
        self.show()
