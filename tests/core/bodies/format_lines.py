"""Runs a format over a body, for the tests of the views."""

from __future__ import annotations

from app.core.bodies.body_reader import CHUNK, BodyReader
from app.core.bodies.formatter import WIDTH, Content, Formatted, Group, Line, Write


def formatted(
    write: Write, text: str, content_type: str = "", *, complete: bool = True
) -> tuple[list[Line], Formatted]:
    """All lines of the text, and what is said of it."""
    return _all(write, Content(text, content_type=content_type, complete=complete))


def formatted_bytes(
    write: Write, data: bytes, content_type: str = "", *, complete: bool = True
) -> tuple[list[str], Formatted]:
    """All lines of the bytes as texts, and what is said of them."""
    lines, out = _all(write, Content(data=data, content_type=content_type, complete=complete))
    return [line.text for line in lines], out


def _all(write: Write, content: Content) -> tuple[list[Line], Formatted]:
    out, lines = Formatted(), list[Line]()
    for _ in write(content, out):
        lines += out.take()
    lines += out.take()
    assert out.empty
    assert all(len(line.text) <= WIDTH and "\n" not in line.text for line in lines)
    return lines, out


def texts(write: Write, text: str, content_type: str = "") -> list[str]:
    """The lines as texts."""
    return [line.text for line in formatted(write, text, content_type)[0]]


def joined(lines: list[Line]) -> str:
    """The text of the lines, folds undone."""
    return "".join(("" if line.folded or not at else "\n") + line.text for at, line in enumerate(lines))


def read(body: bytes, content_type: str, group: Group | None = None) -> tuple[BodyReader, list[str]]:
    """The reader of a body, at its end, and its lines as texts."""
    reader = BodyReader((), content_type, group)
    lines: list[str] = []
    at = 0
    while not reader.done:
        if reader.needs_input:
            reader.feed(body[at : at + CHUNK], at + CHUNK >= len(body))
            at += CHUNK
        lines += [line.text for line in reader.lines(3_000)]
    return reader, lines
