"""Output arrives in any pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.tunnel_program import LINE_MAX, LineReader

OUTPUT = "\x1b[32mINFO\x1b[0m first\r\nsecond é\n\nlink \x1b]8;;https://x\x07text\x1b]8;;\x07\rtab\there\x00\x07\nlast".encode()
LINES = ["INFO first", "second é", "", "link text", "tab here", "last"]


@given(st.lists(st.integers(0, len(OUTPUT)), max_size=8))
def test_the_pieces_make_no_difference(cuts: list[int]) -> None:
    reader, lines = LineReader(), []
    places = [0, *sorted(cuts), len(OUTPUT)]
    for begin, end in pairwise(places):
        lines += reader.feed(OUTPUT[begin:end])
    assert lines + reader.feed(b"", final=True) == LINES


@pytest.mark.parametrize("piece", [1, 1000, 1_000_000])
def test_a_long_line_is_cut_and_the_next_one_is_read(piece: int) -> None:
    reader, lines = LineReader(), []
    data = b"x" * (3 * LINE_MAX) + b"\nnext\n"
    for at in range(0, len(data), piece):
        lines += reader.feed(data[at : at + piece])
    assert lines == ["x" * LINE_MAX, "next"]


def test_bytes_that_are_no_text() -> None:
    assert LineReader().feed(b"\xff\xfe ok\n") == ["\ufffd\ufffd ok"]
