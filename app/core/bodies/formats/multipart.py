"""Multipart bodies part by part: name, headers, and content in the view that fits it best."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from app.core.bodies.charset import BYTES, detect
from app.core.bodies.formats.hex_dump import hex_rows, short_row_text
from app.core.bodies.formats.languages import type_of
from app.core.bodies.formats.multipart_parts import Event, Part, Splitter, as_text, boundary_of, decode
from app.core.bodies.formatter import Formatter, View
from app.core.bodies.lines import Line, LineBuilder
from app.core.bodies.media_types import media_type
from app.core.text import size_text

SHOWN_MAX = 64 * 1024
"""Bytes shown of a part."""
HEX_MAX = 64
"""Bytes of a part shown in hex."""
HEX_ROW = 8
"""Sixteen would wrap beside the list in a window of 1280 pixels."""
DEEPEST = 3
"""Maximum levels of multipart within multipart; deeper ones are shown as text."""
STEP_SECONDS = 0.1
"""Processor time after which the parts that are ready are returned, however few."""
INDENT = 2


Ranked = Callable[[str, bytes], Sequence[View]]
"""The views for a part, given its media type and first bytes, best first."""


class MultipartFormatter:
    """Fed bytes as Latin-1 characters. `notes` names what is wrong with the boundaries; a body without any is an
    `error`."""

    def __init__(self, content_type: str, ranked: Ranked, depth: int = 1) -> None:
        self.error: str | None = None
        self.notes: list[str] = []
        self._ranked, self._depth = ranked, depth
        self._content_type = content_type
        self._lines = LineBuilder()
        self._splitter: Splitter | None = None
        self._text, self._final, self._end_noted = "", False, False
        self._waits, self._ended = True, False
        self._count = 0
        self._part: Part | None = None
        self._content_start, self._size, self._outside = "", 0, 0
        self._is_written = False
        self._events: Iterator[Event] = iter(())

    @property
    def needs_input(self) -> bool:
        return not len(self._lines) and (self._ended or self._waits)

    def feed(self, text: str, final: bool) -> None:
        self._text += text
        self._final = self._final or final
        self._waits = False

    def next_lines(self, limit: int) -> list[Line]:
        if self._waits or self._ended:
            return self._lines.next_lines(limit)
        if self._splitter is None:
            boundary, odd = boundary_of(self._content_type, self._text)
            self.notes += [odd] if odd else []
            self._splitter = Splitter(boundary)
        if self._text or (self._final and not self._end_noted):
            text, self._text = self._text, ""
            self._end_noted = self._final
            self._events = self._splitter.feed(text, self._final)
        began = time.thread_time()
        while len(self._lines) < limit:
            if len(self._lines) and time.thread_time() - began > STEP_SECONDS:
                break
            event = next(self._events, None)
            if event is None:
                self._waits = True
                if self._final:
                    self._finish(self._splitter)
                break
            self._handle(event, self._splitter)
        return self._lines.next_lines(limit)

    def _handle(self, event: Event, splitter: Splitter) -> None:
        kind, content = event
        if isinstance(content, Part):
            self._count += 1
            self._part, self._content_start, self._size, self._is_written = content, "", 0, False
        elif kind == "data":
            self._content_start += content[: SHOWN_MAX - len(self._content_start)]
            self._size += len(content)
            if self._size > SHOWN_MAX:
                self._show()
        elif kind == "end":
            self._show()
            self._end(cut_off=not content)
        else:
            self._show_outside(content, after=splitter.closed)

    def _finish(self, splitter: Splitter) -> None:
        self._ended = True
        if not self._lines.empty:
            self._lines.end_line()
        if not self._count and not splitter.closed:
            self.error = "No parts found: the boundary does not occur in the body."
            return
        if not splitter.closed:
            self.notes.append("The closing boundary is missing.")
        if splitter.bare:
            self.notes.append("Lines end in LF instead of CR LF.")

    def _show_outside(self, text: str, *, after: bool) -> None:
        """Bytes outside all parts, except the line end after the last boundary."""
        if not text.strip("\r\n") or self._outside >= SHOWN_MAX:
            return
        if not self._outside:
            self._title(f"{'After the last part' if after else 'Before the first part'} (not in any part)")
        self._outside += len(text)
        for line in text[:SHOWN_MAX].strip("\r\n").split("\n"):
            self._lines.add("text", as_text(line.removesuffix("\r")))
            self._lines.end_line()

    def _title(self, text: str) -> None:
        if self._count or self._outside:
            self._lines.end_line()
        self._lines.add("punctuation", text)
        self._lines.end_line()

    def _show(self) -> None:
        """Show the part once it is complete or has more than `SHOWN_MAX` bytes."""
        part, data, complete = self._part, self._content_start.encode("latin-1"), self._size <= SHOWN_MAX
        if part is None or self._is_written:
            return
        self._is_written = True
        if self._count > 1 or self._outside:
            self._lines.end_line()
        self._head(part, size_text(self._size) if complete else f"more than {size_text(SHOWN_MAX)}")
        content, coded = decode(part.encoding, data, complete)
        if coded is False:
            self._add_note_line(f"Its headers say {part.encoding}, but it is not; shown as sent.")
        if content:
            self._lines.end_line()
            self._content(part, content, complete)

    def _end(self, *, cut_off: bool) -> None:
        if self._size > SHOWN_MAX:
            self._add_note_line(f"The first {size_text(SHOWN_MAX)} of {size_text(self._size)} are shown.")
        if cut_off:
            self._lines.add("control", "The body ends before this part does.")
            self._lines.end_line()
        self._part, self._content_start = None, ""

    def _head(self, part: Part, size: str) -> None:
        add = self._lines.add
        add("punctuation", f"Part {self._count}")
        if part.name is not None:
            add("punctuation", " · ")
            add("key", part.name or '""')
        if part.file_name is not None:
            add("punctuation", " · file ")
            add("string", part.file_name or '""')
        kind = f" · {as_text(part.content_type)[:80]}" if part.content_type else ""
        add("punctuation", f"{kind} · {size}")
        self._lines.end_line()
        for name, value in part.headers:
            add("literal", as_text(name))
            add("punctuation", ": ")
            add("text", as_text(value))
            self._lines.end_line()
        if part.odd:
            self.notes.append(f"Part {self._count} has malformed header lines.")
        for line in part.odd:
            add("control", as_text(line))
            self._lines.end_line()

    def _content(self, part: Part, data: bytes, complete: bool) -> None:
        """In the best view of its type; for data that no view shows, a few rows of hex."""
        kind = type_of(media_type(part.content_type), part.file_name)
        charset = detect(part.content_type, data, complete)
        for view in self._ranked(kind, data):
            if view.formatter is None:
                break
            if view.name == "multipart":
                if self._depth >= DEEPEST:
                    continue
                formatter: Formatter = MultipartFormatter(part.content_type, self._ranked, self._depth + 1)
            else:
                formatter = view.formatter(part.content_type)
            read = BYTES if view.reads_bytes else charset
            formatter.feed(read.decoder().decode(data[read.skip :], complete), True)
            lines: list[Line] = []
            while not formatter.needs_input:
                lines += formatter.next_lines(1_000)
            if formatter.error is None or not complete:
                for line in lines:
                    self._lines.add_line(line, INDENT)
                self._lines.end_line()
                return
        for row in hex_rows(data[:HEX_MAX], 0, self._size, HEX_ROW):
            self._lines.add("text", " " * INDENT + short_row_text(row))
            self._lines.end_line()
        if len(data) > HEX_MAX:
            self._add_note_line(f"The first {HEX_MAX} bytes are shown.")

    def _add_note_line(self, text: str) -> None:
        self._lines.add("punctuation", f"{' ' * INDENT}{text}")
        self._lines.end_line()


def fit(media_type: str, head: bytes) -> float:
    """Certain if type and first characters agree."""
    if media_type.startswith("multipart/"):
        return 1.0 if head.lstrip().startswith(b"--") else 0.7
    return 0.0
