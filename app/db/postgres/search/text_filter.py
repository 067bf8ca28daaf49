"""The text of a request as it is stored for searches, and what a search asks of it.

The conditions leave out requests that cannot match; those that are left are examined. pg_trgm makes them quick.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.core.search.query import All, Contains, Either, Filter, HeaderTest, JsonTest, Not, Term, Word
from app.db.search.candidate import Candidate
from app.db.search.index.planner import literal_pieces
from app.db.search.index.trigrams import INDEXED, LITERAL, combined_text, plain
from app.db.search.json_values import as_number
from app.db.search.sql_filter import Sql

_SURROGATES = re.compile("[\ud800-\udfff]")
_ALIKE = re.compile("[\n\0\x1f\ufffd-\uffff\ud800-\udfff]")
"""The ends of lines, and what is stored as another character or like one."""
_LIKE_SIGNS = re.compile(r"([\\%_])")


def text_of(request: Candidate) -> tuple[bool, str]:
    """Whether every search examines the request, and its text. Unlike SQLite's, it is whole also in readable form, so
    that words of any length are found in it as they are."""
    text = request.text
    readable = request.readable_texts() if len(text) <= INDEXED else []
    always, combined = combined_text(text, readable, request.headers, whole=request.is_whole)
    return always, _stored(combined)


def to_text_filter(terms: Iterable[Term]) -> Sql | None:
    """A condition on `text` that holds for every request meeting all `terms`, unless every search examines it; None
    when the text cannot tell."""
    return _all(_decided(term, holds=True) for term in terms)


def _decided(node: Term, *, holds: bool) -> Sql | None:
    """A condition that holds wherever the term `holds`, or does not."""
    if isinstance(node, Not):
        return _decided(node.term, holds=not holds)
    if isinstance(node, All | Either):
        parts = (_decided(part, holds=holds) for part in node.terms)
        return _all(parts) if isinstance(node, All) is holds else _any(parts)
    if isinstance(node, Word):
        if holds:
            return _contains(node.text)
        return None if _ALIKE.search(node.text) else _not(_contains(node.text))
    return _filter(node) if holds else None


def _filter(node: Filter) -> Sql | None:
    condition = node.condition
    if isinstance(condition, Contains):
        return _contains(condition.text)
    if isinstance(condition, HeaderTest):
        return _header(condition)
    return _json(condition) if isinstance(condition, JsonTest) else None


def _header(test: HeaderTest) -> Sql | None:
    name, value = f"\n{test.name}:", test.value.strip()
    if test.operator == "=":
        return _contains(f"{name} {value}\n")
    return _all(map(_contains, (name, value)))


def _json(test: JsonTest) -> Sql | None:
    pieces = [piece for step in test.path if step is not None for piece in _pieces_of_key(step.casefold())]
    if test.operator == "~" or (test.operator == "=" and as_number(test.value) is None):
        pieces += literal_pieces(test)
    return _all(map(_contains, pieces))


def _pieces_of_key(key: str) -> list[str]:
    """What of a key occurs literally in the body. A number may be that of an item."""
    if key.isdecimal():
        return []
    return [f'"{key}"'] if LITERAL.fullmatch(key) else LITERAL.findall(key)


def _contains(text: str) -> Sql | None:
    if not text:
        return None
    escaped = _LIKE_SIGNS.sub(r"\\\1", _stored(plain(text.casefold())))
    return "text LIKE ?", (f"%{escaped}%",)


def _stored(text: str) -> str:
    """As PostgreSQL can hold it."""
    return _SURROGATES.sub("\ufffd", text)


def _not(found: Sql | None) -> Sql | None:
    return None if found is None else (f"NOT ({found[0]})", found[1])


def _all(parts: Iterable[Sql | None]) -> Sql | None:
    known = [part for part in parts if part is not None]
    return _joined(" AND ", known) if known else None


def _any(parts: Iterable[Sql | None]) -> Sql | None:
    known: list[Sql] = []
    for part in parts:
        if part is None:
            return None
        known.append(part)
    return _joined(" OR ", known) if known else None


def _joined(operator: str, parts: list[Sql]) -> Sql:
    return operator.join(f"({text})" for text, _ in parts), tuple(value for _, values in parts for value in values)
