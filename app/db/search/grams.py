"""What the index holds of a request, and what it is asked for a query: every run of three characters.

The index only leaves requests out; whatever it gives is looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.core.model import Headers
from app.core.search.query import (
    All,
    Choice,
    Contains,
    Either,
    Filter,
    HeaderTest,
    JsonTest,
    Network,
    Range,
    Term,
    Word,
)
from app.db.search.text import haystack

INDEXED = 200_000
"""Characters of a request that are indexed; one that has more is looked at in each search."""
MOST_GRAMS = 24
"""So many runs of a long word are asked for."""
_OPEN, _CLOSE, _LONG = "\x02", "\x03", "\x02long\x03"
_ALWAYS = '"\x02lo"'


def indexed_text(
    target: str, headers: Headers, content_type: str, data: bytes, *, method: str, status: int, source: str
) -> str:
    """A request as the index takes it: its text, and its columns that never change, each in marks of its own."""
    text = haystack(target, headers, content_type, data)
    tags = [_tag("m", method), _tag("s", str(status)), _tag("s", f"{status // 100}xx"), _tag("f", source)]
    if len(text) > INDEXED or "\\u00" in text:  # JSON may write plain letters so
        tags.append(_LONG)
    return ("".join(tags) + "\n" + text[:INDEXED]).replace("\0", "\x1f")


def match(terms: Iterable[Term]) -> str | None:
    """An FTS5 expression met by every request in which all `terms` are; None when the index cannot tell."""
    found = _all(terms)
    return None if found is None else f"({found}) OR {_ALWAYS}"


def _all(terms: Iterable[Term]) -> str | None:
    parts = [part for part in map(_term, terms) if part is not None]
    return " AND ".join(f"({part})" for part in parts) if parts else None


def _term(term: Term) -> str | None:
    if isinstance(term, Word):
        return _grams(term.text.casefold())
    if isinstance(term, All):
        return _all(term.terms)
    if isinstance(term, Either):
        parts = [_term(part) for part in term.terms]
        return None if None in parts else " OR ".join(f"({part})" for part in parts)
    return _filter(term) if isinstance(term, Filter) else None


def _filter(term: Filter) -> str | None:
    condition = term.condition
    if isinstance(condition, Choice) and term.name == "method":
        return _grams(_tag("m", condition.value))
    if isinstance(condition, Range) and term.name == "status":
        return _status(condition)
    if isinstance(condition, Network) and "/" not in condition.network:
        return _grams(_tag("f", condition.network))
    if isinstance(condition, Contains):
        return _grams(condition.text.casefold())
    if isinstance(condition, HeaderTest):
        return _both([f"\n{condition.name.casefold()}:", condition.value.strip().casefold()])
    if isinstance(condition, JsonTest):
        plain = [step for step in condition.path if step is not None and step.isascii() and step.isalnum()]
        return _both([step.casefold() for step in plain if not step.isdigit()])
    return None


def _status(condition: Range) -> str | None:
    low, high = condition.low or 100, condition.high or 599
    if low == high:
        return _grams(_tag("s", str(low)))
    classes = [_grams(_tag("s", f"{number}xx")) for number in range(low // 100, min(high, 599) // 100 + 1)]
    return " OR ".join(f"({one})" for one in classes) or None


def _both(texts: Iterable[str]) -> str | None:
    parts = [part for part in map(_grams, texts) if part is not None]
    return " AND ".join(f"({part})" for part in parts) if parts else None


def _tag(kind: str, value: str) -> str:
    return f"{_OPEN}{kind}:{value.casefold()}{_CLOSE}"


def _grams(text: str) -> str | None:
    """All of the text's runs of three; None when it has none that could be asked for."""
    text = text.replace("\0", "\x1f")
    runs = dict.fromkeys(text[at : at + 3] for at in range(len(text) - 2))
    sound = [run for run in runs if not any("\ud800" <= sign <= "\udfff" for sign in run)]
    return " AND ".join('"' + run.replace('"', '""') + '"' for run in sound[:MOST_GRAMS]) or None
