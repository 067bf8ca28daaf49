"""Text read from front to end in pieces, with line and column, and what was found wrong on the way."""

from __future__ import annotations

from app.core.bodies.formatter import Place

STEP_MAX = 16 * 1024
"""Characters that are written line by line in one step: they may be nothing but line ends."""


class Scanner:
    """Holds the text that is not read yet. `notes` tell the first fault by its place, and how many followed."""

    def __init__(self) -> None:
        self._text, self._at = "", 0
        self._final = False
        self._waits = True
        self._line, self._column = 1, 1
        self._first_fault = ""
        self.place: Place | None = None
        self._faults = 0
        self.resumed = False
        """Whether reading began in the middle: then nobody knows the lines."""

    @property
    def notes(self) -> list[str]:
        """Where it is not well-formed."""
        if not self._faults:
            return []
        more = f" (and {self._faults - 1:,} more such places)" if self._faults > 1 else ""
        return [f"{self._first_fault}{more}."]

    def feed(self, text: str, final: bool) -> None:
        """More of the text; `final` with the last of it."""
        self._text = self._text[self._at :] + text
        self._at = 0
        self._final = self._final or final
        self._waits = False

    def _advance(self, read: str) -> None:
        self._at += len(read)
        breaks = read.count("\n")
        if breaks:
            self._line += breaks
            self._column = len(read) - read.rfind("\n")
        else:
            self._column += len(read)

    def _fault(self, why: str, before: str = "") -> None:
        """Something is wrong, after so much of what comes next."""
        self._faults += 1
        if self._faults == 1:
            line = self._line + before.count("\n")
            column = len(before) - before.rfind("\n") if "\n" in before else self._column + len(before)
            self.place = None if self.resumed else (line, column)
            place = "" if self.resumed else f" at line {line:,}, column {column:,}"
            self._first_fault = f"Not well-formed{place}: {why}"

    def _sure(self, keep: int) -> int:
        """Where what is there may be cut, if the end of something `keep` characters long may be coming."""
        stop = len(self._text) if self._final else max(self._at, len(self._text) - keep)
        waits = not self._final and stop > self._at and self._text[stop - 1] == "\r"
        return stop - 1 if waits else stop

    def _one_step(self, stop: int) -> int:
        """`stop`, or where one step towards it ends; never between CR and LF."""
        if stop - self._at <= STEP_MAX:
            return stop
        near = self._at + STEP_MAX
        return near - 1 if self._text[near - 1] == "\r" else near
