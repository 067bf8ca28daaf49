"""A text is found where a character of the body begins, in charsets of several bytes too."""

from __future__ import annotations

import pytest

from app.core.search.body_search import BodySearch


@pytest.mark.parametrize(("charset", "width"), [("utf-8", 1), ("utf-16-le", 2), ("utf-32-le", 4)])
def test_a_text_begins_where_a_character_does(charset: str, width: int) -> None:
    assert BodySearch(charset, "a").search("bb\u6100a".encode(charset)) == [len("bb\u6100".encode(charset))]
    assert BodySearch(charset, "a", begin=width).search("ba".encode(charset)) == [2 * width]
