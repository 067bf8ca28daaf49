"""The interface of a format: a formatter turns text into lines, a view says how well it fits a body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from app.core.bodies.lines import Line

Group = Literal["pretty", "table", "tree", "text", "hex", "preview"]

Position = tuple[int, int]
"""Line and column of a text, both from 1."""


@runtime_checkable
class LocatesError(Protocol):
    """A formatter that knows the position of its error, or of its first note."""

    @property
    def position(self) -> Position | None:
        """None without an error."""
        ...


class Formatter(Protocol):
    """Turns text into lines as it arrives. After an `error` the rest is shown unchanged."""

    @property
    def error(self) -> str | None:
        """Why the text does not match the format, in a sentence; None while it does."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Further remarks, in sentences. Unlike an error, they do not make another view the better one."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether there are no more lines without more text."""
        ...

    def feed(self, text: str, final: bool) -> None:
        """`final` marks the last piece, which may be empty."""
        ...

    def next_lines(self, limit: int) -> list[Line]:
        """At most `limit` lines."""
        ...


@dataclass(frozen=True)
class View:
    """A way to show a body. `fit` takes media type and first bytes and returns 0 (impossible) to 1 (made for it).

    `formatter` takes the content type as sent; None for a view whose widget reads the body itself. `reads_bytes`: the
    formatter gets bytes as Latin-1 characters instead of text.
    """

    name: str
    title: str
    group: Group
    fit: Callable[[str, bytes], float]
    formatter: Callable[[str], Formatter] | None
    reads_bytes: bool = False
