"""Texts as an expression of the table of runs of a group of requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from app.db.search.index.index_query import AnyOf, Both, Piece, Wanted
from app.db.search.index.trigrams import ALWAYS, GRAM

NOWHERE = ""
"""The expression of what no request of a group has."""


class KnownRuns(Protocol):
    """What a group of requests has."""

    @property
    def rarest(self) -> Callable[[Sequence[str]], list[str]]:
        """Those of a text's runs that are worth asking for."""

    def beginning_with(self, text: str) -> list[str] | None:
        """Runs that begin with one or two characters; None when too many requests have them."""


def text_query(wanted: Wanted, runs: KnownRuns) -> str | None:
    """An FTS5 expression that every request meets in which these pieces stand; None when any may."""
    found = _expression(wanted, runs)
    return None if found is None else joined(" OR ", [found, quoted(ALWAYS)])


def joined(operator: str, parts: Sequence[str]) -> str:
    """Expressions, those of nothing left out."""
    return operator.join(f"({part})" for part in parts if part) or NOWHERE


def quoted(term: str) -> str:
    """A term or run as FTS5 reads it."""
    return '"' + term.replace('"', '""') + '"'


def _expression(wanted: Wanted, runs: KnownRuns) -> str | None:
    if isinstance(wanted, Piece):
        return _short(wanted.text, runs) if len(wanted.text) < GRAM else _long(wanted.text, runs)
    assert isinstance(wanted, Both | AnyOf), "only pieces are asked for so"
    parts = [_expression(part, runs) for part in wanted.parts]
    if isinstance(wanted, Both):
        if NOWHERE in parts:
            return NOWHERE
        return joined(" AND ", [part for part in parts if part]) or None
    return None if None in parts else joined(" OR ", [part for part in parts if part])


def _long(text: str, runs: KnownRuns) -> str | None:
    all_runs = dict.fromkeys(text[at : at + GRAM] for at in range(len(text) - GRAM + 1))
    return " AND ".join(map(quoted, runs.rarest([run for run in all_runs if _sound(run)]))) or None


def _short(text: str, runs: KnownRuns) -> str | None:
    found = runs.beginning_with(text) if text and _sound(text) else None
    return None if found is None else " OR ".join(map(quoted, found))


def _sound(text: str) -> bool:
    """Half of a pair of surrogates cannot be asked for."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)
