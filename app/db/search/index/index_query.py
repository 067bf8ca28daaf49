"""Queries of the index: texts, terms and numbers that a request has or lacks, combined by AND and OR."""

from __future__ import annotations

from collections.abc import Iterable

from app.core.record import Record

Steps = tuple[str | None, ...]
"""A path in a JSON body; None stands for any step."""


class Substring(Record, frozen=True):
    """A text that occurs in the request, as the index writes it. Its result may include other requests."""

    text: str


class HasTerm(Record, frozen=True):
    term: str


class TermContaining(Record, frozen=True):
    """A text that occurs in one of the request's terms of a kind ("": in a word). Its result may miss some requests."""

    kind: str
    text: str


class JsonPath(Record, frozen=True):
    """A path in the request's JSON body; with `value`, one with this text at it."""

    steps: Steps
    value: str | None = None


class Number(Record, frozen=True):
    """A number from `low` to `high`, both inclusive unless `strictly`, at a path; () is the size of the body."""

    steps: Steps
    low: float | None = None
    high: float | None = None
    strictly: bool = False


class AllOf(Record, frozen=True):
    parts: tuple[IndexQuery, ...]


class AnyOf(Record, frozen=True):
    parts: tuple[IndexQuery, ...]


class Without(Record, frozen=True):
    """The part must not match. Only parts that the index decides exactly can be negated."""

    part: IndexQuery


OfTerms = HasTerm | TermContaining | JsonPath
IndexQuery = Substring | OfTerms | Number | AllOf | AnyOf | Without


def all_of(parts: Iterable[IndexQuery | None]) -> IndexQuery | None:
    """The parts that the index can decide, all required; None when there are none."""
    known = [part for part in parts if part is not None]
    flat = tuple(inner for part in known for inner in (part.parts if isinstance(part, AllOf) else (part,)))
    return (flat[0] if len(flat) == 1 else AllOf(parts=flat)) if flat else None


def any_of(parts: Iterable[IndexQuery | None]) -> IndexQuery | None:
    """Any of the parts; None when the index cannot decide one of them."""
    known = tuple(parts)
    parts_known = tuple(part for part in known if part is not None)
    return AnyOf(parts=parts_known) if parts_known and len(parts_known) == len(known) else None
