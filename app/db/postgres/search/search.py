"""The search in PostgreSQL: what the index knows of requests is part of the statement that reads some of them.

They are in groups, newest first, so that what many requests have is found without looking at them all, and what few
have in an index of each group.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial

from peewee import Database

from app.core.model import PageKey
from app.core.record import Record
from app.core.search.query import Term
from app.db.postgres.search.group_filter import FALSE, Facts, asked_pairs, counted_keys, to_sql
from app.db.postgres.search.indexing import GROUP
from app.db.raw_sql import execute, json_list
from app.db.search.index.index_query import IndexQuery
from app.db.search.index.planner import to_index_query
from app.db.search.scan import ListSection, place_before
from app.db.search.search import Search as AnySearch
from app.db.search.sql_filter import TRUE, Sql

FEW_OF_ENDPOINT = 10_000
"""Of an endpoint with no more requests than that, each request's text is looked at."""
MOST_TOGETHER = 8
"""Parts of the list that one statement looks through, while the last ones took no longer than a step."""
_GROUPS = """SELECT first, upto, oldest, newest, common, paths,
    ARRAY(SELECT place FROM unnest(numbers(?)) AS place WHERE get_bit(pairs, place::integer) = 0) FROM search_group"""
_COUNTS = "SELECT first, key, requests FROM search_count WHERE key IN numbers(?)"
_UNINDEXED = "SELECT seq / ?, min(received_at), max(received_at) FROM capture WHERE seq > ? GROUP BY 1"
_TEXTS = "SELECT capture_seq FROM search_text WHERE capture_seq >= ? AND capture_seq < ? AND "
_REQUESTS = "SELECT seq FROM capture WHERE seq >= ? AND seq < ?"


class Group(Record, frozen=True):
    """Requests from number `first` to before `end`, and when the oldest and the newest of them were received. `facts`
    is None where their texts are not stored."""

    first: int
    end: int
    oldest: int
    newest: int
    facts: Facts | None


class Search(AnySearch):
    step_s = 0.1
    """Readers do not hold up the server, and the statement of each step has to be planned and sent there."""

    async def _by_index(
        self, narrowing: Sequence[Term], place: PageKey, endpoint_id: int | None
    ) -> AsyncIterator[ListSection]:
        query = to_index_query(narrowing)
        groups = [] if query is None else await self._readers.run(partial(read_groups, query=query), slow=True)
        if query is None or all(group.facts is None for group in groups):
            yield ListSection()
            return
        if endpoint_id is not None and self._request_counts.of(endpoint_id).total <= FEW_OF_ENDPOINT:
            yield ListSection(table=_each(to_sql(query, Facts())))
            return
        parts = [part for part in zones(groups) if part[0] is None or place.received_at >= part[0]]
        together = 1
        while parts:
            some, parts = parts[:together], parts[together:]
            floor, begin = some[-1][0], time.perf_counter()
            inside = {group.first: group for _, groups in some for group in groups}
            table = _in_groups(list(inside.values()), query)
            yield ListSection(floor=None if floor is None else place_before(floor), table=table)
            quick = time.perf_counter() - begin < self.step_s
            together = min(together * 2, MOST_TOGETHER) if quick else 1


def read_groups(database: Database, query: IndexQuery) -> list[Group]:
    """All requests in groups, with what the query needs to know of them."""
    found, last = [], 0
    counts: dict[int, dict[int, int]] = {}
    with database.atomic():
        if keys := set(counted_keys(query)):
            for first, key, requests in execute(database, _COUNTS, (json_list(keys),)):
                counts.setdefault(first, {})[key] = requests
        pairs = json_list(set(asked_pairs(query)))
        for first, upto, oldest, newest, common, paths, lacking in execute(database, _GROUPS, (pairs,)):
            facts = Facts(
                span=(first, upto + 1),
                common=tuple(common),
                lacking=frozenset(lacking),
                paths=None if paths is None else frozenset(paths),
                counts=counts.get(first, {}),
            )
            found.append(Group(first=first, end=upto + 1, oldest=oldest, newest=newest, facts=facts))
            last = max(last, upto)
        for number, oldest, newest in execute(database, _UNINDEXED, (GROUP, last)):
            first = max(number * GROUP, last + 1)
            end = (number + 1) * GROUP
            found.append(Group(first=first, end=end, oldest=oldest, newest=newest, facts=None))
    return found


def zones(groups: Sequence[Group]) -> Iterator[tuple[int | None, list[Group]]]:
    """The list in parts, newest first: the time where each part ends, and which groups lie in it. The last has none:
    it goes to the end of the list."""
    falling = sorted(groups, key=lambda group: group.newest, reverse=True)
    inside: list[Group] = []
    for at, group in enumerate(falling):
        inside = [*(one for one in inside if one.oldest <= group.newest), group]
        floor = None if at == len(falling) - 1 else falling[at + 1].newest + 1
        if floor is None or floor <= group.newest:
            yield floor, inside


def _in_groups(groups: Sequence[Group], query: IndexQuery) -> Sql:
    """A select of the requests in these groups that may match."""
    selects, given = [], list[object]()
    for group in groups:
        bounds = group.first, group.end
        condition, values = TRUE if group.facts is None else to_sql(query, group.facts)
        if (condition, values) == TRUE:
            selects.append(_REQUESTS)
            given += bounds
            continue
        if (condition, values) != FALSE:
            selects.append(f"{_TEXTS}({condition})")
            given += *bounds, *values
        selects.append(f"{_TEXTS}always")
        given += bounds
    first, end = min(group.first for group in groups), max(group.end for group in groups)
    # The server does not know how many requests have a text: by `ARRAY` and `OFFSET` it begins with these.
    numbers = f"ARRAY({' UNION ALL '.join(selects)})"
    return f"SELECT * FROM capture WHERE seq >= ? AND seq < ? AND seq = ANY ({numbers}) OFFSET 0", (first, end, *given)


def _each(condition: Sql) -> Sql:
    """The same where few requests are read: one by one, whether indexed or not."""
    text, values = condition
    where = f"coalesce((SELECT always OR ({text}) FROM search_text WHERE capture_seq = seq), true)"
    return f"SELECT * FROM capture WHERE {where}", values
