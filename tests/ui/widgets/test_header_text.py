"""Response headers as the lines a user edits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.ui.widgets.header_text import header_lines, parse_headers


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,12}", fullmatch=True),
            st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20),
        )
    )
)
def test_what_is_written_is_read_back(pairs: list[tuple[str, str]]) -> None:
    assert parse_headers(header_lines(tuple(pairs))) == (tuple(pairs), None)


def test_the_first_bad_line_is_named() -> None:
    headers, problem = parse_headers("A: 1\n\nbroken\n: x", "Response headers")
    assert headers == (("A", "1"),)
    assert problem is not None
    assert "line 3" in problem


def test_order_case_and_repeats_stay() -> None:
    assert parse_headers("x-a: 1\nX-A:2\nx-a: 3")[0] == (("x-a", "1"), ("X-A", "2"), ("x-a", "3"))
