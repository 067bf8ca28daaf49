"""Draws senders' pages and drawings in a separate process, which is killed if it takes too long."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import struct
import subprocess
import sys
from functools import partial
from pathlib import Path
from threading import Lock

import msgspec
from PySide6.QtGui import QImage

from app.core.record import Record
from app.ui.inspector.body.image_decoder import DecodedImage
from hookline.decoding import decode_json

log = logging.getLogger(__name__)

ARGUMENT = "--draw"
"""The argument that makes the packaged program only draw."""
SECONDS = 5.0
"""Seconds for a drawing, including the start of the process."""
MEMORY = 2 * 1024**3
FAILED = "The preview failed. Save it to view it."
_LENGTH = struct.Struct("<I")


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
    # A platform without windows, only for this process.
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtGui import QGuiApplication  # Only after the platform is set.

    from app.ui.inspector.body.renderer import draw  # The drawing code is not part of the window's process.

    application = QGuiApplication(["hookline"])
    request, data = _unpacked(sys.stdin.buffer.read())
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


def _unpacked(data: bytes) -> tuple[DrawRequest, bytes]:
    (length,) = _LENGTH.unpack_from(data)
    end = _LENGTH.size + length
    return decode_json(data[_LENGTH.size : end], DrawRequest), data[end:]


def _picture(data: bytes) -> DecodedImage:
    (length,) = _LENGTH.unpack_from(data)
    end = _LENGTH.size + length
    result = decode_json(data[_LENGTH.size : end], Result)
    if not result.width:
        return DecodedImage(result.words)
    if len(data) - end < result.stride * result.height:
        raise ValueError("pixels are missing")
    image = QImage(data[end:], result.width, result.height, result.stride, QImage.Format(result.format)).copy()
    image.setDevicePixelRatio(result.ratio)
    return DecodedImage(result.words, image)
