"""What Hookline tells of itself: the parts it is made of, and the text that goes into a bug report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.core.model import Record

Fact = tuple[str, str]
"""What is told, and what it is: `("SQLite", "3.40.1")`."""


class Component(Record, frozen=True):
    """One piece of software inside Hookline. `licence` is its short name, `text` the whole of it."""

    name: str
    version: str
    licence: str
    text: str


def report_text(title: str, sections: Sequence[tuple[str, Sequence[Fact]]]) -> str:
    """Plain lines under each section's name, with what is told in one column and what it is in the next."""
    width = max((len(name) for _, facts in sections for name, _ in facts), default=0)
    lines = [title]
    for heading, facts in sections:
        lines += ["", heading]
        lines += [f"  {name:<{width}}  {' '.join(value.split())}" for name, value in facts]
    return "\n".join(lines) + "\n"


def without_home(text: str, home: Path) -> str:
    """`text` with the user's home folder, whose name is theirs alone, written as `~`."""
    own = str(home)
    return text.replace(own, "~") if home != Path(home.anchor) else text


def duration_text(seconds: float) -> str:
    """`42 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    minutes = int(seconds) // 60
    if not minutes:
        return f"{int(seconds)} s"
    if minutes < 60:
        return f"{minutes} min"
    hours = minutes // 60
    return f"{hours} h {minutes % 60} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"
