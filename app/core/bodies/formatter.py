"""The interface of a format: a function writes the lines of a body, a view says how well it fits one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from app.core.bodies.lines import LineBuilder

Group = Literal["parts", "pretty", "table", "tree", "text", "hex", "preview"]

Position = tuple[int, int]
"""Line and column of a text, both from 1."""


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


class Formatted(LineBuilder):
    """The lines written so far. `error` says why the body does not match the format, in a sentence, and `notes` are
    further remarks, which do not make another view the better one. `position` is that of the error, or else of the
    first note."""

    def __init__(self) -> None:
        super().__init__()
        self.error: str | None = None
        self.notes: list[str] = []
        self.position: Position | None = None

    @property
    def located_error(self) -> tuple[str, Position] | None:
        """The error or first note, and its position if it has one."""
        found = [self.error] if self.error else self.notes[:1]
        return (found[0], self.position) if found and self.position else None


Write = Callable[[Content, Formatted], Iterator[None]]
"""Writes the lines of a whole content. It yields between steps of bounded work, so that the first lines can be shown
while the rest is being written. After an error the rest is shown unchanged."""


def written(write: Write, content: Content) -> Formatted:
    """All lines of a content."""
    out = Formatted()
    for _ in write(content, out):
        pass
    return out


def write_indented(write: Write, content: Content, out: Formatted, indent: int) -> Iterator[None]:
    """Write a content within another one."""
    inner = Formatted()
    for _ in write(content, inner):
        out.add_lines(inner.take(), indent)
        yield
    out.add_lines(inner.take(), indent)


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
