"""Keys of numbers: all between two are found by them, and hardly any others; and what groups have in common."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from peewee import Database

from app.core.model import Endpoint
from app.core.search.parse import parse
from app.db.postgres.group_filter import FALSE, keys_between, number_keys, to_sql
from app.db.postgres.search import read_groups
from app.db.postgres.store import Store
from app.db.raw_sql import execute
from app.db.search.index_query import to_index_query
from tests.db.helpers import OpenStore, add, add_many, idle
from tests.db.search.index import make_small
from tests.db.search.test_search import search

NUMBERS = st.floats(allow_nan=False) | st.integers(-(2**17), 2**17).map(float)
CLOSE = 2**-15
"""As a fraction of the end of a range."""


@given(NUMBERS, NUMBERS, NUMBERS)
def test_numbers_between_two_are_found_and_hardly_any_others(low: float, high: float, number: float) -> None:
    found = not set(number_keys(7, number)).isdisjoint(keys_between(7, low, high))
    if low <= number <= high:
        assert found
    elif low <= high and found:
        assert number == pytest.approx(low if number < low else high, rel=CLOSE)


@given(NUMBERS, NUMBERS)
def test_a_number_and_those_on_one_side_of_it_are_found(end: float, number: float) -> None:
    keys = set(number_keys(7, number))
    assert keys.isdisjoint(keys_between(7, end, end)) is (number != end)
    assert number > end or not keys.isdisjoint(keys_between(7, None, end))
    assert number < end or not keys.isdisjoint(keys_between(7, end, None))
    assert keys.isdisjoint(keys_between(8, None, None))
    assert max(len(list(keys_between(7, *ends))) for ends in ((None, end), (end, None), (end, number))) < 250


@pytest.fixture
async def store(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> Any:
    make_small(monkeypatch)
    return await open_store()


async def test_no_request_is_looked_at_where_all_of_a_group_are_out_of_the_question(
    store: Store, endpoint: Endpoint
) -> None:
    for number, method, status in ((47, "PUT", 200), (49, "POST", 503)):
        await add_many(store, endpoint.id, number, method=method, response_status=status)
    await idle(store._index._worker)
    for text in (
        *("-hello", "-ell", "-header:host", "-method:POST -method:PUT", "-status:200..599", "-json:hello"),
        *("-json:hello=world", "json:hello!=world", "-provider:stripe -provider:x -json:hello"),
        *("-status:2xx -status:5xx", "-status:2xx (-status:4xx hello) -status:5xx"),
        *("zq", "订单", "path:/zq"),
    ):
        query = to_index_query(parse(text).terms)
        assert query is not None
        groups = await store._readers.run(partial(read_groups, query=query))
        conditions = [to_sql(query, group.facts) for group in groups if group.facts is not None]
        assert conditions.count(FALSE) >= 3, text  # those that are full
        assert await search(store, text) == [], text


async def test_all_keys_of_a_range_are_not_compared_with_those_of_each_request(
    store: Store, endpoint: Endpoint
) -> None:
    await add_many(store, endpoint.id, 96)
    await idle(store._index._worker)
    query = to_index_query(parse("-json:amount<5").terms)
    assert query is not None
    groups = await store._readers.run(partial(read_groups, query=query))
    end, facts = next((group.end, group.facts) for group in groups if group.facts is not None)
    where, values = to_sql(query, facts)

    def plan(database: Database) -> str:
        statement = f"EXPLAIN SELECT capture_seq FROM search_text WHERE capture_seq < {end} AND ({where})"
        return "\n".join(line for (line,) in execute(database, statement, values))

    assert "hashed SubPlan" in await store._readers.run(plan)
    assert len(await search(store, "-json:amount<5", limit=96)) == 96


async def test_the_index_of_texts_is_not_asked_where_few_requests_have_the_keys(
    store: Store, endpoint: Endpoint
) -> None:
    for number in range(120):
        await add(store, endpoint.id, b'{"a": 1, "b": "%s"}' % (b"plum" if number % 3 else b"pear"))
        if number == 70:
            await add(store, endpoint.id, b'{"a": 7, "b": "pear"}', method="PUT")
    await idle(store._index._worker)
    for text, found, by_text in (
        *(("method:PUT pear", 1, False), ("method:POST pear", 40, True), ("method:GET pear", 0, False)),
        *(("json:a>5 pear", 1, False), ("json:a<5 pear", 40, True), ("json:*>5 pear", 1, True)),
        *(("-json:a<5 pear", 1, False), ("-json:a>5 pear", 40, True), ("-json:a<5 (pear OR plum)", 1, False)),
        ("json:a<5 json:a>5 pear", 0, False),
    ):
        query = to_index_query(parse(text).terms)
        assert query is not None
        groups = await store._readers.run(partial(read_groups, query=query))
        facts = [group.facts for group in groups if group.facts is not None and group.facts.counts]
        assert any("LIKE" in to_sql(query, known)[0] for known in facts) is by_text, text
        assert len(await search(store, text, limit=100)) == found, text
