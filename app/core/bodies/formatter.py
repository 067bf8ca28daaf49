"""The interface of a format: a function writes a body as lines of styled text, of bounded length, and a view says how
well it fits one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from app.core.bodies.escape import HIDDEN_BUT_TAB, pieces

Kind = Literal["text", "key", "string", "number", "literal", "punctuation", "control"]
"""`control` is the escape shown for an invisible character; the others are for colouring."""

Span = tuple[int, int, Kind]
"""Start, end (in characters of the line) and kind; plain text has no span."""

Position = tuple[int, int]
"""Line and column of a text, both from 1."""

_HIDDEN = re.compile(r"\\[^\\]+")
INDENT = 2
DEEPEST_INDENT = 40
"""Levels beyond this are not indented further; nesting has no limit."""
WIDTH = 2_000
"""Maximum characters of a display line. Longer lines are folded, because widgets are slow with them."""


class Line(NamedTuple):
    """`folded`: it continues the line before it, without a line break."""

    text: str
    spans: tuple[Span, ...] = ()
    folded: bool = False

    def runs(self) -> list[tuple[Kind, str]]:
        """The line as (kind, text) in order."""
        result: list[tuple[Kind, str]] = []
        at = 0
        for start, end, kind in self.spans:
            if start > at:
                result.append(("text", self.text[at:start]))
            result.append((kind, self.text[start:end]))
            at = end
        return [*result, ("text", self.text[at:])] if at < len(self.text) else result


def indent_of(depth: int) -> str:
    """What a line at this level begins with."""
    return " " * (INDENT * min(depth, DEEPEST_INDENT))


def position_of_column(lines: Sequence[Line], column: int) -> tuple[int, int]:
    """Index and character in `lines`, a line of text with its folds, that show this column (from 1)."""
    remaining = column - 1
    for number, line in enumerate(lines):
        at = 0
        for kind, text in line.runs():
            # The escape of a hidden character is longer than one character.
            starts = [match.start() for match in _HIDDEN.finditer(text)] if kind == "control" else range(len(text))
            if remaining < len(starts):
                return number, at + starts[remaining]
            remaining -= len(starts)
            at += len(text)
    return len(lines) - 1, len(lines[-1].text)


class Formatted:
    """Collects runs into lines, escaping what is hidden and folding what is too long.

    `error` says why the body does not match the format, in a sentence, and `notes` are further remarks, which do not
    make another view the better one. `position` is that of the error, or else of the first note.
    """

    def __init__(self) -> None:
        self._ready: list[Line] = []
        self._texts: list[str] = []
        self._spans: list[Span] = []
        self._length = 0
        self._folded = False
        # Most lines are alike, so that equal spans are stored once.
        self._known: dict[tuple[Span, ...], tuple[Span, ...]] = {}
        self.error: str | None = None
        self.notes: list[str] = []
        self.position: Position | None = None

    def __len__(self) -> int:
        """Finished lines not read yet."""
        return len(self._ready)

    @property
    def empty(self) -> bool:
        """Whether the current line has no text yet."""
        return not self._length and not self._folded

    @property
    def located_error(self) -> tuple[str, Position] | None:
        """The error or first note, and its position if it has one."""
        found = [self.error] if self.error else self.notes[:1]
        return (found[0], self.position) if found and self.position else None

    def add(self, kind: Kind, text: str) -> None:
        """`text` contains no line breaks."""
        # Most texts are printable ASCII, which takes a third of the time of a search to find out.
        if (text.isascii() and text.isprintable()) or HIDDEN_BUT_TAB.search(text) is None:
            self._append_folded(kind, text)
            return
        for escaped, displayed in pieces(text):
            self._append_folded("control" if escaped else kind, displayed)

    def add_line(self, kind: Kind, text: str) -> None:
        """Add a run and finish its line."""
        self.add(kind, text)
        self.end_line()

    def end_line(self, depth: int = 0) -> None:
        """Finish the line; the next is indented by this many levels."""
        self._finish(folded=False)
        self.indent(depth)

    def indent(self, depth: int) -> None:
        """Begin a line at this level."""
        self._append_folded("text", indent_of(depth))

    def add_lines(self, lines: Iterable[Line]) -> None:
        """Append lines written elsewhere, after the current line, indented by one level; the last one goes on."""
        for line in lines:
            if not line.folded:
                if not self.empty:
                    self.end_line()
                self.indent(1)
            for kind, text in line.runs():
                self._append_folded(kind, text)

    def add_finished(self, lines: Sequence[Line]) -> None:
        """Append these lines; the current one has no text."""
        self._ready += lines

    def take(self) -> list[Line]:
        """Removes and returns the finished lines."""
        lines, self._ready = self._ready, []
        return lines

    def _append_folded(self, kind: Kind, text: str) -> None:
        at = 0
        while len(text) - at > (free := WIDTH - self._length):
            if free:
                self._append(kind, text[at : at + free])
                at += free
            self._finish(folded=True)
        if at < len(text):
            self._append(kind, text[at:])

    def _append(self, kind: Kind, text: str) -> None:
        if kind != "text":
            begin, end = self._length, self._length + len(text)
            if self._spans and self._spans[-1][1:] == (begin, kind):
                begin = self._spans.pop()[0]
            self._spans.append((begin, end, kind))
        self._texts.append(text)
        self._length += len(text)

    def _finish(self, *, folded: bool) -> None:
        spans = tuple(self._spans)
        self._ready.append(Line("".join(self._texts), self._known.setdefault(spans, spans), self._folded))
        self._texts.clear()
        self._spans.clear()
        self._length = 0
        self._folded = folded


Group = Literal["parts", "pretty", "table", "tree", "text", "hex", "preview"]

HEAD = 4_096
"""Decompressed bytes that the views are ranked by."""
UNFINISHED_MAX = 400
"""Characters at the end of a text that goes on which can be the beginning of any token."""


@dataclass(frozen=True)
class Content:
    """What a format shows: `text`, or `data` for a format that is not text. Unless `complete`, the body goes on, so
    that its end here is no fault."""

    text: str = ""
    data: bytes = b""
    content_type: str = ""
    complete: bool = True

    def is_cut(self, at: int) -> bool:
        """Whether an error at this character can be due to the end of a text that goes on."""
        return not self.complete and at >= len(self.text) - UNFINISHED_MAX


Write = Callable[[Content, Formatted], Iterator[None]]
"""Writes the lines of a whole content. It yields between steps of bounded work, so that the first lines can be shown
while the rest is being written. After an error the rest is shown unchanged."""


def written(write: Write, content: Content) -> Formatted:
    """All lines of a content."""
    out = Formatted()
    for _ in write(content, out):
        pass
    return out


def write_indented(write: Write, content: Content, out: Formatted) -> Iterator[None]:
    """Write a content within another one."""
    inner = Formatted()
    for _ in write(content, inner):
        out.add_lines(inner.take())
        yield
    out.add_lines(inner.take())


def position_at(text: str, at: int) -> Position:
    """The position of a character."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


@dataclass(frozen=True)
class View:
    """A way to show a body. `fit` takes media type and the first `HEAD` bytes, and returns 0 (impossible) to 1 (made
    for it).

    `write` is None for a view whose widget reads the body itself. `reads_bytes`: the format is not text.
    """

    name: str
    title: str
    group: Group
    fit: Callable[[str, bytes], float]
    write: Write | None
    reads_bytes: bool = False
