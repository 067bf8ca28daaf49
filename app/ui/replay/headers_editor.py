"""Edits the headers of a replay, and returns to those captured."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from app.core.hop_by_hop import FRAMING
from app.core.record import Headers
from app.ui.replay.text_edit import TextEdit
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.headers_field import HeadersField
from app.ui.widgets.labels import label
from app.ui.widgets.layout import Stretch, hbox, vbox

BAR_HEIGHT = 28


class HeadersEditor(QWidget):
    """`changed` follows each edit."""

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._original: Headers = ()
        self.field = HeadersField("Headers", FRAMING, theme, self, text=TextEdit("Headers as text", theme, self))
        self.reset = Button("Reset", theme, self, kind="ghost", icon="undo")
        self.reset.setAccessibleName("Reset headers")
        self.reset.setProperty("compact", True)
        self.reset.setFixedHeight(BAR_HEIGHT)
        self.error = label("", "error", self, wrap=True)
        self.error.setMinimumHeight(self.error.sizeHint().height())  # its room is reserved
        self.room_below = self.error.minimumHeight() + metrics.SPACE_2
        """Pixels below what is edited."""
        bar = hbox(self.field.views, Stretch(), self.reset, spacing=metrics.SPACE_1)
        vbox(bar, (self.field, 1), self.error, inside=self, spacing=metrics.SPACE_2, margins=0)
        self.field.changed.connect(self._edited)
        self.reset.clicked.connect(self._reset)

    def load(self, headers: Headers) -> None:
        """Edit these; Reset returns to them."""
        self._original = headers
        self._reset()

    def value(self) -> Headers:
        return self.field.value()

    def problem(self) -> str | None:
        return self.field.problem()

    def set_error(self, message: str | None) -> None:
        self.error.setText(message or "")

    @Slot()
    def _reset(self) -> None:
        self.field.set_value(self._original)

    @Slot()
    def _edited(self) -> None:
        self.reset.setEnabled(self.value() != self._original or self.problem() is not None)
        self.changed.emit()
