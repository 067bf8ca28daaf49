"""Headers as text, one `Name: value` on each line."""

from __future__ import annotations

from app.core.record import Headers


def trimmed(text: str) -> str:
    """Without the blanks that HTTP leaves out; `str.strip` would also take bytes from the ends of UTF-8."""
    return text.strip(" \t\r\n")


def parse_headers(text: str, field: str = "") -> tuple[Headers, str | None]:
    """The headers, and what is wrong with the first malformed line of this field; empty lines are skipped."""
    headers: list[tuple[str, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not trimmed(line):
            continue
        name, colon, value = map(trimmed, line.partition(":"))
        if not colon or not name:
            return tuple(headers), f"{f'{field}: line' if field else 'Line'} {number} must read “Name: value”."
        headers.append((name, value))
    return tuple(headers), None


def header_lines(headers: Headers) -> str:
    return "\n".join(f"{name}: {value}" for name, value in headers)
