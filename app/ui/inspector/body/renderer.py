"""Draws a sender's page or drawing with Qt, after everything that could load, run or link was removed.

Run by `render_process.py` in a separate process: it may take forever, and a bug in Qt could crash the process.
"""

from __future__ import annotations

import math

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QLoggingCategory, QPointF, QRectF, QSize, QUrl
from PySide6.QtGui import QColor, QImage, QImageReader, QPainter, QTextDocument

from app.core.bodies.charset import detect
from app.core.bodies.formats import html_sanitizer, svg_sanitizer
from app.core.text import dimensions_text
from app.ui.inspector.body.image_decoder import DecodedImage

LARGEST = 2_048
"""Maximum pixels of a drawing's longer side."""
PAINTED_MAX = 1_000_000_000
"""Maximum pixels painted, assuming each shape covers the picture. More shapes mean a smaller picture."""
PAGE_HEIGHT = 8_000
"""Pixels shown from the top of a page."""
MARGIN = 16
ALLOCATION_MIB = 256
QUIET = "qt.svg*=false\nqt.gui.imageio*=false"
NOT_LOADED = "Scripts, images and links are not loaded"


def draw(kind: str, data: bytes, content_type: str, width: int, ratio: float) -> DecodedImage:
    """`ratio` is in device pixels per pixel. `width` is for `html`; `svg` has a size of its own."""
    QLoggingCategory.setFilterRules(QUIET)
    QImageReader.setAllocationLimit(ALLOCATION_MIB)
    try:
        return _page(data, content_type, width, ratio) if kind == "html" else _drawing(data, ratio)
    except (svg_sanitizer.DrawingError, html_sanitizer.PageError) as error:
        return DecodedImage(f"{error} Save it to view it.")


def _drawing(data: bytes, ratio: float) -> DecodedImage:
    drawing = svg_sanitizer.sanitize(data)
    buffer_data = QByteArray(drawing.text.encode())
    buffer = QBuffer(buffer_data)
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, QByteArray(b"svg"))
    reader.setAutoDetectImageFormat(False)
    reader.setScaledSize(painted_size(drawing, ratio))
    image = reader.read()
    if image.isNull():
        return DecodedImage("Cannot preview this SVG. Save it to view it.")
    size = f"{dimensions_text(drawing.width, drawing.height)} pixels"
    return DecodedImage(_words(f"SVG · {size} · {NOT_LOADED}", drawing.removed), image)


def painted_size(drawing: svg_sanitizer.Drawing, ratio: float) -> QSize:
    """The size in device pixels: the drawing's own, or smaller with its proportions."""
    scale = min(ratio, LARGEST / max(drawing.width, drawing.height))
    scale = min(scale, math.sqrt(PAINTED_MAX / drawing.shapes / (drawing.width * drawing.height)))
    return QSize(max(1, round(drawing.width * scale)), max(1, round(drawing.height * scale)))


class _Document(QTextDocument):
    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Loads nothing."""
        return None


def _page(data: bytes, content_type: str, width: int, ratio: float) -> DecodedImage:
    charset = detect(content_type, data, True)
    page = html_sanitizer.sanitize(charset.decoder().decode(data[charset.skip :], True))
    document = _Document()
    document.setDocumentMargin(MARGIN)
    document.setHtml(page.text)
    document.setTextWidth(width)
    page_height = document.size().height()
    height = max(1, min(math.ceil(page_height), PAGE_HEIGHT))
    image = QImage(QSize(round(width * ratio), round(height * ratio)), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(QColor("white"))
    painter = QPainter(image)
    painter.setClipRect(QRectF(QPointF(0, 0), QSize(width, height)))
    document.drawContents(painter, QRectF(0, 0, width, height))
    painter.end()
    more = " · only the beginning shown" if page_height > PAGE_HEIGHT else ""
    return DecodedImage(_words(f"{NOT_LOADED}{more}", page.removed), image)


def _words(words: str, removed: tuple[str, ...]) -> str:
    names = ", ".join(removed[:8]) + (", …" if len(removed) > 8 else "")
    return f"{words}\nNot shown: {names}" if names else words
