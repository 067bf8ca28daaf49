"""Reads a body as sent into display lines: content coding, charset, format. Each step is bounded."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from itertools import islice

from app.core.bodies import decompressor, format_registry
from app.core.bodies.charset import BYTES, Charset, detect, in_single_bytes
from app.core.bodies.formats.image import image_kind
from app.core.bodies.formatter import Content, Formatted, Group, Line, Position, View
from app.core.bodies.media_types import media_type
from app.core.record import Headers

CHUNK = 256 * 1024
"""Bytes decompressed in one step. View and charset are chosen by the first of them."""
FORMATTED_MAX = 8 * 1024 * 1024
"""Bytes of the decompressed body that are formatted; of a text the rest is shown in parts of this size."""
LINES_MAX = 400_000
"""Lines of a body that are shown; each takes about 400 bytes of the window's memory."""
LINE_END_WITHIN = 64 * 1024
"""Bytes before the end of a part that are searched for a line end."""
STEP_SECONDS = 0.1
"""Processor time after which the lines that are ready are returned, however few."""
_LAST_CHARACTER = re.compile(rb"[\xc0-\xff][\x80-\xbf]{0,3}\Z")
_ENDED = object()


class BodyReader:
    """Reads one body, or a part of it. `feed` it while it `needs_input`, then call `lines`; never from two threads at
    once.

    `view` is set once the first lines are read, and `views` are all that fit. Without a `group` it is the best,
    or the next best if the body does not match it. With `raw_head` it is that of a whole request, which begins with
    these bytes. `codings` are the content codings removed, `picture` is the kind of
    picture, if it is one. The lines show the bytes of the decompressed body from `start_offset` to `end_offset`; the
    first has the number `first_line`, and `continues` an earlier one or not.
    """

    def __init__(
        self, headers: Headers, content_type: str, group: Group | None = None, *, raw_head: bytes | None = None
    ) -> None:
        names = decompressor.codings(headers)
        self._refusal = decompressor.unsupported_reason(names)
        """Why the bytes are shown as sent."""
        self.codings = () if self._refusal else names
        self._decompressor = decompressor.Decompressor(self.codings)
        self._content_type, self._media_type = content_type, media_type(content_type)
        self._group, self._raw_head = group, raw_head
        self._first = b""
        self._final = False
        self._plain = bytearray()
        self._skip = 0
        self._charset: Charset | None = None
        self._out = Formatted()
        self._begun = False
        self._steps: Iterator[None] = iter(())
        self._fallback: tuple[str, Position | None] | None = None
        self.view: View | None = None
        self.views: list[View] = []
        self.picture: str | None = None
        self.complete = self.done = False
        """Whether the body ends with these lines, and whether all of them were read."""
        self.start_offset = self.end_offset = 0
        self.first_line = 1
        self.continues = False
        self.next_part = (0, 1, False)
        """Where the text after these lines begins, as `go_to` takes it."""

    def go_to(self, offset: int, line: int, continues: bool) -> None:
        """Show the text from a byte of the decompressed body on instead: feed the body from there, or a compressed body
        from its beginning."""
        self._decompressor = decompressor.Decompressor(self.codings)
        self._skip = offset if self.codings else 0
        self._plain, self._out, self._begun, self._final = bytearray(), Formatted(), False, False
        self._group = "text"
        self.view = format_registry.best_in("text", self.views)
        self.start_offset, self.first_line, self.continues = offset, line, continues
        self.complete = self.done = False

    @property
    def charset(self) -> str:
        """Python's name of the charset of the lines."""
        charset = BYTES if self.view is not None and self.view.reads_bytes else self._charset
        return charset.name if charset else "utf-8"

    @property
    def text_charset(self) -> Charset | None:
        """The charset of a text; None for binary data, and for views that are not text."""
        textual = self.view is not None and self.view.write is not None and not self.view.reads_bytes
        return self._charset if textual else None

    @property
    def offsets(self) -> range:
        """Of the decompressed bytes that the lines show."""
        return range(self.start_offset, self.end_offset)

    @property
    def needs_input(self) -> bool:
        """Whether the next piece of the body is needed."""
        return not (self._begun or self.done or self._final) and self._decompressor.needs_input

    @property
    def notes(self) -> list[str]:
        """Sentences to show with the lines."""
        fallback = self._fallback[0] if self._fallback else None
        charset = self.text_charset
        packed = (self._decompressor.finish(), self._decompressor.note) if self.complete else ()
        as_sent = self._refusal and f"{self._refusal} The bytes are shown as sent."
        found = [as_sent, fallback, self._out.error, *self._out.notes, charset and charset.note, *packed]
        return [note for note in found if note]

    @property
    def located_error(self) -> tuple[str, Position] | None:
        """The note on the first error in the text, and its position."""
        if self._fallback is not None:
            return (self._fallback[0], self._fallback[1]) if self._fallback[1] else None
        return self._out.located_error

    def feed(self, data: bytes, final: bool) -> None:
        """The next piece of the body as sent; `final` marks the last one. Cheap: nothing is decoded yet."""
        self._first = self._first or data
        self._decompressor.feed(data)
        self._final = final

    def lines(self, limit: int) -> list[Line]:
        """About `limit` more lines; none while more input is needed."""
        if self.view is None and self._collect(CHUNK):
            self._choose()
        if self._begun:
            self._write(limit)
        elif self.view is not None and not self.done and self._collect(FORMATTED_MAX):
            self._begun = True
            self._begin(limit)
        return self._out.take()

    def end(self) -> None:
        """Read no more lines, and free the body."""
        self._steps = iter(())

    def _collect(self, size: int) -> bool:
        """Decompress up to this many bytes; False if more input is needed for that."""
        while len(self._plain) < size and not self._decompressor.needs_input:
            data = self._decompressor.read(min(CHUNK, size - len(self._plain)))
            skipped = min(self._skip, len(data))
            self._skip -= skipped
            self._plain += data[skipped:]
        if self._decompressor.error and self.view is None and not self._plain and self.codings:
            self._refusal, self.codings = self._decompressor.error, ()
            self._decompressor = decompressor.Decompressor(())
            self._decompressor.feed(self._first)
            return self._collect(size)
        self.complete = (self._final and self._decompressor.needs_input) or self._decompressor.error is not None
        return self.complete or len(self._plain) >= size

    def _choose(self) -> None:
        """Choose the view by the beginning of the body."""
        head = bytes(self._plain)
        if self._raw_head is not None:
            self._charset, self.views = Charset("utf-8"), format_registry.raw_views(self._raw_head)
        else:
            self.picture = image_kind(head)
            self._charset = detect(self._content_type, head, self.complete)
            self.views = format_registry.ranked(self._media_type, in_single_bytes(self._charset, head))
        if self._refusal:
            self.views.sort(key=lambda view: view.group != "hex")
        self.view = self.views[0] if self._group is None else format_registry.best_in(self._group, self.views)
        self.done = self.view.write is None

    def _begin(self, limit: int) -> None:
        """Write the first lines; if the body does not match the best view, in the next one."""
        assert self.view is not None
        assert self._charset is not None
        if not self.view.reads_bytes:
            self._end_at_line()
        data = bytes(self._plain)
        self.end_offset = self.start_offset + len(data)
        begin = 0 if self.start_offset else self._charset.skip
        text = self._charset.decoder().decode(data[begin:], self.complete)
        content = Content(text, data, self._content_type, self.complete)
        self.next_part = (self.end_offset, self.first_line + data.count(b"\n"), not data.endswith(b"\n"))
        self._plain = bytearray()
        for view in self.views if self._group is None else [self.view]:
            self.view, self._out = view, Formatted()
            self.done = view.write is None
            self._steps = view.write(content, self._out) if view.write else iter(())
            self._write(limit)
            if self._out.error is None or self._group is not None:
                break
            # Only the note of the best view: further ones would confuse.
            self._fallback = self._fallback or (f"{self._out.error} Shown as text.", self._out.position)

    def _end_at_line(self) -> None:
        """Cut a text that goes on at the end of a line, or of a long line between two characters."""
        if self.charset.startswith(("utf-16", "utf-32")):
            return
        end = len(self._plain)
        if self._plain.count(b"\n") > LINES_MAX:
            end = next(islice(re.finditer(rb"\n", self._plain), LINES_MAX - 1, None)).end()
            self.complete = False
        elif not self.complete:
            end = self._plain.rfind(b"\n", end - LINE_END_WITHIN) + 1 or end - split_character(self._plain)
        del self._plain[end:]

    def _write(self, limit: int) -> None:
        began = time.thread_time()
        while not self.done and len(self._out) < limit:
            self.done = next(self._steps, _ENDED) is _ENDED
            if len(self._out) and time.thread_time() - began > STEP_SECONDS:
                break


def split_character(data: bytes | bytearray) -> int:
    """How many bytes of a UTF-8 character that may go on are at the end."""
    last = _LAST_CHARACTER.search(data, max(0, len(data) - 4))
    return len(last.group()) if last else 0


def body_text(headers: Headers, content_type: str, data: bytes, limit: int) -> tuple[str, bool]:
    """The text of a complete body, up to `limit` decompressed bytes, and whether that is all of it. Nothing is
    escaped."""
    stream = decompressor.for_headers(headers)
    plain = stream.unpack(data, limit)
    if stream.error and not plain:
        plain = data
    charset = detect(content_type, plain, stream.needs_input)
    return charset.decode(plain), stream.needs_input
