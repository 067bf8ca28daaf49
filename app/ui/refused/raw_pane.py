"""What came of a refused request, byte for byte: as text with nothing hidden in it, or as hexadecimal."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.core.model import REFUSED_RAW_MAX, Refusal
from app.core.text import size_text
from app.ui.request.body.body_pane import BodyPane
from app.ui.request.body.body_source import BodySource
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.card import Card
from app.ui.widgets.labels import ElidedLabel, label

HEIGHT = 280
_HEAD_END = b"\r\n\r\n"


class RawPane(Card):
    """`show_refusal` shows what is kept of one."""

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent, padding=1)
        self.reason = label("", "strong", self, wrap=True)
        self.caption = ElidedLabel("", "muted", self)
        self.bytes = BodyPane(theme, tasks, self, "No bytes of this request were kept")
        top = QVBoxLayout()
        top.setContentsMargins(metrics.SPACE_4, metrics.SPACE_2, metrics.SPACE_4, 0)
        top.setSpacing(2)
        top.addWidget(self.reason)
        top.addWidget(self.caption)
        self.body.addLayout(top)
        self.body.addWidget(self.bytes, 1)

    def show_refusal(self, refusal: Refusal, raw: bytes | None, endpoint: str | None = None) -> None:
        """Show `raw`, what came of `refusal` to this endpoint; None when it is not kept any more."""
        data = raw or b""
        size = size_text(refusal.raw_size)
        if len(data) == REFUSED_RAW_MAX:
            text = f"The first {size}, as received"
        elif data.find(_HEAD_END) + len(_HEAD_END) == len(data):
            text = f"The head, {size}, as received"
        elif data:
            text = f"{size}, as received"
        elif refusal.raw_size:
            text = f"The {size} received were dropped to make room for newer requests"
        else:
            text = "No bytes were received"
        self.reason.setText(refusal.reason)
        source = f"from {refusal.source_address} port {refusal.source_port}"
        self.caption.setText(" · ".join(filter(None, (text, source, f"for “{endpoint}”" if endpoint else ""))))

        async def read(offset: int, length: int) -> bytes:
            return data[offset : offset + length]

        self.bytes.show_source(BodySource(len(data), (), "", f"refused-{refusal.id}", read))

    def stop(self) -> None:
        """Give up loading."""
        self.bytes.stop()

    def sizeHint(self) -> QSize:
        """Enough for the head of a usual request."""
        return QSize(super().sizeHint().width(), HEIGHT)
