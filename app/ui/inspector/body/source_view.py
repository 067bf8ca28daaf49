"""What the views of a body have in common that read it themselves."""

from __future__ import annotations

import re
from functools import partial

from PySide6.QtWidgets import QWidget

from app.ui.inspector.body.body_source import BodySource
from app.ui.tasks import Latest, Tasks

LOADING = "Loading…"


class SourceView(QWidget):
    """`show_source` shows a body. Subclasses `load` it, which ends early when another one is shown."""

    def __init__(self, name: str, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._latest = Latest(self, tasks, f"{name}: load")

    def show_source(self, source: BodySource) -> None:
        """Show this body."""
        self.clear()
        self._latest.run(partial(self.load, source))

    def clear(self) -> None:
        """Show nothing, cancel loading, and free what was read."""
        self._latest.stop()
        self.show_nothing()

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Mark the matches of this pattern, in what is shown and in all later bodies; None marks nothing."""

    async def load(self, source: BodySource) -> None:
        raise NotImplementedError

    def show_nothing(self) -> None:
        raise NotImplementedError
