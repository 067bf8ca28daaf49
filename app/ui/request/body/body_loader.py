"""Reads a body in bounded steps and formats it off the GUI thread; the newest request wins."""

from __future__ import annotations

import asyncio
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.core.bodies.body_reader import CHUNK, BodyReader
from app.core.bodies.formatter import Group
from app.core.bodies.lines import Line
from app.core.bodies.resume import BEFORE, Resume, Skipper
from app.ui.latest_only import Latest
from app.ui.request.body.body_source import BodySource, plain_pieces
from app.ui.tasks import Tasks

LINES = 5_000
"""Lines of one step."""
STEP = 64 * 1024
"""Bytes of a body read for one step; few enough that most of their lines are emitted in it."""


class BodyLoader(QObject):
    """`begun` carries the reader and the first lines, `continued` more of them.

    After `failed`, `more` tries again, unless the beginning itself could not be read.
    """

    begun = Signal(object, object)
    continued = Signal(object)
    failed = Signal()

    def __init__(self, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._latest = Latest(tasks, "body: load")
        self._source: BodySource | None = None
        self._reader: BodyReader | None = None
        self._offset = 0
        self._loading = False
        self._target = 0
        self._skipper: tuple[BodySource, str, Skipper] | None = None

    @property
    def loading(self) -> bool:
        """Whether a read is in progress."""
        return self._loading

    @property
    def source(self) -> BodySource | None:
        """The body being read."""
        return self._source

    @property
    def reader(self) -> BodyReader | None:
        """Converts the body to lines; read its notes only between signals."""
        return self._reader

    def start(self, source: BodySource, group: Group | None) -> None:
        """Read this body from its beginning, cancelling the read in progress."""
        self._latest.run(partial(self._begin, source, group))

    def start_at(self, source: BodySource, group: Group | None, place: int) -> None:
        """Read from a little before the unpacked byte `place`, so that this place is shown soon."""
        self._latest.run(partial(self._begin_at, source, group, place))

    def more(self, size: int = 0) -> None:
        """Continue reading, unless a read is in progress: one step, or this many more unpacked bytes, step by step."""
        if not self._loading and self._reader is not None and not self._reader.done:
            self._loading = True
            self._target = self._reader.unpacked + size if size else 0
            self._latest.run(self._read_more)

    def stop_after_step(self) -> None:
        """Stop reading after the current step."""
        self._target = 0

    def stop(self) -> None:
        """Cancel reading."""
        self._latest.stop()

    async def _begin(self, source: BodySource, group: Group | None) -> None:
        reader, lines = await self._first(source, group)
        self._begun(reader, lines)

    async def _begin_at(self, source: BodySource, group: Group | None, place: int) -> None:
        reader, lines = await self._first(source, group)
        if reader.view is not None and reader.view.formatter is not None and place > reader.unpacked - STEP // 2:
            self._loading = True
            point = await self._resume_point(source, reader, place)
            if self._latest.superseded:
                return
            if point is not None:
                reader.resume(point)
                self._offset = 0 if reader.codings else point.offset
            else:
                await self._skip_to(source, reader, place, lines)
            lines = await self._read(source, reader)
            if point is not None and point.folded and lines:
                lines[0] = lines[0]._replace(folded=True)
        self._begun(reader, lines)

    async def _first(self, source: BodySource, group: Group | None) -> tuple[BodyReader, list[Line]]:
        # No reader until the first lines are loaded: `more` must not append to the previous body.
        self._source, self._reader, self._offset, self._loading, self._target = source, None, 0, True, 0
        reader = BodyReader(source.headers, source.content_type, group)
        return reader, await self._read(source, reader)

    def _begun(self, reader: BodyReader, lines: list[Line]) -> None:
        self._reader = reader
        if not self._latest.superseded:
            self.begun.emit(reader, lines)

    async def _resume_point(self, source: BodySource, reader: BodyReader, place: int) -> Resume | None:
        """Where the lines around `place` can begin, if that is known without formatting everything before it."""
        name = reader.view.name if reader.view else ""
        if self._skipper is None or self._skipper[:2] != (source, name):
            found = reader.skipper()
            self._skipper = (source, name, found) if found is not None else None
        if self._skipper is None:
            return None
        skipper, loop = self._skipper[2], asyncio.get_running_loop()
        start = max(0, place - BEFORE)
        skipper.back_to(start)
        following = b""
        async for piece, _ in plain_pieces(source, reader.codings, skipper.offset, self._latest):
            room = max(0, start - skipper.offset)
            if room:
                await loop.run_in_executor(None, skipper.feed, piece[:room])
            following += piece[room:]
            if skipper.offset + len(following) >= place:
                break
        following = following[: max(0, place - skipper.offset)]
        return await loop.run_in_executor(None, skipper.point, following) if following else None

    async def _skip_to(self, source: BodySource, reader: BodyReader, place: int, lines: list[Line]) -> None:
        """Format and discard everything before the place."""
        passed = sum(not line.folded for line in lines)
        while not (reader.done or self._latest.superseded) and (reader.unpacked + CHUNK <= place or reader.has_lines):
            passed += sum(not line.folded for line in await self._step(source, reader))
        reader.skip_lines(passed)

    async def _read_more(self) -> None:
        source, reader = self._source, self._reader
        while source is not None and reader is not None and not (reader.done or self._latest.superseded):
            self._loading = True
            lines = await self._read(source, reader)
            if not self._latest.superseded:
                self.continued.emit(lines)
            if not self._target or (reader.unpacked >= self._target and not reader.has_lines):
                break

    async def _read(self, source: BodySource, reader: BodyReader) -> list[Line]:
        try:
            lines = await self._step(source, reader)
        except Exception:
            self._loading = False
            if not self._latest.superseded:
                self.failed.emit()
            raise
        self._loading = False
        return lines

    async def _step(self, source: BodySource, reader: BodyReader) -> list[Line]:
        """More than one screen of lines: from one piece of the body, or from as many as it takes to get any line."""
        loop = asyncio.get_running_loop()
        lines: list[Line] = []
        while not (lines or reader.done or self._latest.superseded):
            if reader.needs_input:
                data = await source.read(self._offset, STEP)
                self._offset += len(data)
                # A body that is shorter than its stated size has ended, too.
                reader.feed(data, self._offset >= source.size or not data)
            lines = await loop.run_in_executor(None, reader.lines, LINES)
            if reader.view is not None and reader.view.formatter is None:
                break
        return lines
