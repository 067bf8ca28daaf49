"""Reads a body and formats it off the GUI thread, its first lines first; the newest request wins."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.core.bodies.body_reader import LINES_MAX, BodyReader, split_character
from app.core.bodies.decompressor import Decompressor
from app.core.bodies.formatter import Group, Line
from app.ui.inspector.body.body_source import READ, BodySource, plain_pieces
from app.ui.tasks import Latest, Tasks, in_thread

FIRST_LINES, LINES = 500, 5_000
"""Lines of the first step, and of each further one."""
LINES_AT_ONCE, CHARACTERS_AT_ONCE = 2_500, 128 * 1024
"""Lines and characters that are inserted into the view in one turn of the loop, which takes about 20 ms."""
SHOWN_MAX = 8 * 1024 * 1024
"""Characters of formatted lines after which the rest is not shown. They are up to ten times what was sent."""
BEFORE = 32 * 1024
"""Bytes shown before the requested place."""


class BodyLoader(QObject):
    """`begun` carries the reader and the first lines, `continued` more of them until all `ended`."""

    begun = Signal(object, object)
    continued = Signal(object)
    failed = Signal()

    def __init__(self, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._latest = Latest(self, tasks, "body: load")
        self._counted: tuple[BodySource | None, int, int] = (None, 0, 1)
        """Of this body: an offset, and the number of the line there."""
        self.source: BodySource | None = None
        """The body being read."""
        self.reader: BodyReader | None = None
        """Converts the body to lines; None until the first ones are there."""
        self.ended = False

    @property
    def shows_all(self) -> bool:
        """Whether the lines are those of the whole body."""
        reader = self.reader
        return self.ended and reader is not None and reader.done and reader.complete and not reader.start_offset

    def start(self, source: BodySource, group: Group | None) -> None:
        """Read this body from its beginning, cancelling the read in progress."""
        self._latest.run(partial(self._load, source, group))

    def start_at(self, source: BodySource, place: int) -> None:
        """Read its text from a little before the unpacked byte `place`."""
        self._latest.run(partial(self._load, source, "text", place))

    def start_next(self) -> None:
        """Read the text after what is shown."""
        if self.source is not None and self.reader is not None:
            self._latest.run(partial(self._load, self.source, "text", part=self.reader.next_part))

    def stop(self) -> None:
        """Cancel reading."""
        self._latest.stop()

    async def _load(
        self, source: BodySource, group: Group | None, place: int = 0, part: tuple[int, int, bool] | None = None
    ) -> None:
        self.source, self.reader, self.ended = source, None, False
        reader = BodyReader(source.headers, source.content_type, group, raw_head=source.raw_head)
        try:
            elsewhere = part is not None or place > BEFORE
            lines = await self._first_lines(source, reader, only_view=elsewhere)
            if elsewhere:
                reader.go_to(*(part or await self._line_before(source, reader, place - BEFORE)))
                lines = await self._first_lines(source, reader)
        except Exception:
            self.failed.emit()
            raise
        await self._show(reader, lines)

    async def _first_lines(self, source: BodySource, reader: BodyReader, *, only_view: bool = False) -> list[Line]:
        """Or none, once the view and the charset are known, with `only_view`."""
        lines = list[Line]()
        offset = 0 if reader.codings else reader.start_offset
        while not (lines or reader.done or (only_view and reader.view is not None)):
            if reader.needs_input:
                data = await source.read(offset, READ)
                offset += len(data)
                # A body that is shorter than its stated size has ended, too.
                reader.feed(data, offset >= source.size or not data)
            lines = await in_thread(reader.lines, FIRST_LINES)
        return lines

    async def _line_before(self, source: BodySource, reader: BodyReader, end: int) -> tuple[int, int, bool]:
        """Where the line begins that contains the byte `end`, as `BodyReader.go_to` takes it; of a very long line, a
        place within it."""
        known, begin, line = self._counted
        if known != source or begin > end - BEFORE:
            begin, line = 0, 1
        line_end = "\n".encode(reader.charset)
        last = b""
        async for data, _ in plain_pieces(source, Decompressor(reader.codings), begin):
            piece = data[: end - begin]
            line += piece.count(line_end)
            begin += len(piece)
            last = (last + piece)[-BEFORE:]
            if begin >= end:
                break
        self._counted = source, begin, line
        if len(line_end) > 1:
            return begin - begin % 4, line, True
        after = last.rfind(line_end) + 1
        return (begin - len(last) + after, line, False) if after else (begin - split_character(last), line, True)

    async def _show(self, reader: BodyReader, lines: list[Line]) -> None:
        """In pieces, a turn of the loop after each."""
        self.reader = reader
        count = characters = 0
        begun = False
        while True:
            for piece in _pieces(lines):
                if begun:
                    self.continued.emit(piece)
                else:
                    self.begun.emit(reader, piece)
                begun = True
                await asyncio.sleep(0)
            count += len(lines)
            characters += sum(len(line.text) for line in lines)
            if reader.done or count >= LINES_MAX or characters >= SHOWN_MAX:
                break
            lines = await in_thread(reader.lines, LINES)
        reader.end()
        self.ended = True
        self.continued.emit([])


def _pieces(lines: list[Line]) -> Iterator[list[Line]]:
    """At least one piece."""
    begin = size = 0
    for end, line in enumerate(lines, 1):
        size += len(line.text)
        if size > CHARACTERS_AT_ONCE or end - begin == LINES_AT_ONCE:
            yield lines[begin:end]
            begin, size = end, 0
    if begin < len(lines) or not lines:
        yield lines[begin:]
