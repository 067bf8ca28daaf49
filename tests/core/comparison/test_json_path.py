"""Paths into JSON: what they select, and what is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.json_path import Key, PathMatcher, json_path_error, path_text

VALUE = {
    "id": 1,
    "data": {"a": {"id": 2, "timestamp": 3}, "b": {"id": 4}, "odd name": {"$ref": 5, "x.y": 6}},
    "items": [{"id": 7, "timestamp": 8}, {"id": 9, "tags": [10, 11]}],
    "timestamp": 12,
}


def selected(*paths: str) -> set[int]:
    """The numbers that the paths select, alone or within what is selected."""
    matcher = PathMatcher(paths)

    def walk(value: Any, states: frozenset[tuple[int, int]] | None) -> set[int]:
        if not isinstance(value, dict | list):
            return {value} if states is None else set()
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return set().union(
            *(walk(child, None if states is None else matcher.below(states, key)) for key, child in pairs)
        )

    return walk(VALUE, matcher.start)


@pytest.mark.parametrize(
    ("path", "numbers"),
    [
        ("id", {1}),
        ("$.id", {1}),
        ("data.a.id", {2}),
        ("data.a", {2, 3}),
        ("data.*.id", {2, 4}),
        ("$..timestamp", {3, 8, 12}),
        ("..id", {1, 2, 4, 7, 9}),
        ("items..id", {7, 9}),
        ("items[0].id", {7}),
        ("items.0.id", {7}),
        ("items[*].id", {7, 9}),
        ("items[1].tags[1]", {11}),
        ("$..tags[0]", {10}),
        ("$..[1]", {9, 10, 11}),
        ('data["odd name"]', {5, 6}),
        ('$["data"]["odd name"]["x.y"]', {6}),
        ("data.*.$ref", {5}),
        ("*.a", {2, 3}),
        ("$.*.*.id", {2, 4, 7, 9}),
        ("nothing.here", set()),
        ("id.below", set()),
    ],
)
def test_a_path_selects_values(path: str, numbers: set[int]) -> None:
    assert selected(path) == numbers
    assert json_path_error(path) is None


def test_several_paths_select_what_any_of_them_does() -> None:
    assert selected("id", "data.*.id", "$..timestamp") == {1, 2, 3, 4, 8, 12}
    assert selected() == set()


@pytest.mark.parametrize(
    "text", ["", "$", ".", "a.", "a..", "...a", "a b", "a[", "a[x]", "a[-1]", "a[1", "a.*b", 'a["b', "a]"]
)
def test_what_is_no_path_is_refused_in_words(text: str) -> None:
    error = json_path_error(text) or ""
    assert "JSON path" in error
    assert error.endswith(".")


@given(st.text(max_size=30))
def test_no_text_is_another_error(text: str) -> None:
    json_path_error(text)


@given(
    st.lists(
        st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 10**6)), min_size=1, max_size=6
    )
)
def test_the_path_of_a_value_selects_it(keys: list[Key]) -> None:
    matcher = PathMatcher([path_text(keys)])
    states: frozenset[tuple[int, int]] | None = matcher.start
    for key in keys:
        assert states is not None
        states = matcher.below(states, key)
    assert states is None
