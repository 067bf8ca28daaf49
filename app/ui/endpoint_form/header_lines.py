"""Converts between response headers and the lines a user edits, one `Name: value` per line."""

from __future__ import annotations

from app.core.model import Headers


def parse_lines(text: str) -> tuple[Headers, str | None]:
    """The headers, and an error about the first malformed line; empty lines are skipped."""
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
    return "\n".join(f"{name}: {value}" for name, value in headers)
