"""The parts of a body that is read in pieces are those of the whole body."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.bodies import part_finder
from app.core.bodies.formats.multipart import split
from app.core.bodies.part_finder import PADDING_MAX, PartFinder, Span

TYPE = "multipart/form-data; boundary=b"
LONG = b"x" * (PADDING_MAX + 2)
tokens = st.lists(st.sampled_from([b"--b", b"--", b"\r\n", b"\n", b"\r", b" ", b"a", b"b", LONG]), max_size=30)


def found(body: bytes, content_type: str = TYPE, size: int = 1 << 20, *, cut: bool = False) -> PartFinder:
    finder = PartFinder(content_type)
    for at in range(0, len(body), size):
        finder.feed(body[at : at + size])
    finder.finish(cut=cut)
    return finder


@given(tokens.map(b"".join), st.integers(1, 2_000))
@example(b"--b\r\n" + LONG, 1)
def test_the_pieces_make_no_difference(rest: bytes, size: int) -> None:
    body = b"--b\r\n" + rest
    whole = [section for section in split(body, "b") if section.part is not None]
    spans = found(body, size=size).spans
    assert [(span.end, span.closed) for span in spans] == [(section.end, section.closed) for section in whole]
    assert all(span.begin <= section.begin for span, section in zip(spans, whole, strict=True))


@pytest.mark.parametrize(
    ("content_type", "body", "count", "note"),
    [
        (TYPE, b"--b\r\n\r\nhi\r\n--b\r\n\r\n\r\n--b--\r\n", 2, ""),
        (TYPE, b"--b\r\n\r\nhi", 1, "The closing boundary is missing."),
        ("multipart/mixed", b"--c\r\n\r\nhi\r\n--c--", 1, "No boundary is declared; the first line is used."),
        (TYPE, b"before\r\n--b\r\n\r\nhi\r\n--b--", 1, "Text outside the parts is in Pretty only."),
        (TYPE, b"--b\r\n\r\nhi\r\n--b--\r\nafter", 1, "Text outside the parts is in Pretty only."),
        (TYPE, b"nothing", 0, "Text outside the parts is in Pretty only."),
        (TYPE, b"", 0, ""),
    ],
)
def test_what_is_wrong_is_told(content_type: str, body: bytes, count: int, note: str) -> None:
    finder = found(body, content_type)
    assert (len(finder.spans), " ".join(finder.notes)) == (count, note)


def test_of_a_body_that_is_not_read_to_its_end_the_last_part_is_left_out() -> None:
    finder = found(b"--b\r\n\r\nhi\r\n--b\r\n\r\nha", cut=True)
    assert (finder.spans, finder.notes) == ([Span(3, 9, closed=True)], [])


def test_the_number_of_parts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_finder, "PARTS_MAX", 3)
    finder = found(b"--b\r\n\r\nhi\r\n" * 5 + b"--b--")
    assert (len(finder.spans), finder.notes) == (3, ["Only the first 3 parts are shown."])
