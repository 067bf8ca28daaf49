"""What a text format offers: it is fed text as it comes and gives lines, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from app.core.bodies.lines import Line

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
