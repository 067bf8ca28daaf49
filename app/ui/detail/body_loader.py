"""Reads a body in bounded steps and has it formatted off the GUI thread; the newest wish wins."""

from __future__ import annotations

import asyncio
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.core.bodies.choice import Group
from app.core.bodies.lines import Line
from app.core.bodies.reading import CHUNK, BodyReader
from app.ui.detail.latest import Latest
from app.ui.detail.source import BodySource
from app.ui.tasks import Tasks

LINES = 3_000
"""Lines of one step."""


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

    @property
    def read_bytes(self) -> int:
        """How much of the body as sent was read."""
        return self._offset

    @property
    def loading(self) -> bool:
        """Whether more is being read."""
        return self._loading

    @property
    def source(self) -> BodySource | None:
        """The body that is read."""
        return self._source

    @property
    def reader(self) -> BodyReader | None:
        """What turns the body into lines; to be asked for its notes between the signals only."""
        return self._reader

    def start(self, source: BodySource, wanted: Group | None) -> None:
        """Read this body from its beginning; what was being read is given up."""
        self._latest.run(partial(self._begin, source, wanted))

    def more(self) -> None:
        """Read on, unless that is being done."""
        if not self._loading and self._reader is not None and not self._reader.done:
            self._loading = True
            self._latest.run(self._go_on)

    def stop(self) -> None:
        """Give up."""
        self._latest.stop()

    async def _begin(self, source: BodySource, wanted: Group | None) -> None:
        # No reader until the first lines are there: `more` must not append to the body shown before.
        self._source, self._reader, self._offset, self._loading = source, None, 0, True
        reader = BodyReader(source.headers, source.content_type, wanted)
        lines = await self._read(source, reader)
        self._reader = reader
        if not self._latest.superseded:
            self.begun.emit(reader, lines)

    async def _go_on(self) -> None:
        source, reader = self._source, self._reader
        if source is None or reader is None:
            return
        lines = await self._read(source, reader)
        if not self._latest.superseded:
            self.continued.emit(lines)

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
        """One screenful and more: from one piece of the body, or as many as it takes to say anything."""
        loop = asyncio.get_running_loop()
        lines: list[Line] = []
        while not (lines or reader.done or self._latest.superseded):
            if reader.hungry:
                data = await source.read(self._offset, CHUNK)
                self._offset += len(data)
                # A body that is shorter than it said has ended too.
                reader.feed(data, self._offset >= source.size or not data)
            lines = await loop.run_in_executor(None, reader.lines, LINES)
            if reader.view is not None and reader.view.formatter is None:
                break
        return lines
