"""Queries of the index: texts, terms and numbers that a request has, or has not, joined by AND and OR."""

from __future__ import annotations

from collections.abc import Iterable

from app.core.model import Record

Steps = tuple[str | None, ...]
"""A path in a JSON body; None stands for any step."""


class Substring(Record, frozen=True):
    """A text that stands in the request, as the index writes it; others may be named too."""

    text: str


class HasTerm(Record, frozen=True):
    """A term that the request has."""

    term: str


class TermContaining(Record, frozen=True):
    """A text that stands in one of the request's terms of a kind; "": in a word. Not all requests with it are named."""

    kind: str
    text: str


class JsonPath(Record, frozen=True):
    """A path that there is in the request's JSON body, or, with `value`, at which this text stands."""

    steps: Steps
    value: str | None = None


class Number(Record, frozen=True):
    """A number from `low` to `high`, both included unless `strictly`, at a path; () is the size of the body. Who has a
    number there that is rounded in the index is named too if it may be one of these."""

    steps: Steps
    low: float | None = None
    high: float | None = None
    strictly: bool = False


class AllOf(Record, frozen=True):
    """All parts must be met."""

    parts: tuple[IndexQuery, ...]


class AnyOf(Record, frozen=True):
    """At least one part must be met."""

    parts: tuple[IndexQuery, ...]


class Without(Record, frozen=True):
    """The part must not be met. Only parts that the index decides exactly can be negated."""

    part: IndexQuery


IndexQuery = Substring | HasTerm | TermContaining | JsonPath | Number | AllOf | AnyOf | Without


def all_of(parts: Iterable[IndexQuery | None]) -> IndexQuery | None:
    """All of the parts that the index can decide; None when there is none."""
    known = [part for part in parts if part is not None]
    flat = tuple(inner for part in known for inner in (part.parts if isinstance(part, AllOf) else (part,)))
    return (flat[0] if len(flat) == 1 else AllOf(parts=flat)) if flat else None


def any_of(parts: Iterable[IndexQuery | None]) -> IndexQuery | None:
    """One of the parts; None when there is one that the index cannot decide."""
    known = tuple(parts)
    parts_known = tuple(part for part in known if part is not None)
    return AnyOf(parts=parts_known) if parts_known and len(parts_known) == len(known) else None
