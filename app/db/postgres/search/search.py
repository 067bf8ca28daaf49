"""The search in PostgreSQL: the conditions on the text of requests are part of each step's statement.

The texts are in groups, newest first, so that what many requests have is found without looking at them all, and what
few have in an index of each group.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence

from peewee import Database

from app.core.model import PageKey
from app.core.record import Record
from app.core.search.query import Term
from app.db.postgres.search.indexing import GROUP
from app.db.postgres.search.text_filter import to_text_filter
from app.db.raw_sql import execute
from app.db.search.scan import ListSection, place_before
from app.db.search.search import Search as AnySearch
from app.db.search.sql_filter import Sql

FEW_OF_ENDPOINT = 10_000
"""Of an endpoint with no more requests than that, each request's text is looked at."""
_GROUPS = "SELECT first, upto, oldest, newest FROM search_group"
_UNINDEXED = "SELECT seq / ?, min(received_at), max(received_at) FROM capture WHERE seq > ? GROUP BY 1"
_TEXTS = "SELECT capture_seq FROM search_text WHERE capture_seq >= ? AND capture_seq < ? AND "
_REQUESTS = "SELECT seq FROM capture WHERE seq >= ? AND seq < ?"


class Group(Record, frozen=True):
    """Requests from number `first` to before `end`, and when the oldest and the newest of them were received. Their
    texts are stored if `indexed`."""

    first: int
    end: int
    oldest: int
    newest: int
    indexed: bool


class Search(AnySearch):
    step_s = 0.1
    """Readers do not hold up the server, and the statement of each step has to be planned and sent there."""

    async def _by_index(
        self, narrowing: Sequence[Term], place: PageKey, endpoint_id: int | None
    ) -> AsyncIterator[ListSection]:
        condition = to_text_filter(narrowing)
        groups = [] if condition is None else await self._readers.run(read_groups, slow=True)
        if condition is None or not any(group.indexed for group in groups):
            yield ListSection()
        elif endpoint_id is not None and self._request_counts.of(endpoint_id).total <= FEW_OF_ENDPOINT:
            yield ListSection(table=_each(condition))
        else:
            for floor, inside in zones(groups):
                if floor is None or place.received_at >= floor:
                    table = _in_groups(inside, condition)
                    yield ListSection(floor=None if floor is None else place_before(floor), table=table)


def read_groups(database: Database) -> list[Group]:
    """All requests in groups."""
    found, last = [], 0
    with database.atomic():
        for first, upto, oldest, newest in execute(database, _GROUPS):
            found.append(Group(first=first, end=upto + 1, oldest=oldest, newest=newest, indexed=True))
            last = max(last, upto)
        for number, oldest, newest in execute(database, _UNINDEXED, (GROUP, last)):
            first = max(number * GROUP, last + 1)
            end = (number + 1) * GROUP
            found.append(Group(first=first, end=end, oldest=oldest, newest=newest, indexed=False))
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


def _in_groups(groups: Sequence[Group], condition: Sql) -> Sql:
    """A select of the requests in these groups whose texts may meet the condition."""
    text, values = condition
    selects, given = [], list[object]()
    for group in groups:
        bounds = group.first, group.end
        if group.indexed:
            selects += [f"{_TEXTS}({text})", f"{_TEXTS}always"]
            given += [*bounds, *values, *bounds]
        else:
            selects.append(_REQUESTS)
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
