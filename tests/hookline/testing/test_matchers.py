"""Matchers: what fits, and what is said of what does not."""

from __future__ import annotations

import re
from itertools import count
from typing import Any
from unittest.mock import ANY

import pytest

from hookline.client import Headers, Request
from hookline.testing.matchers import MISSING, MatcherArguments, Matchers, value_at
from tests.hookline.client.test_records import request


def mismatches(sent: Request, given: MatcherArguments) -> list[str]:
    return [f"{one.what}: {' / '.join(one.lines())}" for one in Matchers(given).mismatches(sent)]


def sent(body: bytes = b'{"a": {"b": [1, "two"]}, "odd name": null}', **fields: Any) -> Request:
    return request(
        body, headers=Headers([("X-Sig", "abc"), ("x-sig", "def")]), target="/catch/orders/new?x=1", **fields
    )


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"method": "post"},
        {"path": "/new"},
        {"path": "/new?x=1"},
        {"path": re.compile(r"^/n\w+$")},
        {"path": lambda path: path.endswith("w")},
        {"header": {"x-SIG": "abc, def"}},
        {"header": {"x-sig": re.compile("b")}},
        {"json_path": {"a.b[0]": 1, "a.b[1]": re.compile("^t"), '["odd name"]': None, "$.a.b": [1, "two"]}},
        {"json_path": {"a.b[0]": lambda value: value > 0}},
        {"json": {"a": {"b": [1, "two"]}, "odd name": None}},
        {"json": {"a": {"b": [ANY, "two"]}, "odd name": ANY}},
        {"body": b'{"a": {"b": [1, "two"]}, "odd name": null}'},
        {"predicate": lambda one: one.json()["a"]},
    ],
    ids=count(),
)
def test_what_matches(given: MatcherArguments) -> None:
    assert mismatches(sent(), given) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"method": "PUT"}, "method: expected: 'PUT' / actual:   'POST'"),
        ({"path": "/"}, "path: expected: '/' / actual:   '/new'"),
        ({"path": "/new?x=2"}, "path: expected: '/new?x=2' / actual:   '/new?x=1'"),
        ({"path": re.compile("^new")}, "path: expected: /^new/ / actual:   '/new'"),
        ({"header": {"x-sig": "abc"}}, "header x-sig: expected: 'abc' / actual:   'abc, def'"),
        ({"header": {"x-no": re.compile("")}}, "header x-no: expected: // / actual:   nothing there"),
        ({"json_path": {"a.b[2]": 1}}, "json a.b[2]: expected: 1 / actual:   nothing there"),
        ({"json_path": {"a.b[0]": True}}, "json a.b[0]: expected: True / actual:   1"),
        ({"json_path": {"a.b": [True, "two"]}}, "json a.b: expected: [True, 'two'] / actual:   [1, 'two']"),
        ({"json_path": {"a.b.²": 1}}, "json a.b.²: expected: 1 / actual:   nothing there"),
        ({"json_path": {"a.b[1]": lambda value: value > 0}}, "json a.b[1]: expected: <lambda> / actual:   'two'"),
        ({"body": b"x"}, "body: expected: b'x' / actual:   b'{"),
        ({"predicate": lambda _: 0}, "predicate: <lambda> returned 0"),
        ({"predicate": lambda one: one.json()["no"]}, "predicate: raised KeyError: 'no'"),
    ],
    ids=count(),
)
def test_what_does_not_match_and_why(given: MatcherArguments, told: str) -> None:
    (said,) = mismatches(sent(), given)
    assert said.startswith(told)


def test_json_bodies_that_differ_are_shown_as_a_difference() -> None:
    (said,) = Matchers({"json": {"a": {"b": [1, "three"]}, "odd name": None}}).mismatches(sent())
    assert said.lines()[3:] == ['     "b": [', "       1,", '-      "three"', '+      "two"', "     ]", "   },"]
    assert mismatches(sent(b"a=1"), {"json": {}, "json_path": {"a": 1}}) == [
        "json: the body is no JSON (Expecting value: line 1 column 1 (char 0)): 'a=1'"
    ]


def test_true_is_not_one_and_what_is_nested_too_deep_is_no_json() -> None:
    assert mismatches(sent(b'{"paid": true}'), {"json": {"paid": True}}) == []
    assert mismatches(sent(b'{"paid": true}'), {"json_path": {"paid": ANY}}) == []
    assert mismatches(sent(b'{"paid": true}'), {"json": {"paid": 1}}) != []
    (said,) = mismatches(sent(b"[" * 100_000), {"json": []})
    assert said.startswith("json: the body is no JSON (")


def test_what_is_more_alike_is_nearer() -> None:
    def distance(given: MatcherArguments) -> float:
        (one,) = Matchers(given).mismatches(sent())
        return one.distance()

    near: Any = {"a": {"b": [1, "three"]}, "odd name": None}
    assert distance({"json": near}) < distance({"json": {"x": 1}}) <= 1
    assert distance({"path": "/news"}) < distance({"path": "/orders"}) < distance({"path": re.compile("x")}) == 1


def test_matchers_are_named_in_one_line_and_counted() -> None:
    matchers = Matchers({"method": "PUT", "header": {"a": "b", "c": re.compile("d")}, "json_path": {"e.f": 1}})
    assert str(matchers) == "method 'PUT', header a 'b', header c /d/, json e.f 1"
    assert matchers.count == 4
    assert (str(Matchers({})), Matchers({}).count) == ("any request", 0)


def test_what_is_no_matcher_is_refused() -> None:
    with pytest.raises(TypeError, match="There is no matcher paht"):
        Matchers({"paht": "/"})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(ValueError, match="is no JSON path"):
        Matchers({"json_path": {"a[b]": 1}})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$", {"a": [{"b.c": 1}], "0": 5}),
        ('a[0]["b.c"]', 1),
        ("a.0", {"b.c": 1}),
        ("0", 5),
        ("a[1]", MISSING),
        ("a.b", MISSING),
        ("a[0].b.c", MISSING),
    ],
)
def test_values_are_found_by_their_paths(path: str, value: Any) -> None:
    assert value_at({"a": [{"b.c": 1}], "0": 5}, path) == value
