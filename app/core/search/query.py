"""What a search text was read into: frozen records, each with its place in the text, counted in characters."""

from __future__ import annotations

from typing import Literal

from app.core.model import Record

Operator = Literal["exists", "=", "!=", "~", "<", "<=", ">", ">="]


class Choice(Record, frozen=True):
    """One of a filter's few values, as `method:POST` or `is:unread`."""

    value: str


class Contains(Record, frozen=True):
    """A text that must occur, in any case."""

    text: str


class Range(Record, frozen=True):
    """Whole numbers from `low` to `high`, both included; None is without end."""

    low: int | None
    high: int | None


class HeaderTest(Record, frozen=True):
    """A header of this name, in any case: there at all ("exists"), equal to `value` ("=") or containing it ("~")."""

    name: str
    operator: Operator
    value: str = ""


class JsonTest(Record, frozen=True):
    """The values at `path` in a JSON body. A step is a key or the number of an item; None stands for any of them.

    Numbers are compared as numbers, in quotes or not; texts as texts; `true`, `false` and `null` by their names. A text
    that is no number is neither less nor greater than one.
    """

    path: tuple[str | None, ...]
    operator: Operator
    value: str = ""


class TimePoint(Record, frozen=True):
    """A point in time: `at` microseconds of UTC, or, when None, `ago` microseconds before the search."""

    at: int | None
    ago: int = 0

    def us(self, now: int) -> int:
        """Microseconds of UTC, for a search made at `now`."""
        return now - self.ago if self.at is None else self.at


class Network(Record, frozen=True):
    """An IP address, or a network of them as `10.0.0.0/8`, in its usual spelling."""

    network: str


Condition = Choice | Contains | Range | HeaderTest | JsonTest | TimePoint | Network


class Word(Record, frozen=True):
    """A text that must occur somewhere in a request, in any case."""

    text: str
    start: int
    end: int


class Filter(Record, frozen=True):
    """`name:source` as written, and what it asks for."""

    name: str
    source: str
    condition: Condition
    start: int
    end: int


class Not(Record, frozen=True):
    """The term must not be met."""

    term: Term
    start: int
    end: int


class All(Record, frozen=True):
    """Every term must be met."""

    terms: tuple[Term, ...]
    start: int
    end: int


class Either(Record, frozen=True):
    """At least one term must be met."""

    terms: tuple[Term, ...]
    start: int
    end: int


Term = Word | Filter | Not | All | Either


class Query(Record, frozen=True):
    """A whole search: every one of `terms` must be met; none finds every request. `text` is what was written."""

    text: str
    terms: tuple[Term, ...]


class QueryError(ValueError):
    """The text is no search. What is wrong stands at `start` to `end`; `suggestion`, if any, would fit in its place."""

    def __init__(self, message: str, start: int, end: int, suggestion: str | None = None) -> None:
        super().__init__(message)
        self.message, self.start, self.end, self.suggestion = message, start, end, suggestion
