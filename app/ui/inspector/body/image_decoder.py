"""Decodes a picture within limits: only the formats listed here, recognized by their first bytes, and without external
data.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QLoggingCategory, QSize, Qt
from PySide6.QtGui import QImage, QImageReader

from app.core.bodies.formats.image import image_kind, image_name, png_damage
from app.core.text import dimensions_text, size_text

BYTES_MAX = 64 * 1024 * 1024
"""Maximum bytes of a picture (unpacked) that are read for its preview."""
PIXELS_MAX = 50_000_000
SIDE_MAX = 4_096
"""Maximum side in pixels of the decoded picture; a larger one is scaled down."""
ALLOCATION_MIB = 256
_JPEG_END, _GIF_END = b"\xff\xd9", b";"


@dataclass(frozen=True)
class DecodedImage:
    """A picture to show, with its stated `size`; or, without `image`, the reason in `words`."""

    words: str
    image: QImage | None = None
    size: QSize | None = None


def decoded(data: bytes) -> DecodedImage:
    """Decode the picture in `data`. Slow: not for the GUI thread."""
    kind = image_kind(data)
    if kind is None:
        return DecodedImage("Hookline cannot preview this image format.")
    title = image_name(kind)
    if kind.encode() not in [bytes(found.data()) for found in QImageReader.supportedImageFormats()]:
        return DecodedImage(f"{title} images cannot be previewed. Save it to view it.")
    wrong = _damage(kind, data)
    if wrong is not None:
        return DecodedImage(f"This {title} image is damaged: {wrong}. Save it to view it.")
    # Defects of a picture concern its sender and the user, not the program's log.
    QLoggingCategory.setFilterRules("qt.gui.imageio*=false")
    kept = QByteArray(data)
    buffer = QBuffer(kept)
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    QImageReader.setAllocationLimit(ALLOCATION_MIB)
    reader = QImageReader(buffer, QByteArray(kind.encode()))
    reader.setAutoDetectImageFormat(False)
    reader.setAutoTransform(True)
    size = reader.size()
    if not size.isValid():
        return DecodedImage(f"This {title} image is damaged: its size cannot be read.")
    dimensions = f"{dimensions_text(size.width(), size.height())} pixels"
    if size.width() * size.height() > PIXELS_MAX:
        return DecodedImage(
            f"Too large to preview: {dimensions}, more than {PIXELS_MAX // 1_000_000} megapixels. Save it to view it."
        )
    if max(size.width(), size.height()) > SIDE_MAX:
        reader.setScaledSize(
            size.scaled(SIDE_MAX, SIDE_MAX, Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(1, 1))
        )
    image = reader.read()
    if image.isNull():
        return DecodedImage(
            f"This {title} image ({dimensions}) is damaged or needs too much memory. Save it to view it."
        )
    animated = reader.supportsAnimation() and reader.canRead()
    more = " · animated, first frame shown" if animated else ""
    cut = " · cut off, the rest is missing" if _is_cut(kind, data) else ""
    return DecodedImage(f"{title} · {dimensions}{more}{cut}", image, size)


def too_long(size: int) -> DecodedImage:
    """The result for a picture of which more than `BYTES_MAX` would have to be read."""
    return DecodedImage(f"Too large to preview: more than {size_text(BYTES_MAX)} ({size_text(size)} as sent).")


def _damage(kind: str, data: bytes) -> str | None:
    """What a decoder would write to standard error, in words."""
    if kind == "png":
        return png_damage(data, PIXELS_MAX)
    # A bitmap states where its pixels begin.
    begins_outside = kind == "bmp" and int.from_bytes(data[10:14], "little") > len(data)
    return "it ends too early" if begins_outside else None


def _is_cut(kind: str, data: bytes) -> bool:
    """Whether the end marker of a picture is missing, although its beginning could be decoded."""
    if kind == "jpeg":
        return _JPEG_END not in data[-4_096:]
    return kind == "gif" and not data.rstrip(b"\0").endswith(_GIF_END)
