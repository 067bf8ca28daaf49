"""A body to show, wherever it is stored: its metadata; functions that read and unpack it; its lines, formatted off the
GUI thread, the first ones first; and what the views have in common that read it themselves."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.core.bodies.body_reader import CHUNK, LINES_MAX, BodyReader, split_character
from app.core.bodies.decompressor import Decompressor, codings, for_headers
from app.core.bodies.formatter import Group, Line
from app.core.bodies.media_types import content_type_of
from app.core.delivery import Attempt
from app.core.errors import DamagedBodyError
from app.core.model import PART_SIZE, Capture
from app.core.raw_request import head_bytes, is_chunked, trailer_bytes
from app.core.record import Headers
from app.core.text import size_text
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.widgets.marked_text import CellDelegate

if TYPE_CHECKING:
    from app.db.captures import Captures
    from app.db.deliveries.deliveries import Deliveries

READ = 1024 * 1024
"""Bytes read at once when a whole body is processed."""


Read = Callable[[int, int], Awaitable[bytes]]


async def _intact() -> None:
    """Only the bodies of requests are stored with a hash."""


@dataclass(frozen=True)
class BodySource:
    """`read(offset, length)` returns the bytes as they were sent. A saved file is called `file_name`, or `name` with
    the extension of its type if there is none. `check` reads all of it, and raises DamagedBodyError if it is not what
    was received. A whole request begins with `raw_head`, and is shown as it was received, with these `facts`.
    """

    size: int
    headers: Headers
    content_type: str
    name: str
    read: Read
    file_name: str | None = None
    check: Callable[[], Awaitable[None]] = _intact
    raw_head: bytes | None = None
    facts: Sequence[str] = ()

    async def damage(self) -> str:
        """What is wrong with it, as a sentence; empty if it is intact."""
        try:
            await self.check()
        except DamagedBodyError as error:
            return str(error)
        return ""

    def part(self, begin: int, size: int, **other: Any) -> BodySource:
        """Some of its bytes, as a body with the `other` attributes."""

        async def read(offset: int, length: int) -> bytes:
            return await self.read(begin + offset, max(0, min(length, size - offset)))

        return replace(self, size=size, read=read, **other)


def of_capture(capture: Capture, captures: Captures) -> BodySource:
    """The body of a request. A body of a single part is read once: if it is deleted meanwhile it can still be shown and
    copied.
    """

    async def stored(offset: int, length: int) -> bytes:
        return await captures.body(capture.id, offset, length)

    read = stored if capture.size > PART_SIZE else _read_once(partial(stored, 0, PART_SIZE))
    check = partial(captures.check_body, capture)
    name = f"request-{capture.id[:13]}"
    return BodySource(capture.size, capture.headers, capture.content_type, name, read, check=check)


def of_raw(capture: Capture, body: BodySource) -> BodySource:
    """A whole request as it was received: its head, this body and its trailers."""
    head = head_bytes(capture.method, capture.target, capture.http_version, capture.headers)
    tail = trailer_bytes(capture.trailers)
    end = len(head) + capture.size

    async def read(offset: int, length: int) -> bytes:
        data = head[offset : offset + length]
        at, missing = max(0, offset - len(head)), length - len(data)
        if missing > 0 and at < capture.size:
            data += await body.read(at, min(missing, capture.size - at))
        missing = length - len(data)
        if missing > 0 and offset + len(data) >= end:
            at = offset + len(data) - end
            data += tail[at : at + missing]
        return data

    size, file_name = end + len(tail), f"{body.name}.http"
    facts = _raw_facts(capture, size)
    return BodySource(size, (), "", body.name, read, file_name, check=body.check, raw_head=head, facts=facts)


def _raw_facts(capture: Capture, size: int) -> list[str]:
    """Which parts are exactly as received, and which are not."""
    facts = ["As received", size_text(size)]
    packed = codings(capture.headers)
    if packed and capture.size:
        facts.append(f"body in {' and '.join(packed)}")
    if is_chunked(capture.headers):
        facts.append("chunked framing removed")
    if not capture.complete:
        facts.append("cut off")
    return facts


def of_attempt(attempt: Attempt, deliveries: Deliveries) -> BodySource:
    """The body of the response to an attempt, at most `PART_SIZE` of it; read once."""
    read = _read_once(lambda: deliveries.response_body(attempt.delivery_id, attempt.number))
    name = f"response-{attempt.delivery_id[:13]}-{attempt.number}"
    headers = attempt.response_headers
    return BodySource(attempt.response_size, headers, content_type_of(headers), name, read)


def of_bytes(data: bytes, name: str, *, headers: Headers = ()) -> BodySource:
    """A body that is in memory."""

    async def read(offset: int, length: int) -> bytes:
        return data[offset : offset + length]

    return BodySource(len(data), headers, content_type_of(headers), name, read)


def _read_once(whole: Callable[[], Awaitable[bytes]]) -> Read:
    """Reads the `whole` body when it is first needed."""
    kept: list[bytes] = []

    async def read(offset: int, length: int) -> bytes:
        if not kept:
            kept.append(await whole())
        return kept[0][offset : offset + length]

    return read


async def read_plain(source: BodySource, limit: int) -> bytes:
    """The whole body, or one byte more than `limit` if it is larger."""
    plain = bytearray()
    async with aclosing(plain_pieces(source, for_headers(source.headers))) as pieces:
        async for piece, _ in pieces:
            plain += piece
            if len(plain) > limit:
                break
    return bytes(plain[: limit + 1])


async def plain_pieces(
    source: BodySource, unpacker: Decompressor, begin: int = 0
) -> AsyncGenerator[tuple[bytes, int], None]:
    """What the new `unpacker` makes of the body, from its unpacked byte `begin` on in pieces of at most `CHUNK`, each
    with the number of packed bytes read for it.
    """
    offset, drop = (0, begin) if unpacker.codings else (begin, 0)
    while offset < source.size and not unpacker.error:
        data = await source.read(offset, READ)
        if not data:
            return
        offset += len(data)
        unpacker.feed(data)
        while not unpacker.needs_input:
            piece = await in_thread(unpacker.read, CHUNK) if unpacker.codings else unpacker.read(CHUNK)
            if drop < len(piece):
                yield piece[drop:], offset
            drop = max(0, drop - len(piece))


FIRST_LINES, LINES = 500, 5_000
"""Lines of the first step, and of each further one."""
LINES_AT_ONCE, CHARACTERS_AT_ONCE = 2_500, 128 * 1024
"""Lines and characters that are inserted into the view in one turn of the loop, which takes about 20 ms."""
SHOWN_MAX = 8 * 1024 * 1024
"""Characters of formatted lines after which the rest is not shown. They are up to ten times what was sent."""
BEFORE = 32 * 1024
"""Bytes shown before the requested place."""


class BodyLoader(QObject):
    """Reads a body and formats it off the GUI thread; the newest request wins. `begun` carries the reader and the first
    lines, `continued` more of them until all `ended`.
    """

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


LOADING = "Loading…"


class SourceView(QWidget):
    """`show_source` shows a body. Subclasses `load` it, which ends early when another one is shown."""

    cells: CellDelegate | None = None
    """What paints the cells of a table, and marks matches in them."""

    def __init__(self, name: str, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._latest = Latest(self, tasks, f"{name}: load")

    def show_source(self, source: BodySource) -> None:
        """Show this body."""
        self.clear()
        self._latest.run(partial(self.load, source))

    def clear(self) -> None:
        """Show nothing, cancel loading, and free what was read."""
        self._latest.stop()
        self.show_nothing()

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Mark the matches of this pattern, in what is shown and in all later bodies; None marks nothing."""
        if self.cells is not None:
            self.cells.mark(pattern)

    async def load(self, source: BodySource) -> None:
        raise NotImplementedError

    def show_nothing(self) -> None:
        raise NotImplementedError
