"""Reply headers as a user writes them, one `Name: value` a line, to pairs and back."""

from __future__ import annotations

from app.core.model import Headers


def parse_lines(text: str) -> tuple[Headers, str | None]:
    """The headers, and what is wrong with the first line that is none; empty lines are skipped."""
    headers: list[tuple[str, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            return tuple(headers), f"Reply headers: line {number} must read “Name: value”."
        headers.append((name.strip(), value.strip()))
    return tuple(headers), None


def to_lines(headers: Headers) -> str:
    """One line per header."""
    return "\n".join(f"{name}: {value}" for name, value in headers)
