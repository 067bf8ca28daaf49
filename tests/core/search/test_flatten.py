"""Every word and filter of a query is found once, in order, and whether it must not be met."""

from __future__ import annotations

import pytest

from app.core.search.parse import parse
from app.core.search.query import Word, flatten


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("a method:GET", ["a", "method"]),
        ("-a b", ["-a", "b"]),
        ("a OR -b", ["a", "-b"]),
        ("(a (b OR is:read)) c", ["a", "b", "is", "c"]),
        ("-(a -b) c", ["-a", "b", "c"]),
        ("-(a OR -(b is:unread))", ["-a", "b", "is"]),
    ],
)
def test_every_leaf_comes_once_in_the_order_it_was_written(text: str, found: list[str]) -> None:
    leaves = list(flatten(parse(text).terms))
    names = [leaf.term.text if isinstance(leaf.term, Word) else leaf.term.name for leaf in leaves]
    assert ["-" * leaf.negated + name for leaf, name in zip(leaves, names, strict=True)] == found
    places = [leaf.term.start for leaf in leaves]
    assert places == sorted(places)
