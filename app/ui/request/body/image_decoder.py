"""Decodes a picture within limits: only the formats named here, by their first bytes, and nothing from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QLoggingCategory, QSize, Qt
from PySide6.QtGui import QImage, QImageReader

from app.core.bodies.formats import image_type, png_check
from app.core.text import size_text

BYTES_MAX = 64 * 1024 * 1024
"""Bytes of a picture (unpacked) that are read for its preview."""
PIXELS_MAX = 50_000_000
SIDE_MAX = 4_096
"""Pixels of a side of what is kept for showing; the larger picture is scaled to it."""
ALLOCATION_MIB = 256
_JPEG_END, _GIF_END = b"\xff\xd9", b";"
TITLES = {"png": "PNG", "jpeg": "JPEG", "gif": "GIF", "webp": "WebP", "bmp": "BMP"}


@dataclass(frozen=True)
class DecodedImage:
    """A picture to be shown, `size` as it is said to have; or, without `image`, in `words` why there is none."""

    words: str
    image: QImage | None = None
    size: QSize | None = None


def decoded(data: bytes) -> DecodedImage:
    """The picture that `data` is. Slow: not for the GUI thread."""
    kind = image_type.kind(data)
    if kind is None:
        return DecodedImage("This is no picture of a kind that Hookline shows.")
    title = TITLES[kind]
    if kind.encode() not in [bytes(found.data()) for found in QImageReader.supportedImageFormats()]:
        return DecodedImage(f"{title} pictures cannot be shown here. Save it to view it.")
    wrong = _damage(kind, data)
    if wrong is not None:
        return DecodedImage(f"This {title} picture is damaged: {wrong}. Save it to view it.")
    # What is wrong with a picture is a matter between its sender and the reader, not for the program's log.
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
        return DecodedImage(f"This {title} picture is damaged: its size cannot be read.")
    said = f"{size.width():,} \u00d7 {size.height():,} pixels"
    if size.width() * size.height() > PIXELS_MAX:
        return DecodedImage(
            f"Too large to preview: {said}, more than {PIXELS_MAX // 1_000_000} megapixels. Save it to view it."
        )
    if max(size.width(), size.height()) > SIDE_MAX:
        reader.setScaledSize(
            size.scaled(SIDE_MAX, SIDE_MAX, Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(1, 1))
        )
    image = reader.read()
    if image.isNull():
        return DecodedImage(f"This {title} picture ({said}) is damaged or needs too much memory. Save it to view it.")
    animated = reader.supportsAnimation() and reader.canRead()
    more = " · animated, its first frame is shown" if animated else ""
    cut = " · it ends too early, so that a part is missing" if _is_cut(kind, data) else ""
    return DecodedImage(f"{title} · {said}{more}{cut}", image, size)


def too_long(size: int) -> DecodedImage:
    """In place of a picture of which more would have to be read than `BYTES_MAX`."""
    return DecodedImage(
        f"Too large to preview: more than {size_text(BYTES_MAX)} of {size_text(size)} as sent would be read."
    )


def _damage(kind: str, data: bytes) -> str | None:
    """What a decoder would tell standard error about, in words."""
    if kind == "png":
        return png_check.damage(data, PIXELS_MAX)
    # A bitmap says where its pixels begin.
    begins_outside = kind == "bmp" and int.from_bytes(data[10:14], "little") > len(data)
    return "it ends too early" if begins_outside else None


def _is_cut(kind: str, data: bytes) -> bool:
    """Whether the mark of its end is missing from a picture whose beginning is decoded all the same."""
    if kind == "jpeg":
        return _JPEG_END not in data[-4_096:]
    return kind == "gif" and not data.rstrip(b"\0").endswith(_GIF_END)
