"""Reads a request as it was received in bounded steps, and formats it as lines off the GUI thread."""

from __future__ import annotations

import asyncio
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.core.bodies.formats.text import RawFormatter
from app.core.bodies.lines import Line
from app.core.model import Capture
from app.core.raw_request import head_bytes, trailer_bytes
from app.core.repositories import CaptureRepository
from app.ui.latest_only import Latest
from app.ui.request.body.body_source import BodySource
from app.ui.tasks import Tasks

CHUNK = 64 * 1024
"""Bytes of one step; a byte that is not text takes four characters."""
LINES = 3_000


def raw_of_capture(capture: Capture, captures: CaptureRepository) -> tuple[BodySource, bytes]:
    """All bytes of a request as one source, and its head (request line and headers)."""
    head = head_bytes(capture.method, capture.target, capture.http_version, capture.headers)
    tail = trailer_bytes(capture.trailers)
    end = len(head) + capture.size

    async def read(offset: int, length: int) -> bytes:
        data = head[offset : offset + length]
        at, missing = max(0, offset - len(head)), length - len(data)
        if missing > 0 and at < capture.size:
            data += await captures.body(capture.id, at, min(missing, capture.size - at))
        missing = length - len(data)
        if missing > 0 and offset + len(data) >= end:
            at = offset + len(data) - end
            data += tail[at : at + missing]
        return data

    name = f"request-{capture.id[:13]}"
    check = partial(captures.check_body, capture)
    return BodySource(end + len(tail), (), "", name, read, file_name=f"{name}.http", check=check), head


class RawLoader(QObject):
    """`begun` carries the first lines, `continued` more of them; after `failed` the same call can be repeated."""

    begun = Signal(object)
    continued = Signal(object)
    failed = Signal()

    def __init__(self, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._latest = Latest(tasks, "raw request: load")
        self._source: BodySource | None = None
        self._formatter: RawFormatter | None = None
        self._loading = False
        self.read_bytes = 0
        """Bytes read so far."""

    @property
    def done(self) -> bool:
        """Whether all lines were emitted."""
        source, formatter = self._source, self._formatter
        return source is None or (formatter is not None and self.read_bytes >= source.size and formatter.needs_input)

    def start(self, source: BodySource, head: bytes) -> None:
        """Read this source from its beginning, and stop reading any other."""
        self._source, self._formatter, self.read_bytes = source, None, 0
        self._latest.run(partial(self._begin, source, head))

    def more(self) -> None:
        """Continue reading, unless a read is in progress."""
        if not self._loading and self._formatter is not None and not self.done:
            self._loading = True
            self._latest.run(self._read_more)

    def stop(self) -> None:
        self._latest.stop()
        self._source = self._formatter = None

    async def _begin(self, source: BodySource, head: bytes) -> None:
        self._loading = True
        formatter = await asyncio.get_running_loop().run_in_executor(None, RawFormatter, head)
        self.read_bytes = len(head)
        lines = await self._read(source, formatter, first=True)
        if not self._latest.superseded:
            self._formatter = formatter
            self.begun.emit(lines)

    async def _read_more(self) -> None:
        source, formatter = self._source, self._formatter
        if source is None or formatter is None:
            return
        lines = await self._read(source, formatter)
        if not self._latest.superseded:
            self.continued.emit(lines)

    async def _read(self, source: BodySource, formatter: RawFormatter, *, first: bool = False) -> list[Line]:
        try:
            return await self._step(source, formatter, first)
        except Exception:
            if not self._latest.superseded:
                self.failed.emit()
            raise
        finally:
            self._loading = False

    async def _step(self, source: BodySource, formatter: RawFormatter, first: bool) -> list[Line]:
        loop = asyncio.get_running_loop()
        if first or formatter.needs_input:
            data = await source.read(self.read_bytes, CHUNK)
            # A body may be shorter than its size says.
            ended = not data or self.read_bytes + len(data) >= source.size
            self.read_bytes = source.size if ended else self.read_bytes + len(data)
            await loop.run_in_executor(None, formatter.feed, data, ended)
        return await loop.run_in_executor(None, formatter.next_lines, LINES)
