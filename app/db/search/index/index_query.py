"""What the index is asked: texts, terms and numbers that a request has, or has not, joined by AND and OR."""

from __future__ import annotations

from collections.abc import Iterable

from app.core.model import Record

Steps = tuple[str | None, ...]
"""A path in a JSON body as it is asked for; None stands for any step."""


class Piece(Record, frozen=True):
    """A text that stands in the request, as the index writes it; others may be named too."""

    text: str


class Has(Record, frozen=True):
    """A term that the request has."""

    term: str


class Holds(Record, frozen=True):
    """A text that stands in one of the request's terms of a kind; "": in a word. Not all requests with it are named."""

    kind: str
    text: str


class JsonPlace(Record, frozen=True):
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


class Both(Record, frozen=True):
    """All parts must be met."""

    parts: tuple[Wanted, ...]


class AnyOf(Record, frozen=True):
    """At least one part must be met."""

    parts: tuple[Wanted, ...]


class Without(Record, frozen=True):
    """The part must not be met: one of those that `app.db.search.index.surely` makes."""

    part: Wanted


Wanted = Piece | Has | Holds | JsonPlace | Number | Both | AnyOf | Without


def both(parts: Iterable[Wanted | None]) -> Wanted | None:
    """All of those parts of which the index can tell; None when there is none."""
    known = [part for part in parts if part is not None]
    flat = tuple(inner for part in known for inner in (part.parts if isinstance(part, Both) else (part,)))
    return (flat[0] if len(flat) == 1 else Both(parts=flat)) if flat else None


def any_of(parts: Iterable[Wanted | None]) -> Wanted | None:
    """One of the parts; None when the index cannot tell of one of them."""
    known = tuple(parts)
    told = tuple(part for part in known if part is not None)
    return AnyOf(parts=told) if told and len(told) == len(known) else None
