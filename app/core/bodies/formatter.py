"""What a text format offers: it is fed text as it comes and gives lines, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from app.core.bodies.lines import Line

Group = Literal["pretty", "table", "tree", "text", "hex", "preview"]

Place = tuple[int, int]
"""Line and column of a text, both from 1."""


@runtime_checkable
class Placed(Protocol):
    """A format that knows where it is broken first: the place its error, or the first of its notes, tells of."""

    @property
    def place(self) -> Place | None:
        """None while nothing is wrong."""
        ...


class Formatter(Protocol):
    """Turns text into lines. After an `error` (in words) the rest is given as it stands."""

    @property
    def error(self) -> str | None:
        """Why the text is not what the format asks for; None while it is."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What else to know about it, in words; nothing that would make another view the better one."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether it can say nothing more before more text is fed."""
        ...

    def feed(self, text: str, final: bool) -> None:
        """More of the text; `final` with the last of it (which may be empty)."""
        ...

    def take(self, limit: int) -> list[Line]:
        """The next lines, at most `limit`."""
        ...


@dataclass(frozen=True)
class View:
    """A way to show a body. `fit` is given media type and first bytes and answers 0 (cannot) to 1 (made for it).

    `formatter` is given the content type as sent; None stands for a view that reads the body itself. `of_bytes`: the
    formatter is fed bytes, each as the character of its number (Latin-1), not text.
    """

    name: str
    title: str
    group: Group
    fit: Callable[[str, bytes], float]
    formatter: Callable[[str], Formatter] | None
    reads_bytes: bool = False
