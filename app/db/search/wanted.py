"""What the index is asked: characters that must stand together, joined by AND and OR, for a group of requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from app.core.model import Record

GRAM = 3
"""Characters of a run, as the index holds them."""
LAST_RUN = "\n" * GRAM
"""Ends every text: its last characters begin a run too, its last header ends like the others."""
NOWHERE = ""
"""The expression of what no request of a group has."""


class KnownRuns(Protocol):
    """What a group of requests has."""

    @property
    def rarest(self) -> Callable[[Sequence[str]], list[str]]:
        """Those of a text's runs that are worth asking for."""

    def beginning_with(self, text: str) -> list[str] | None:
        """Runs that begin with one or two characters; None when too many requests have them."""


class Piece(Record, frozen=True):
    """A text that stands in the request, as the index writes it."""

    text: str


class Both(Record, frozen=True):
    """All parts must be met."""

    parts: tuple[Wanted, ...]


class AnyOf(Record, frozen=True):
    """At least one part must be met."""

    parts: tuple[Wanted, ...]


Wanted = Piece | Both | AnyOf


def both(parts: Iterable[Wanted | None]) -> Wanted | None:
    """All of those parts of which the index can tell; None when there is none."""
    known = tuple(part for part in parts if part is not None)
    return Both(parts=known) if known else None


def any_of(parts: Iterable[Wanted | None]) -> Wanted | None:
    """One of the parts; None when the index cannot tell of one of them."""
    known = tuple(parts)
    told = tuple(part for part in known if part is not None)
    return AnyOf(parts=told) if told and len(told) == len(known) else None


def expression(wanted: Wanted, runs: KnownRuns) -> str | None:
    """An FTS5 expression that every request of the group meets in which all this stands; None when any may."""
    if isinstance(wanted, Piece):
        return _short(wanted.text, runs) if len(wanted.text) < GRAM else _long(wanted.text, runs)
    parts = [expression(part, runs) for part in wanted.parts]
    if isinstance(wanted, Both):
        if NOWHERE in parts:
            return NOWHERE
        return _join(" AND ", [part for part in parts if part is not None])
    if None in parts:
        return None
    return _join(" OR ", [part for part in parts if part]) or NOWHERE


def _join(operator: str, parts: list[str]) -> str | None:
    return operator.join(f"({part})" for part in parts) or None


def _long(text: str, runs: KnownRuns) -> str | None:
    all_runs = dict.fromkeys(text[at : at + GRAM] for at in range(len(text) - GRAM + 1))
    return " AND ".join(map(_quoted, runs.rarest([run for run in all_runs if _sound(run)]))) or None


def _short(text: str, runs: KnownRuns) -> str | None:
    found = runs.beginning_with(text) if text and _sound(text) else None
    return None if found is None else " OR ".join(map(_quoted, found))


def _sound(text: str) -> bool:
    """Half of a pair of surrogates cannot be asked for."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def _quoted(run: str) -> str:
    return '"' + run.replace('"', '""') + '"'
