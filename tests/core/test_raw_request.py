"""The parts of a request target."""

from __future__ import annotations

import pytest

from app.core.raw_request import below_slug, query_pairs


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("/catch/abc", "/"),
        ("/catch/abc?x=1", "/?x=1"),
        ("/catch/abc/", "/"),
        ("/catch/abc?next=/home", "/?next=/home"),
        ("/catch/a?u://x/y", "/?u://x/y"),
        ("/catch/abc/orders/1?x=/y", "/orders/1?x=/y"),
        ("http://host/catch/abc/orders", "/orders"),
        ("*", "*"),
        ("", ""),
    ],
)
def test_the_part_below_the_slug(target: str, text: str) -> None:
    assert below_slug(target) == text


def test_query_pairs_keep_order_duplicates_and_raw_text() -> None:
    assert query_pairs("/a?x=1&x=a%20b+c&&flag&y==") == [
        ("x", "1", "x=1"),
        ("x", "a%20b+c", "x=a%20b+c"),
        ("", "", ""),
        ("flag", "", "flag"),
        ("y", "=", "y=="),
    ]
    assert query_pairs("/a") == query_pairs("/a?") == []
