"""Runs a formatter over text in pieces, for the tests of the views."""

from __future__ import annotations

from app.core.bodies.body_reader import CHUNK, BodyReader
from app.core.bodies.formatter import Formatter
from app.core.bodies.lines import Line


def lines_of(formatter: Formatter, *pieces: str, limit: int = 1_000) -> list[Line]:
    """All lines of the text that the pieces are."""
    lines: list[Line] = []
    for number, piece in enumerate(pieces, 1):
        formatter.feed(piece, number == len(pieces))
        while not formatter.needs_input:
            taken = formatter.next_lines(limit)
            assert len(taken) <= limit
            lines += taken
    return lines


def texts(formatter: Formatter, *pieces: str) -> list[str]:
    """The lines as texts."""
    return [line.text for line in lines_of(formatter, *pieces)]


def joined(lines: list[Line]) -> str:
    """The text of the lines, folds undone."""
    return "".join(("" if line.folded or not at else "\n") + line.text for at, line in enumerate(lines))


def cut(text: str, cuts: list[int]) -> list[str]:
    """The text in pieces."""
    places = sorted({min(place, len(text)) for place in cuts})
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def read(body: bytes, content_type: str) -> tuple[BodyReader, list[str]]:
    """The reader of a body, at its end, and its lines as texts."""
    reader = BodyReader((), content_type)
    lines: list[str] = []
    at = 0
    while not reader.done:
        if reader.needs_input:
            reader.feed(body[at : at + CHUNK], at + CHUNK >= len(body))
            at += CHUNK
        lines += [line.text for line in reader.lines(3_000)]
        if reader.view is not None and reader.view.formatter is None:
            break
    return reader, lines
