"""The components of Hookline, and the text of a bug report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.core.record import Record

Fact = tuple[str, str]
"""A label and its value: `("SQLite", "3.40.1")`."""


class Component(Record, frozen=True):
    """Software that Hookline includes. `licence` is the short name, `text` the full text."""

    name: str
    version: str
    licence: str
    text: str


def report_text(title: str, sections: Sequence[tuple[str, Sequence[Fact]]]) -> str:
    """Plain text: under each section's name, labels in one column and values in the next."""
    width = max((len(name) for _, facts in sections for name, _ in facts), default=0)
    lines = [title]
    for heading, facts in sections:
        lines += ["", heading]
        lines += [f"  {name:<{width}}  {' '.join(value.split())}" for name, value in facts]
    return "\n".join(lines) + "\n"


def without_home(text: str, home: Path) -> str:
    """`text` with `~` for the user's home folder, whose name is private."""
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
    if hours < 24:
        return f"{hours} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    return f"{hours // 24} d" + (f" {hours % 24} h" if hours % 24 else "")
