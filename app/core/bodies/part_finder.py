"""Finds the parts of a multipart body that is read in pieces, keeping only where each begins and ends."""

from __future__ import annotations

from typing import NamedTuple

from app.core.bodies.formats.multipart import STEP, boundary_of, delimiters, mark_of

PADDING_MAX = 1_024
"""Bytes after the boundary in its line that are looked at."""
PARTS_MAX = 100_000


class Span(NamedTuple):
    """A part with its headers; `closed`: a boundary follows."""

    begin: int
    end: int
    closed: bool


class PartFinder:
    """`feed` it the body in pieces, the first of at least `STEP` bytes unless that is all, then `finish`."""

    def __init__(self, content_type: str) -> None:
        self.spans: list[Span] = []
        self.notes: list[str] = []
        self.full = False
        """Whether there are more parts than are kept."""
        self._content_type = content_type
        self._boundary: str | None = None
        self._data, self._offset = b"", 0
        """What is not yet searched, a little of what is before it, and where that begins."""
        self._searched = 0
        self._begin: int | None = None
        """Of the part that goes on."""
        self._ended = self._outside = False

    def feed(self, data: bytes) -> None:
        if self._boundary is None:
            self._boundary, note = boundary_of(self._content_type, data[:STEP].decode("latin-1"))
            self.notes += [note] if note else []
        self._data += data if not self.full else b""
        self._search(len(self._data) - len(mark_of(self._boundary)) - PADDING_MAX)

    def finish(self, *, cut: bool = False) -> None:
        """The body ends here; `cut`: it goes on, but not its reading, so that its last part is left out."""
        self._search(len(self._data))
        if self._begin is not None and not cut:
            self.spans.append(Span(self._begin, self._offset + len(self._data), closed=False))
            self.notes.append("The closing boundary is missing.")
        if self._outside:
            self.notes.append("Text outside the parts is in Pretty only.")

    def _search(self, end: int) -> None:
        """For marks before `end`: what follows one decides about it."""
        if self.full:
            return
        last = 0
        for found in () if self._ended else delimiters(self._data, self._boundary or "", self._searched):
            if found.start(1) >= end:
                break
            if len(self.spans) == PARTS_MAX:
                self.full, self._begin = True, None
                self.notes.append(f"Only the first {PARTS_MAX:,} parts are shown.")
                return
            if self._begin is not None:
                self.spans.append(Span(self._begin, self._offset + found.start(), closed=True))
            elif self._data[: found.start()].strip():
                self._outside = True
            last = found.end()
            self._ended = found[2] is not None
            self._begin = None if self._ended else self._offset + last
        self._searched = max(last, end, self._searched)
        if self._begin is None and self._data[last : self._searched].strip():
            self._outside = True
        # The line end before a mark belongs to it.
        cut = max(last, self._searched - 2)
        self._data, self._offset, self._searched = self._data[cut:], self._offset + cut, self._searched - cut
