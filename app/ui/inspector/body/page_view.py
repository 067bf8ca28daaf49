"""Shows HTML as a picture of a page, drawn after everything that could run, load or link was removed."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QLabel, QScrollArea, QWidget

from app.core.bodies.formats.html_sanitizer import TEXT_MAX
from app.core.text import size_text
from app.ui.inspector.body.body_bars import view_footer
from app.ui.inspector.body.body_source import BodySource, read_plain
from app.ui.inspector.body.image_decoder import DecodedImage
from app.ui.inspector.body.render_process import DrawRequest, draw_apart
from app.ui.inspector.body.source_view import LOADING, SourceView
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.labels import label
from app.ui.widgets.layout import vbox

NARROWEST, WIDEST = 360, 1_200
"""Limits of the page width in pixels; it follows the view."""


class PageView(SourceView):
    """Shows a page, and below it what was left out, or why it cannot be shown."""

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__("page", tasks, parent)
        self.page = QLabel(self)
        self.page.setTextFormat(Qt.TextFormat.PlainText)
        self.page.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.page.setAccessibleName("Body as a page")
        self.area = QScrollArea(self)
        self.area.setWidget(self.page)
        self.area.setWidgetResizable(False)
        self.area.setProperty("frameless", True)
        self.area.setAccessibleName("Body as a page")
        self.words = label("", "small", self, wrap=True)
        self.setFocusProxy(self.area)
        vbox((self.area, 1), view_footer(self.words, self), inside=self, spacing=0, margins=0)

    def show_nothing(self) -> None:
        self._show(DecodedImage(""))

    async def load(self, source: BodySource) -> None:
        self.words.setText(LOADING)
        data = await read_plain(source, TEXT_MAX)
        if len(data) > TEXT_MAX:
            picture = DecodedImage(f"Too large to preview: this page is larger than {size_text(TEXT_MAX)}.")
        else:
            # The view gets its width only when it is shown.
            width = min(max(self.area.viewport().width(), NARROWEST), WIDEST)
            request = DrawRequest(
                kind="html", content_type=source.content_type, width=width, ratio=self.devicePixelRatioF()
            )
            picture = await draw_apart(request, data)
        self._show(picture)

    def _show(self, picture: DecodedImage) -> None:
        # White in the dark theme too, as the sender saw it.
        self.area.viewport().setStyleSheet("" if picture.image is None else "background: white;")
        self.page.setPixmap(QPixmap() if picture.image is None else QPixmap.fromImage(picture.image))
        self.page.adjustSize()
        self.area.verticalScrollBar().setValue(0)
        self.words.setText(picture.words)
        self.area.setAccessibleDescription(picture.words)
