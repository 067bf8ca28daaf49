"""Form fields one by one and in groups: nothing that was sent is lost, whatever its form."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bodies.formats.form import FormField, fields
from app.core.bodies.formats.trees import TOP, FormTree

FORM = "application/x-www-form-urlencoded"


def shape(tree: FormTree, node: int = TOP) -> object:
    """Groups as lists of pairs, fields as their values."""
    return [
        (tree.label(child), field.value if (field := tree.field(child)) is not None else shape(tree, child))
        for child in tree.children(node)
    ]


def tree(text: str) -> FormTree:
    return FormTree(fields(text, FORM))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1&b=2&a=3", [("a", "1"), ("b", "2"), ("a", "3")]),
        ("a[b][c]=1&x=2&a[b][d]=3", [("a", [("b", [("c", "1"), ("d", "3")])]), ("x", "2")]),
        ("a%5B%5D=1&a%5B%5D=2", [("a", [("0", "1"), ("1", "2")])]),
        ("a[]=1&a=2", [("a", [("0", "1")]), ("a", "2")]),
        (
            "i[][n]=x&i[][p]=1&i[][n]=y",
            [("i", [("0", [("n", "x"), ("p", "1")]), ("1", [("n", "y")])])],
        ),
        ("i[][]=1&i[][]=2", [("i", [("0", [("0", "1"), ("1", "2")])])]),
        ("a[=1&a]=2&[b]=3&a[b]c=4", [("a[", "1"), ("a]", "2"), ("[b]", "3"), ("a[b]c", "4")]),
        ("a", [("a", "")]),
        ("=v", [("", "v")]),
        ("a=b=c", [("a", "b=c")]),
        ("&&a=1&", [("a", "1")]),
    ],
)
def test_names_with_brackets_are_grouped(text: str, expected: object) -> None:
    assert shape(tree(text)) == expected


def test_what_cannot_be_decoded_stays_as_it_was_sent() -> None:
    assert fields("a=100%&b=%zz&c=%ff%41&d=x+y", FORM) == [
        FormField("a", "100%", "a=100%"),
        FormField("b", "%zz", "b=%zz"),
        FormField("c", "%ffA", "c=%ff%41"),
        FormField("d", "x y", "d=x+y"),
    ]
    assert fields("a=%e9", f"{FORM}; charset=iso-8859-1")[0].value == "é"


@given(st.lists(st.tuples(st.text("ab[]", min_size=1, max_size=12), st.text(max_size=5))))
def test_every_field_is_in_the_tree_once(pairs: list[tuple[str, str]]) -> None:
    sent = urlencode(pairs)
    found = FormTree(fields(sent, FORM))
    nodes = list(range(len(found)))
    held = [field for node in nodes if (field := found.field(node)) is not None]
    assert held == fields(sent, FORM)
    assert [(field.name, field.value) for field in held] == pairs
    for node in nodes:
        assert found.children(found.parent(node))[found.row(node)] == node


def test_deep_and_many_names_are_borne() -> None:
    deep = tree("a" + "[b]" * 5_000 + "=1")
    assert len(deep) == 1
    assert len(tree("&".join(f"a[{number}]={number}" for number in range(10_000)))) == 10_001
