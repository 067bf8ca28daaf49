"""Shows a body that is a picture or a drawing, scaled to fit, or a page of HTML, drawn after everything that could run,
load or link was removed; it is read, unpacked and decoded off the GUI thread.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFocusEvent, QImage, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QLabel, QScrollArea, QWidget

from app.core.bodies.formats import svg_sanitizer
from app.core.bodies.formats.html_sanitizer import TEXT_MAX as PAGE_MAX
from app.core.bodies.formatter import HEAD
from app.core.text import size_text
from app.ui.inspector.body.body_bars import view_footer
from app.ui.inspector.body.body_source import LOADING, BodySource, SourceView, read_plain
from app.ui.inspector.body.pictures import BYTES_MAX, DecodedImage, DrawRequest, decoded, draw_apart
from app.ui.tasks import Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.labels import label
from app.ui.widgets.layout import vbox

RING, RING_INSET = 1.5, 4
"""Pixels of the focus ring's line, and from the edge to it."""
NARROWEST, WIDEST = 360, 1_200
"""Limits of a page's width in pixels; it follows the view."""
CHECK = 8
"""Size in pixels of a square of the checkerboard behind transparent pictures."""


async def read_picture(source: BodySource, ratio: float) -> DecodedImage:
    """The picture or drawing that a body is, for a screen of this scale."""
    data = await read_plain(source, BYTES_MAX)
    if len(data) > BYTES_MAX:
        return DecodedImage(
            f"Too large to preview: more than {size_text(BYTES_MAX)} ({size_text(source.size)} as sent)."
        )
    if svg_sanitizer.is_svg(data[:HEAD]):
        return await draw_apart(DrawRequest(kind="svg", content_type="", width=0, ratio=ratio), data)
    return await in_thread(decoded, data)


class ImageView(SourceView):
    """Shows a picture with its size below, or the reason why it cannot be shown."""

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__("picture", tasks, parent)
        self.canvas = Canvas(theme, self)
        self.caption = label("", "small", self, wrap=True)
        self.caption.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._theme = theme
        self._ringed = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Body as an image")
        margins = (metrics.SPACE_4, metrics.SPACE_4, metrics.SPACE_4, metrics.SPACE_3)
        vbox((self.canvas, 1), self.caption, inside=self, spacing=metrics.SPACE_2, margins=margins)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the focus ring only for keyboard focus."""
        super().focusInEvent(event)
        self._ringed = event.reason() != Qt.FocusReason.MouseFocusReason

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the focus ring around the whole view."""
        if self.hasFocus() and self._ringed:
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(self._theme.tokens.accent), RING))
            place = QRectF(self.rect()).adjusted(RING_INSET, RING_INSET, -RING_INSET, -RING_INSET)
            painter.drawRoundedRect(place, metrics.RADIUS, metrics.RADIUS)

    async def load(self, source: BodySource) -> None:
        self._show(DecodedImage(LOADING))  # A drawing is drawn by another process, which takes a moment.
        self._show(await read_picture(source, self.devicePixelRatioF()))

    def show_nothing(self) -> None:
        self._show(DecodedImage(""))

    def _show(self, picture: DecodedImage) -> None:
        self.canvas.show_image(picture.image)
        # Without a picture the text takes its space.
        self.canvas.setVisible(picture.image is not None)
        self.caption.setText(picture.words)
        self.setAccessibleDescription(picture.words)


class Canvas(QWidget):
    """Paints a picture on a checkerboard, never larger than its size."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._image: QImage | None = None
        self.setMinimumSize(40, 40)
        theme.changed.connect(self.update)

    def show_image(self, image: QImage | None) -> None:
        self._image = image
        self.update()

    def picture_rect(self) -> QRect:
        """The rectangle of the picture."""
        if self._image is None:
            return QRect()
        ratio = self.devicePixelRatioF()
        room = QSize(self.width(), self.height())
        size = QSize(round(self._image.width() / ratio), round(self._image.height() / ratio))
        if size.width() > room.width() or size.height() > room.height():
            size.scale(room, Qt.AspectRatioMode.KeepAspectRatio)
        size = size.expandedTo(QSize(1, 1))
        return QRect(QPoint((self.width() - size.width()) // 2, (self.height() - size.height()) // 2), size)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._image is None:
            return
        painter = QPainter(self)
        where = self.picture_rect()
        if self._image.hasAlphaChannel():
            painter.setBrushOrigin(where.topLeft())
            painter.fillRect(where, QBrush(self._board()))
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(where, self._image)

    def _board(self) -> QPixmap:
        tokens = self._theme.tokens
        board = QPixmap(2 * CHECK, 2 * CHECK)
        board.fill(QColor(tokens.surface))
        painter = QPainter(board)
        for corner in (QPoint(0, 0), QPoint(CHECK, CHECK)):
            painter.fillRect(QRect(corner, QSize(CHECK, CHECK)), QColor(tokens.pressed))
        painter.end()
        return board


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
        self.area.setProperty("frameless", True)
        self.area.setAccessibleName("Body as a page")
        self.words = label("", "small", self, wrap=True)
        self.setFocusProxy(self.area)
        vbox((self.area, 1), view_footer(self.words, self), inside=self, spacing=0, margins=0)

    def show_nothing(self) -> None:
        self._show(DecodedImage(""))

    async def load(self, source: BodySource) -> None:
        self.words.setText(LOADING)
        data = await read_plain(source, PAGE_MAX)
        if len(data) > PAGE_MAX:
            picture = DecodedImage(f"Too large to preview: this page is larger than {size_text(PAGE_MAX)}.")
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
