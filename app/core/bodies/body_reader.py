"""Reads a body as sent into display lines, piece by piece: content coding, charset, format. Each step is bounded."""

from __future__ import annotations

from app.core.bodies import decompressor, format_registry
from app.core.bodies.charset import BYTES, Charset, detect, in_single_bytes
from app.core.bodies.formats.image import image_kind
from app.core.bodies.formatter import Formatter, Group, LocatesError, Position, View
from app.core.bodies.lines import Line
from app.core.bodies.media_types import media_type
from app.core.bodies.resume import Resume, Skipper, skipper_for
from app.core.record import Headers

CHUNK = 256 * 1024
"""Bytes of a body read, and decompressed, in one step."""


class BodyReader:
    """Reads one body. `feed` it while it `needs_input`, then call `lines`; never from two threads at once.

    `view` is set once the first lines are read, and `views` are all that fit. Without a `group` it is the best,
    or the next best if the body does not match it. `codings` are the content codings removed, `unpacked` counts the
    resulting bytes so far, `picture` is the kind of picture, if it is one. If the beginning was skipped, `start_offset`
    is the byte of the decompressed body where the lines begin, and `first_line` the number of the first line, if known.
    """

    def __init__(self, headers: Headers, content_type: str, group: Group | None = None) -> None:
        names = decompressor.codings(headers)
        refusal = decompressor.unsupported_reason(names)
        self._refusal = f"{refusal} The bytes are shown as sent." if refusal else None
        self.codings = () if self._refusal else names
        self._decompressor = decompressor.Decompressor(self.codings)
        self._content_type, self._media_type = content_type, media_type(content_type)
        self._group = group
        self._fed = self._final = False
        self._first = b""
        self._charset: Charset | None = None
        self._formatter: Formatter | None = None
        self._decoding_error: str | None = None
        self._fallback_note: list[str] = []
        self._fallback_position: Position | None = None
        self.view: View | None = None
        self.views: list[View] = []
        self.unpacked = 0
        self.picture: str | None = None
        self.start_offset = 0
        self.first_line: int | None = 1
        self._skip = 0

    def skipper(self) -> Skipper | None:
        """Finds places further on where lines can begin; None if everything before them must be read."""
        return skipper_for(self._formatter, self._charset)

    def resume(self, point: Resume) -> None:
        """Continue at `point`: feed the body from there, or a compressed body from its beginning."""
        assert self._charset is not None
        self._formatter, self._decoder = point.formatter(), self._charset.decoder()
        self._decompressor = decompressor.Decompressor(self.codings)
        self._skip = point.offset if self.codings else 0
        self.unpacked = 0 if self.codings else point.offset
        self.start_offset, self.first_line = point.offset, point.line
        self._final = False

    def skip_lines(self, lines: int) -> None:
        """Record that `lines` numbered lines were read without being shown."""
        self.start_offset, self.first_line = self.unpacked, lines + 1

    @property
    def charset(self) -> str:
        """Python's name of the charset of the lines."""
        return self._charset.name if self._charset else "utf-8"

    @property
    def text_charset(self) -> Charset | None:
        """The charset of a text; None for binary data, and for views that are not text."""
        textual = self._formatter is not None and self.view is not None and not self.view.reads_bytes
        return self._charset if textual else None

    @property
    def has_lines(self) -> bool:
        """Whether lines can be read without more input."""
        return self._formatter is not None and not self._formatter.needs_input

    @property
    def needs_input(self) -> bool:
        """Whether the next piece of the body is needed; also true after the last one."""
        no_lines = self._formatter is None or self._formatter.needs_input
        return not self._fed or (no_lines and self._decompressor.needs_input)

    @property
    def done(self) -> bool:
        """Whether all lines were read."""
        return self._final and self.needs_input

    @property
    def notes(self) -> list[str]:
        """Sentences to show with the lines."""
        error = self._formatter.error if self._formatter else None
        charset = self._charset.note if self._charset and self._formatter else None
        notes = self._formatter.notes if self._formatter else ()
        trailing = self._decompressor.note if self._at_end() else None
        found = [self._refusal, *self._fallback_note, error, *notes, charset, self._decoding_error, trailing]
        return [note for note in found if note]

    @property
    def located_error(self) -> tuple[str, Position] | None:
        """The note on the first error in the text, and its position."""
        if self._fallback_position is not None:
            return self._fallback_note[0], self._fallback_position
        formatter = self._formatter
        if isinstance(formatter, LocatesError) and formatter.position is not None:
            return formatter.error or formatter.notes[0], formatter.position
        return None

    def feed(self, data: bytes, final: bool) -> None:
        """The next piece of the body as sent; `final` marks the last one. Cheap: nothing is decoded yet."""
        if not self._fed:
            self._first = data
        self._decompressor.feed(data)
        self._fed, self._final = True, final

    def lines(self, limit: int) -> list[Line]:
        """At most `limit` more lines."""
        if self._formatter is not None:
            if self._formatter.needs_input:
                self._formatter.feed(*self._next_text())
            return self._formatter.next_lines(limit)
        return self._begin(limit)

    def _begin(self, limit: int) -> list[Line]:
        head = self._next_bytes()
        if self._decompressor.error and not head:
            head = self._stop_decompressing(self._decompressor.error)
        self.picture = image_kind(head)
        text_charset = detect(self._content_type, head, self._at_end())
        self.views = format_registry.ranked(self._media_type, in_single_bytes(text_charset, head))
        if self._refusal:
            self.views.sort(key=lambda view: view.group != "hex")
        candidates = self.views
        if self._group is not None:
            candidates = [format_registry.best_in(self._group, self.views) or format_registry.TEXT]
        self._first = b""
        for view in candidates:
            self.view = view
            if view.formatter is None:
                break
            self._charset = charset = BYTES if view.reads_bytes else text_charset
            self._decoder = charset.decoder()
            formatter = view.formatter(self._content_type)
            formatter.feed(self._decoder.decode(head[charset.skip :], self._at_end()), self._at_end())
            lines = formatter.next_lines(limit)
            if formatter.error is None or view is candidates[-1] or self._group is not None:
                self._formatter = formatter
                return lines
            # Only the note of the best view: further ones would confuse.
            if not self._fallback_note:
                self._fallback_note = [f"{formatter.error} Shown as text."]
                self._fallback_position = formatter.position if isinstance(formatter, LocatesError) else None
        return []

    def _stop_decompressing(self, why: str) -> bytes:
        """Give up decompression and show the bytes as sent."""
        self._refusal = f"{why} The bytes are shown as sent."
        self.codings, self._decoding_error, self.unpacked = (), None, 0
        self._decompressor = decompressor.Decompressor(())
        self._decompressor.feed(self._first)
        return self._next_bytes()

    def _next_text(self) -> tuple[str, bool]:
        data = self._next_bytes()
        final = self._at_end()
        return self._decoder.decode(data, final), final

    def _next_bytes(self) -> bytes:
        data = self._read_chunk()
        while self._skip and data:
            passed = min(self._skip, len(data))
            self._skip -= passed
            data = data[passed:] or self._read_chunk()
        self._decoding_error = self._decompressor.finish() if self._at_end() else self._decompressor.error
        return data

    def _read_chunk(self) -> bytes:
        data = self._decompressor.read(CHUNK)
        self.unpacked += len(data)
        return data

    def _at_end(self) -> bool:
        return (self._final and self._decompressor.needs_input) or self._decompressor.error is not None


def body_text(headers: Headers, content_type: str, data: bytes, limit: int) -> tuple[str, bool]:
    """The text of a complete body, up to `limit` decompressed bytes, and whether that is all of it. Nothing is
    escaped."""
    names = decompressor.codings(headers)
    stream = decompressor.Decompressor(() if decompressor.unsupported_reason(names) else names)
    stream.feed(data)
    plain = bytearray()
    while len(plain) < limit and not stream.needs_input:
        plain += stream.read(limit - len(plain))
    if stream.error and not plain:
        plain += data
    charset = detect(content_type, bytes(plain), stream.needs_input)
    return charset.decoder().decode(bytes(plain[charset.skip :]), True), stream.needs_input
