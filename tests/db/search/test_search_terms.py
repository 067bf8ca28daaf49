"""Whom the index leaves out because it knows for certain: negated words and filters, numbers, headers, JSON paths."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.core.record import Headers
from app.core.search.parse import parse
from app.db.search.index_query import to_index_query
from app.db.search.index_terms import LEAVES_MAX, VALUES_MAX, ColumnValues, find_json_leaves, term_text, terms_of
from app.db.sqlite import search_group
from app.db.sqlite.search import GROUP, IndexFile
from tests.db.helpers import entry

TEN = range(10)


def headers(number: int) -> Headers:
    return (("X-Event", "paid" if number % 2 else "failed"), ("X-Id", f"{number:08}"))


def body(number: int) -> Any:
    return {
        "type": "invoice.paid" if number != 7 else "order",
        "amount": number * 10,
        "price": f"{number}.50",
        "items": [{"sku": f"A{number}", "count": number}],
        "by": {f"key{number}": number},
    }


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IndexFile]:
    """Ten requests, numbered from 0."""
    monkeypatch.setattr(search_group, "FEW", 0)
    with closing(IndexFile(tmp_path / "search.db", "store", 99)) as made:
        rows = [
            entry(number, f"/catch/s{number}/a?page=next", headers(number), encoded(body(number))) for number in TEN
        ]
        made.add(rows)
        yield made


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def find(file: IndexFile, text: str) -> list[int] | None:
    """None when the index leaves nobody out."""
    asked = to_index_query(parse(text).terms)
    found = None if asked is None else file.find(asked, 0)
    return None if found is None or isinstance(found, range) else sorted(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("-invoice.paid", [7]),
        ("-invoice", [7]),
        ("-nvoic", [7]),
        ("-INVOICE", [7]),
        ("-type", []),
        ("-(order OR invoice)", []),
        ("-(type invoice)", [7]),
        ("-x-event", []),
        ("-method:POST", []),
        ("-method:PUT", list(TEN)),
        ("-header:x-event=paid -header:x-event=failed", []),
        ("-json:type=invoice.paid -json:type=order", []),
        ("-json:type=invoice.paid -json:type=invoice.paid", [7]),
        ("-(json:type=invoice.paid OR json:by)", []),
        ("-status:200..299", []),
        ("-status:200", []),
        ("status:201..404", []),
        ("-provider:SomeBody", []),
        ("-from:127.0.0.0/8", []),
        ("-from:127.0.0.1", []),
        ("from:128.0.0.0/8", []),
        ("-path:/catch/", []),
        ("-path:next", list(TEN)),
        ("-header:x-event", []),
        ("-header:x-event=paid", [0, 2, 4, 6, 8]),
        ("header:x-event=paid -header:x-id", []),
        ("header:x-nothing", []),
        ("-json:items", []),
        ("-json:type=invoice.paid", [7]),
        ("json:type!=invoice.paid", [7]),
        ("json:type!=invoice.paid json:type!=order", []),
        ("json:amount>70", [8, 9]),
        ("json:amount>=90.0", [9]),
        ("json:amount=30", [3]),
        ("json:amount<0", []),
        ("json:price>8", [8, 9]),
        ("json:items[0].count>8", [9]),
        ("json:items.*.count>8", [9]),
        ("json:by.*>8", [9]),
        ("json:*.*.count=4", [4]),
        ("json:nothing>1", []),
        ("-json:amount=30", [0, 1, 2, 4, 5, 6, 7, 8, 9]),
        ("-json:amount!=30", [3]),
        ("-json:amount!=-1", []),
        ("-json:amount>=0", []),
        ("-json:amount>0", [0]),
        ("json:amount>89.99999999999999999999", [9]),
        ("-json:amount>89.99999999999999999999", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("-json:amount<85", [9]),
        ("-(json:amount<85 OR nothing)", [9]),
        ("-(json:amount<85 order)", [0, 1, 2, 3, 4, 5, 6, 8, 9]),
        ("json:amount>70 -header:x-event=paid", [8]),
        ("json:amount>85 OR json:amount<5 OR -invoice", [0, 7, 9]),
        ("-size:>1", []),
        ("size:<10", []),
    ],
)
def test_whom_the_index_names(file: IndexFile, text: str, found: list[int]) -> None:
    assert find(file, text) == found or (find(file, text) is None and found == list(TEN))


@pytest.mark.parametrize(
    "text",
    ["-00000001", "-/", "-json:amount=30.00000000000000000001", "-json:items.*.count<99", "-zzzz", "-header:x-id~1"],
)
def test_of_what_it_does_not_know_it_leaves_nobody_out(file: IndexFile, text: str) -> None:
    assert find(file, text) in (None, list(TEN))


def test_groups_are_asked_until_one_has_any(file: IndexFile) -> None:
    file.add([entry(GROUP * number, "/", (), b"far" if number == 3 else b"near") for number in (1, 2, 3, 4)])
    asked, zones = to_index_query(parse("far").terms), [[4], [2, 3], [1], [0]]
    assert asked is not None
    assert file.find_first(asked, zones, 60) == [set(), {GROUP * 3}]
    assert file.find_first(asked, zones[2:], 60) == [set(), set()]
    assert file.find_first(asked, zones, -1) == [set()]
    assert file.find_first(asked, [], 60) == []


def test_a_body_with_more_than_is_kept_is_always_named(file: IndexFile) -> None:
    many = {f"k{number}": number for number in range(LEAVES_MAX + 1)}
    file.add([entry(10, "/", (), encoded(many)), entry(11, "/", (), encoded({"k" * 101: 1}))])
    assert find(file, "json:amount>999") == [10, 11]
    assert find(file, "json:k1=5") == [10, 11]
    assert find(file, f"json:{'k' * 101}") == [10, 11]
    assert find(file, "-json:items") == [10, 11]


def test_a_large_body_takes_no_more_than_is_looked_at() -> None:
    found = find_json_leaves({"a": [[number] for number in range(VALUES_MAX)]})
    assert found.more
    assert found.paths == {"a"}
    deep: Any = 1
    for _ in range(10_000):
        deep = [deep]
    assert find_json_leaves(deep).more


def test_a_number_that_is_rounded_may_be_on_either_side(file: IndexFile) -> None:
    file.add([entry(10, "/", (), b'{"amount": 50.00000000000000000001}'), entry(11, "/", (), b'{"amount": "1e400"}')])
    assert find(file, "json:amount>50 json:amount<60") == [10]
    assert find(file, "json:amount<50 json:amount>40") == [10]
    assert find(file, "json:amount=50") == [5, 10]
    assert find(file, "json:amount>1e399") == [11]
    assert 10 in (find(file, "-json:amount>50") or [])
    assert 10 in (find(file, "-json:amount<=50") or [])


def test_items_of_a_list_share_a_path() -> None:
    found = find_json_leaves({"a": [1, 2, {"b": None}, {"b": True}], "c": []})
    assert found.paths == {"a", "a\x1f*", "a\x1f*\x1fb", "c"}
    assert found.numbers == {("a\x1f*", 1.0), ("a\x1f*", 2.0)}
    assert found.texts == {("a\x1f*\x1fb", "null"), ("a\x1f*\x1fb", "true")}
    assert not found.more


def test_words_are_whole_and_of_letters() -> None:
    columns = ColumnValues(method="POST", status=200, source="", complete=True, provider=None, event=None)
    text = "order.created/abc4242 größe in_0a9f user12 user123 订单 x"
    written = terms_of(columns, "/", (), find_json_leaves(None), text).split()
    words = {word for word in written if any(sign.isalpha() and ord(sign) < 0xF0000 for sign in word)}
    assert {"order", "created", "größe", "in", "user12", "订单", "x"} <= words
    assert {"order.created"} <= {term_text(f"-{word}") for word in words}
    assert not {"abc", "abc4242", "user123", "user", "a", "f"} & words


def test_long_texts_of_senders_are_not_kept_in_memory() -> None:
    """What many requests have is remembered, so that their terms are made quicker: only what is short."""
    columns = ColumnValues(method="POST", status=200, source="127.0.0.1", complete=True, provider="", event=None)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(100):
            long = f"{number} " * 20_000
            known = find_json_leaves({long: number, "inner": {f"{long}x": 1}})
            terms_of(columns, "/catch/x", (("X-Long", long), (f"X-{number}-{'n' * 60_000}", "1")), known, long)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 1_000_000


def test_a_long_header_has_the_terms_of_its_name() -> None:
    columns = ColumnValues(method="POST", status=200, source="127.0.0.1", complete=True, provider="", event=None)
    made = terms_of(columns, "/catch/x", (("X-Long", "v" * 60_000), ("X-Short", "v")), find_json_leaves(None), "")
    told = {term_text(one) for one in made.split()}
    assert {"x-long", "x-short", "x-short=v"} <= told
