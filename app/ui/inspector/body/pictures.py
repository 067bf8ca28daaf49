"""Makes pictures of bodies. Those in a known format, recognized by its first bytes, are decoded, within limits and
without external data. Pages and drawings are drawn in a separate process, after everything that could load, run or
link was removed: it may take forever, and a bug in Qt could crash the process. It is killed if it takes too long.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import struct
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar

import msgspec
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QLoggingCategory, QPointF, QRectF, QSize, Qt, QUrl
from PySide6.QtGui import QColor, QGuiApplication, QImage, QImageReader, QPainter, QTextDocument

from app.core.bodies.charset import detect
from app.core.bodies.formats import html_sanitizer, svg_sanitizer
from app.core.bodies.formats.image import image_kind, image_name, png_damage
from app.core.record import Record
from app.core.text import dimensions_text
from hookline.decoding import decode_json

log = logging.getLogger(__name__)

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


ARGUMENT = "--draw"
"""The argument that makes the packaged program only draw."""
SECONDS = 5.0
"""Seconds for a drawing, including the start of the process."""
MEMORY = 2 * 1024**3
FAILED = "The preview failed. Save it to view it."
_LENGTH = struct.Struct("<I")
Sent = TypeVar("Sent", bound=Record)


class DrawRequest(Record, frozen=True):
    """What to draw; the body follows it."""

    kind: str
    content_type: str
    width: int
    ratio: float


class Result(Record, frozen=True):
    """The header of the pixels, which follow row by row; none if `width` is 0."""

    words: str
    width: int = 0
    height: int = 0
    stride: int = 0
    format: int = 0
    ratio: float = 1.0


class Ending:
    """Ends a process that is being started on another thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False

    def watch(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._process = process
            if self._ended:
                process.kill()

    def end(self) -> None:
        """Kill the process, now or as soon as it has started."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                self._process.kill()


async def draw_apart(request: DrawRequest, data: bytes) -> DecodedImage:
    """Runs `drawn` on a thread. Cancelling kills the process, because the program waits for the thread when it ends."""
    ending = Ending()
    try:
        return await asyncio.get_running_loop().run_in_executor(None, partial(drawn, request, data, ending=ending))
    except asyncio.CancelledError:
        ending.end()
        raise


def drawn(request: DrawRequest, data: bytes, seconds: float = SECONDS, *, ending: Ending | None = None) -> DecodedImage:
    """Blocks until the process has ended: not for the GUI thread."""
    try:
        with subprocess.Popen(
            _command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        ) as process:
            try:
                if ending is not None:
                    ending.watch(process)
                output, _ = process.communicate(_packed(request) + data, seconds)
            except BaseException:
                process.kill()
                raise
        return _picture(output)
    except subprocess.TimeoutExpired:
        return DecodedImage("The preview took too long. Save it to view it.")
    except OSError:
        log.exception("the process that draws previews could not be started or read")
        return DecodedImage(FAILED)
    except (ValueError, msgspec.DecodeError, struct.error):  # It crashed, hit a limit, or was killed.
        return DecodedImage(FAILED)


def main() -> int:
    """Runs in the other process: draws what it reads from standard input."""
    _limit()
    os.environ["QT_QPA_PLATFORM"] = "offscreen"  # a platform without windows, only for this process
    application = QGuiApplication(["hookline"])
    request, data = _unpacked(sys.stdin.buffer.read(), DrawRequest)
    found = draw(request.kind, data, request.content_type, request.width, request.ratio)
    image = found.image
    if image is None:
        sys.stdout.buffer.write(_packed(Result(words=found.words)))
    else:
        size = {"width": image.width(), "height": image.height(), "stride": image.bytesPerLine()}
        result = Result(words=found.words, **size, format=image.format().value, ratio=image.devicePixelRatio())
        sys.stdout.buffer.write(_packed(result) + bytes(image.constBits()))
    sys.stdout.buffer.flush()
    del application
    return 0


def _command() -> list[str]:
    if getattr(sys, "frozen", False):
        return [sys.executable, ARGUMENT]
    root = Path(__file__).resolve().parents[4]
    start = f"import sys; sys.path.insert(0, {str(root)!r}); from {__name__} import main; sys.exit(main())"
    # -P: without it, modules would be loaded from the folder that Hookline was started in.
    return [sys.executable, "-P", "-c", start]


def _limit() -> None:
    """Limit processor time and memory if the system can, so that this process ends even if the window died."""
    try:
        import resource  # not on Windows, where `drawn` still ends the process after its time
    except ImportError:
        return
    for limit, most in ((resource.RLIMIT_CPU, int(SECONDS) + 1), (resource.RLIMIT_AS, MEMORY)):
        # Fails if a lower limit is in force already, and on macOS for memory: the other limit still applies.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))


def _packed(record: DrawRequest | Result) -> bytes:
    head = msgspec.json.encode(record)
    return _LENGTH.pack(len(head)) + head


def _unpacked(data: bytes, kind: type[Sent]) -> tuple[Sent, bytes]:
    (length,) = _LENGTH.unpack_from(data)
    end = _LENGTH.size + length
    return decode_json(data[_LENGTH.size : end], kind), data[end:]


def _picture(data: bytes) -> DecodedImage:
    result, pixels = _unpacked(data, Result)
    if not result.width:
        return DecodedImage(result.words)
    if len(pixels) < result.stride * result.height:
        raise ValueError("pixels are missing")
    image = QImage(pixels, result.width, result.height, result.stride, QImage.Format(result.format)).copy()
    image.setDevicePixelRatio(result.ratio)
    return DecodedImage(result.words, image)


LARGEST = 2_048
"""Maximum pixels of a drawing's longer side."""
PAINTED_MAX = 1_000_000_000
"""Maximum pixels painted, assuming each shape covers the picture. More shapes mean a smaller picture."""
PAGE_HEIGHT = 8_000
"""Pixels shown from the top of a page."""
MARGIN = 16
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
    page = html_sanitizer.sanitize(detect(content_type, data, True).decode(data))
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
