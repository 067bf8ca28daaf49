"""A tree says exactly what the text says, whatever its numbers, names and depth; what becomes none says why."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bodies.format_registry import TEXT, best_in, ranked
from app.core.bodies.formats.trees import DEEPEST, NODES_MAX, ROOT, JsonTree, TreeError
from app.core.bodies.values import Embedded


def said(tree: JsonTree, node: int = ROOT) -> Any:
    """The tree as Python's parser would give it, with pairs for objects."""
    if tree.kind(node) == "object":
        return [(json.loads(f'"{tree.name(child)}"'), said(tree, child)) for child in tree.children(node)]
    if tree.kind(node) == "array":
        return [said(tree, child) for child in tree.children(node)]
    return json.loads(tree.value(node))


def test_numbers_names_order_and_duplicates_stay_as_written() -> None:
    tree = JsonTree(' {"b": 1.10, "a": 12345678901234567890, "b": [true, {}, []], "c d": {"e\\n": "x"}} ')
    tops = tree.children(ROOT)
    assert [tree.name(node) for node in tops] == ["b", "a", "b", "c d"]
    assert [tree.summary(node) for node in tops] == ["1.10", "12345678901234567890", "[3 items]", "{1 member}"]
    assert tree.value(tops[2]) == "[true, {}, []]"
    assert [tree.path(node) for node in tree.children(tops[2])] == ["b[0]", "b[1]", "b[2]"]
    (odd,) = tree.children(tops[3])
    assert tree.path(odd) == '["c d"]["e\\n"]'
    assert (tree.plain(odd), tree.value(odd)) == ("x", '"x"')
    assert [tree.parent(odd), tree.row(odd), tree.parent(ROOT), tree.path(ROOT)] == [tops[3], 0, -1, "$"]


def test_decoded_content_is_below_its_string_and_its_path_goes_through_it() -> None:
    tree = JsonTree('{"a": "e30=", "b": ["x"]}')
    string, items = tree.children(ROOT)
    for node, text in ((string, '{"in": [1, {"deep": "x"}]}'), (tree.children(items)[0], '"plain"')):
        tree.add_decoded(node, Embedded(text, "Base64", True), JsonTree(text, tree))
    (root,) = tree.children(string)
    assert said(tree, root) == [("in", [1, [("deep", "x")]])]
    assert (tree.parent(root), tree.path(root), tree.decoded[root].source) == (string, "a", "Base64")
    deep = tree.children(tree.children(tree.children(root)[0])[1])[0]
    assert (tree.path(deep), tree.name(deep), tree.value(deep)) == ("a → in[1].deep", "deep", '"x"')
    assert [tree.path(node) for node in tree.children(tree.children(items)[0])] == ["b[0]"]
    # It is no part of the body.
    assert (tree.summary(string), tree.kind(string), tree.find(re.compile("x"))) == ('"e30="', "string", [items + 1])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "too early"),
        ("[1", "too early"),
        ('{"a":1,}', "a name in quotes was expected"),
        ("[1}", "line 1"),
        ("[1\n,,]", "line 2: a value"),
        ("1 2", "the end of the text"),
        ('["x', "line 1"),
        ("[" * (DEEPEST + 1), "too deep for a tree"),
        ("[" + "1," * NODES_MAX + "1]", "too many for a tree"),
    ],
)
def test_why_there_is_no_tree(text: str, why: str) -> None:
    with pytest.raises(TreeError, match=why):
        JsonTree(text)


def test_it_is_there_for_json_and_never_chosen_by_itself() -> None:
    assert [view.name for view in ranked("application/json", b'{"a":1}')][-1] == "tree"
    assert best_in("tree", ranked("text/plain", b"hello")) == TEXT
    assert best_in("tree", ranked("application/x-ndjson", b"{}\n{}")) == TEXT


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.slow
@given(values, st.booleans(), st.sampled_from([None, 2]))
def test_a_tree_says_what_the_text_says(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert said(JsonTree(text)) == json.loads(text, object_pairs_hook=list)


@given(st.text(st.sampled_from('{}[]:,"\\ae1.-tru \n')) | st.text())
def test_it_takes_what_pythons_parser_takes(text: str) -> None:
    def constant(name: str) -> Any:
        raise ValueError(name)

    try:
        json.loads(text, parse_constant=constant)
        valid = True
    except ValueError:
        valid = False
    try:
        JsonTree(text)
        found = True
    except TreeError:
        found = False
    assert found == valid
