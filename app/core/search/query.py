"""A parsed search: frozen records, each with its offsets in the search text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from app.core.record import Record

Operator = Literal["exists", "=", "!=", "~", "<", "<=", ">", ">="]
QUOTED = "\0"
"""Stands for a quoted character where only the others may have a special meaning."""


class Text(Record, frozen=True):
    """Characters without their quotes, and the offset of each in the search text. `syntax` has `QUOTED` for each that
    was quoted."""

    characters: str
    syntax: str
    offsets: tuple[int, ...]
    end: int

    @property
    def start(self) -> int:
        """In the search text."""
        return self.offsets[0] if self.offsets else self.end

    def part(self, first: int, last: int | None = None) -> Text:
        end = self.end if last is None or last >= len(self.offsets) else self.offsets[last]
        cut = slice(first, last)
        return Text(characters=self.characters[cut], syntax=self.syntax[cut], offsets=self.offsets[cut], end=end)


class Choice(Record, frozen=True):
    """A value from a fixed list, as in `method:POST` or `is:unread`."""

    value: str


class Contains(Record, frozen=True):
    """Text that must occur, ignoring case."""

    text: str


class Range(Record, frozen=True):
    """Whole numbers from `low` to `high`, both included; None is unlimited."""

    low: int | None
    high: int | None


class HeaderTest(Record, frozen=True):
    """A header with this name, ignoring case: it exists ("exists"), equals `value` ("=") or contains it ("~")."""

    name: str
    operator: Operator
    value: str = ""


class JsonTest(Record, frozen=True):
    """The values at `path` in a JSON body. A step is a key or an index; None is any of them.

    Numbers are compared as numbers, quoted or not; strings as strings; `true`, `false` and `null` by name. A string
    that is not a number is neither less nor greater than one.
    """

    path: tuple[str | None, ...]
    operator: Operator
    value: str = ""


class TimePoint(Record, frozen=True):
    """A point in time: `at` microseconds of UTC or, if None, `ago` microseconds before the search."""

    at: int | None
    ago: int = 0

    def us(self, now: int) -> int:
        """Microseconds of UTC, for a search made at `now`."""
        return now - self.ago if self.at is None else self.at


class Network(Record, frozen=True):
    """An IP address or network (`10.0.0.0/8`) in its usual spelling."""

    network: str


Condition = Choice | Contains | Range | HeaderTest | JsonTest | TimePoint | Network


class Placed(Record, frozen=True):
    """What is from `start` to `end` in a search text."""

    start: int
    end: int


class Word(Placed, frozen=True):
    """Text that must occur anywhere in a request, ignoring case."""

    text: str


class Filter(Placed, frozen=True):
    """`name:source` as written, and its condition."""

    name: str
    source: str
    condition: Condition


class Not(Placed, frozen=True):
    """The term must not match."""

    term: Term


class All(Placed, frozen=True):
    """All terms must match."""

    terms: tuple[Term, ...]


class Either(Placed, frozen=True):
    """At least one term must match."""

    terms: tuple[Term, ...]


Term = Word | Filter | Not | All | Either


class Query(Record, frozen=True):
    """A complete search: all `terms` must match; without terms every request does. `text` is the search as written."""

    text: str
    terms: tuple[Term, ...]


class QueryError(ValueError):
    """An invalid search. The error is at `start` to `end`; `suggestion`, if any, is a replacement for it."""

    def __init__(self, message: str, start: int, end: int, suggestion: str | None = None) -> None:
        super().__init__(message)
        self.message, self.start, self.end, self.suggestion = message, start, end, suggestion


class Leaf(Record, frozen=True):
    """A word or filter. `negated`: it is in an odd number of `Not`."""

    term: Word | Filter
    negated: bool


def required(query: Query | None) -> list[Word | Filter]:
    """The words and filters that are not excluded; none without a query."""
    return [] if query is None else [leaf.term for leaf in flatten(query.terms) if not leaf.negated]


def flatten(terms: Iterable[Term], *, negated: bool = False) -> Iterator[Leaf]:
    """All words and filters in the order written, including those in groups and after a minus sign."""
    for term in terms:
        if isinstance(term, Word | Filter):
            yield Leaf(term=term, negated=negated)
        elif isinstance(term, Not):
            yield from flatten((term.term,), negated=not negated)
        else:
            assert isinstance(term, All | Either)
            yield from flatten(term.terms, negated=negated)
