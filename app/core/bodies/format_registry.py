"""Lists all views and ranks them for a body, and for each part of a multipart one, which is shown within it. A view
without `write` also needs its widget in `app/ui/inspector/body/body_pane.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from app.core.bodies.charset import detect
from app.core.bodies.formats import (
    binary,
    code,
    csv,
    form,
    html_sanitizer,
    image,
    json,
    jwt,
    markup,
    msgpack,
    multipart,
    protobuf,
    svg_sanitizer,
    text,
    trees,
)
from app.core.bodies.formats.binary import hex_rows, short_row_text
from app.core.bodies.formats.code import LANGUAGES
from app.core.bodies.formats.multipart import SHOWN_MAX, STEP, Part, Section, as_text, boundary_of, decode, split
from app.core.bodies.formatter import HEAD, Content, Formatted, Group, Line, View, Write, written
from app.core.bodies.media_types import media_type, type_of
from app.core.text import size_text


def multipart_writer(depth: int) -> Write:
    """For a multipart body within so many, itself counted. Notes name what is wrong with the boundaries; a body without
    any is an error."""
    return lambda content, out: _Multipart(content, out, depth).write()


TEXT = View("text", "Text", "text", text.fit, text.write)
HEX = View("hex", "Hex", "hex", binary.fit, None)
VIEWS = (
    View("ndjson", "NDJSON", "pretty", json.ndjson_fit, json.write_many),
    View("json", "JSON", "pretty", json.fit, json.write),
    View("tree", "JSON tree", "tree", trees.fit, None),
    View("xml", "XML", "pretty", markup.xml_fit, markup.xml_write),
    View("html", "HTML", "pretty", markup.html_fit, markup.html_write),
    View("form-table", "Form", "table", form.fit, None),
    View("form", "Form", "pretty", form.fit, form.write),
    View("csv-table", "CSV", "table", csv.fit, None),
    View("parts", "Multipart", "parts", multipart.cards_fit, None),
    View("multipart", "Multipart", "pretty", multipart.fit, multipart_writer(1), reads_bytes=True),
    View("jwt", "JWT", "pretty", jwt.fit, jwt.write),
    View("msgpack", "MessagePack", "pretty", msgpack.fit, msgpack.write, reads_bytes=True),
    View("protobuf", "Protobuf", "pretty", protobuf.fit, protobuf.write, reads_bytes=True),
    View("image", "Image", "preview", image.fit, None),
    View("drawing", "SVG", "preview", svg_sanitizer.fit, None),
    View("page", "HTML", "preview", html_sanitizer.fit, None),
    *(View(each.name, each.title, "pretty", each.fit, code.writer(each)) for each in LANGUAGES),
    TEXT,
    HEX,
)


def ranked(kind: str, head: bytes) -> list[View]:
    """The views that can show the body, best first; text and hex always can."""
    scores = {view.name: view.fit(kind, head[:HEAD]) for view in VIEWS}
    return sorted((view for view in VIEWS if scores[view.name] > 0), key=lambda view: -scores[view.name])


def raw_views(head: bytes) -> list[View]:
    """For a whole request that begins with `head`."""
    return [View("raw", "Text", "text", text.fit, text.raw_writer(head)), HEX]


def best_in(group: Group, views: list[View]) -> View:
    """The best of `views`, which are ranked, in the group, or else the one of text."""
    return next(view for name in (group, "text") for view in views if view.group == name)


HEX_MAX = 64
"""Bytes of a part shown in hex."""
HEX_ROW = 8
"""Sixteen would wrap beside the list in a window of 1280 pixels."""
DEEPEST = 3
"""Maximum levels of multipart within multipart; deeper ones are shown as text."""


def part_lines(part: Part, data: bytes, size: int, *, complete: bool, depth: int = 1) -> list[Line]:
    """The beginning `data` of a part's content of this size in the best view of its type; for data that no view shows,
    a few rows of hex. Within another body there are no tables and no cards."""
    kind = type_of(media_type(part.content_type), part.file_name)
    text = detect(part.content_type, data, complete).decode(data, complete)
    for view in ranked(kind, data):
        if view.group in ("table", "parts") or (view.name == "multipart" and depth >= DEEPEST):
            continue
        if view.write is None:
            break
        write = multipart_writer(depth + 1) if view.name == "multipart" else view.write
        inner = written(write, Content(text, data, part.content_type, complete))
        if inner.error is None or not complete:
            return inner.take()
    out = Formatted()
    for row in hex_rows(data[:HEX_MAX], 0, size, HEX_ROW):
        out.add_line("text", short_row_text(row))
    if len(data) > HEX_MAX:
        out.add_line("punctuation", f"The first {HEX_MAX} bytes are shown.")
    return out.take()


class _Multipart:
    def __init__(self, content: Content, out: Formatted, depth: int) -> None:
        self._content, self._data, self._out, self._depth = content, content.data, out, depth
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
        where = "After the last part" if after else "Before the first part"
        self._out.add_line("punctuation", f"{where} (not in any part)")
        for line in data.decode("latin-1").split("\n"):
            self._out.add_line("text", as_text(line.removesuffix("\r")))
            yield

    def _write_part(self, section: Section, part: Part) -> None:
        size = section.end - section.begin
        data, complete = self._data[section.begin : section.end][:SHOWN_MAX], size <= SHOWN_MAX
        goes_on = not section.closed and not self._content.complete
        self._count += 1
        self._begin_block()
        self._write_head(part, f"more than {size_text(size)}" if goes_on else size_text(size))
        content, was_encoded = decode(part.encoding, data, complete=complete)
        if was_encoded is False:
            self._add_note(f"Its headers say {part.encoding}, but it is not; shown as sent.")
        if content:
            self._out.end_line()
            self._out.add_lines(part_lines(part, content, size, complete=complete, depth=self._depth))
            self._out.end_line()
        if not complete:
            self._add_note(f"The first {size_text(SHOWN_MAX)} of {size_text(size)} are shown.")
        if not section.closed and self._content.complete:
            self._out.add_line("control", "The body ends before this part does.")

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
        self._out.add_line("punctuation", f"{kind} · {size}")
        for name, value in part.headers:
            add("literal", as_text(name))
            add("punctuation", ": ")
            self._out.add_line("text", as_text(value))
        if part.odd:
            self._out.notes.append(f"Part {self._count} has malformed header lines.")
        for line in part.odd:
            self._out.add_line("control", as_text(line))

    def _begin_block(self) -> None:
        """An empty line before all but the first."""
        if self._begun:
            self._out.end_line()
        self._begun = True

    def _add_note(self, text: str) -> None:
        self._out.add_line("punctuation", f"  {text}")
