"""Multipart bodies part by part: name, headers, and content in the view that fits it best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from app.core.bodies.charset import detect
from app.core.bodies.formats.hex_dump import hex_rows, short_row_text
from app.core.bodies.formats.languages import type_of
from app.core.bodies.formats.multipart_parts import STEP, Part, Section, as_text, boundary_of, decode, split
from app.core.bodies.formatter import Content, Formatted, View, Write, written
from app.core.bodies.lines import Kind
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
INDENT = 2


Ranked = Callable[[str, bytes], Sequence[View]]
"""The views for a part, given its media type and first bytes, best first."""


def writer(ranked: Ranked, depth: int = 1) -> Write:
    """Notes name what is wrong with the boundaries; a body without any is an error."""

    def write(content: Content, out: Formatted) -> Iterator[None]:
        yield from _Multipart(content, out, ranked, depth).write()

    return write


class _Multipart:
    def __init__(self, content: Content, out: Formatted, ranked: Ranked, depth: int) -> None:
        self._content, self._data, self._out = content, content.data, out
        self._ranked, self._depth = ranked, depth
        self._count = 0
        self._begun = False

    def write(self) -> Iterator[None]:
        boundary, odd = boundary_of(self._content.content_type, self._data[:STEP].decode("latin-1"))
        notes = self._out.notes
        notes += [odd] if odd else []
        bare = ends_in_part = False
        for number, section in enumerate(split(self._data, boundary)):
            ends_in_part = section.part is not None
            if section.part is None:
                yield from self._write_outside(section, after=number > 0)
            else:
                bare = bare or section.bare
                self._write_part(section, section.part)
            yield
        if not number:
            self._out.error = "No parts found: the boundary does not occur in the body."
            return
        if ends_in_part and self._content.complete:
            notes.append("The closing boundary is missing.")
        if bare:
            notes.append("Lines end in LF instead of CR LF.")

    def _write_outside(self, section: Section, *, after: bool) -> Iterator[None]:
        """Bytes outside all parts, except the line end after the last boundary."""
        data = self._data[section.begin : min(section.end, section.begin + SHOWN_MAX)].strip(b"\r\n")
        if not data:
            return
        self._begin_block()
        self._add_line(
            "punctuation", f"{'After the last part' if after else 'Before the first part'} (not in any part)"
        )
        for line in data.decode("latin-1").split("\n"):
            self._add_line("text", as_text(line.removesuffix("\r")))
            yield

    def _write_part(self, section: Section, part: Part) -> None:
        size = section.end - section.begin
        data, complete = self._data[section.begin : section.end][:SHOWN_MAX], size <= SHOWN_MAX
        goes_on = not section.closed and not self._content.complete
        self._count += 1
        self._begin_block()
        self._write_head(part, f"more than {size_text(size)}" if goes_on else size_text(size))
        content, was_encoded = decode(part.encoding, data, complete)
        if was_encoded is False:
            self._add_line(
                "punctuation", f"{' ' * INDENT}Its headers say {part.encoding}, but it is not; shown as sent."
            )
        if content:
            self._out.end_line()
            self._write_content(part, content, complete, size)
        if not complete:
            self._add_note(f"The first {size_text(SHOWN_MAX)} of {size_text(size)} are shown.")
        if not section.closed and self._content.complete:
            self._add_line("control", "The body ends before this part does.")

    def _write_head(self, part: Part, size: str) -> None:
        add = self._out.add
        add("punctuation", f"Part {self._count}")
        if part.name is not None:
            add("punctuation", " · ")
            add("key", part.name or '""')
        if part.file_name is not None:
            add("punctuation", " · file ")
            add("string", part.file_name or '""')
        kind = f" · {as_text(part.content_type)[:80]}" if part.content_type else ""
        self._add_line("punctuation", f"{kind} · {size}")
        for name, value in part.headers:
            add("literal", as_text(name))
            add("punctuation", ": ")
            self._add_line("text", as_text(value))
        if part.odd:
            self._out.notes.append(f"Part {self._count} has malformed header lines.")
        for line in part.odd:
            self._add_line("control", as_text(line))

    def _write_content(self, part: Part, data: bytes, complete: bool, size: int) -> None:
        """In the best view of its type; for data that no view shows, a few rows of hex."""
        kind = type_of(media_type(part.content_type), part.file_name)
        charset = detect(part.content_type, data, complete)
        text = charset.decoder().decode(data[charset.skip :], complete)
        for view in self._ranked(kind, data):
            if view.write is None:
                break
            write = view.write
            if view.name == "multipart":
                if self._depth >= DEEPEST:
                    continue
                write = writer(self._ranked, self._depth + 1)
            inner = written(write, Content(text, data, part.content_type, complete))
            if inner.error is None or not complete:
                for line in inner.take():
                    self._out.add_line(line, INDENT)
                self._out.end_line()
                return
        for row in hex_rows(data[:HEX_MAX], 0, size, HEX_ROW):
            self._add_line("text", " " * INDENT + short_row_text(row))
        if len(data) > HEX_MAX:
            self._add_note(f"The first {HEX_MAX} bytes are shown.")

    def _begin_block(self) -> None:
        """An empty line before all but the first."""
        if self._begun:
            self._out.end_line()
        self._begun = True

    def _add_note(self, text: str) -> None:
        self._add_line("punctuation", " " * INDENT + text)

    def _add_line(self, kind: Kind, text: str) -> None:
        self._out.add(kind, text)
        self._out.end_line()


def fit(media_type: str, head: bytes) -> float:
    """Certain if type and first characters agree."""
    if media_type.startswith("multipart/"):
        return 1.0 if head.lstrip().startswith(b"--") else 0.7
    return 0.0
