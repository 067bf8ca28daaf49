"""What a request surely has, as whole terms: what its columns say, its headers' names, its JSON paths, its words.

Trigrams can only leave requests out. Of a term the index knows who has it, so that it also finds those
without. Whatever has no term, because it is long or odd, is left to be looked at.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from app.core.model import Headers, Record
from app.db.search.index.index_query import Steps
from app.db.search.index.trigrams import INDEXED
from app.db.search.json_values import NAMES, as_number, rounded

LONGEST = 100
"""Characters of what has a term."""
MOST_DIGITS = 3
"""Hardly two requests have the same value with more of them."""
_MANY_DIGITS = re.compile(rf"(?:\D*+\d){{{MOST_DIGITS + 1}}}")


def is_indexable(text: str) -> bool:
    """Whether it can be part of a term: short, and of characters that can be seen."""
    return len(text) <= LONGEST and text.isprintable()


def is_shared(value: str) -> bool:
    """Whether it is of the kind that many requests have, so that it has a term of its own."""
    return is_indexable(value) and not _MANY_DIGITS.match(value)


def is_single(steps: Steps) -> bool:
    """Whether there is at most one place for the path in a body, and it is written in one way."""
    return all(step is not None and step != "*" and not step.isdecimal() and is_indexable(step) for step in steps)


MOST_VISITED = 5_000
"""Values of a body that are looked at."""
MOST_KEPT = 500
"""Paths, numbers and texts that are kept of a body, each."""
MOST_KEYS = 10_000
"""Keys are mostly those of requests before."""
LONGEST_PATH = 400
BETWEEN = "\x1f"
"""Between the steps of a path; no indexable key contains it."""
ITEM = "*"
"""Any item of a list: which one it is does not matter where requests are only left out."""


class JsonLeaves(Record, frozen=True):
    """Paths, and pairs of a path and what stands there. `near` are numbers that had to be rounded. `more`: there are
    others, not examined or not indexable."""

    paths: frozenset[str] = frozenset()
    numbers: frozenset[tuple[str, float]] = frozenset()
    near: frozenset[tuple[str, float]] = frozenset()
    texts: frozenset[tuple[str, str]] = frozenset()
    more: bool = False


def find_json_leaves(value: Any) -> JsonLeaves:
    """Of a JSON value as the decoder gives it."""
    found = _Found()
    found.look_through(value)
    return JsonLeaves(
        paths=frozenset(islice(found.paths, MOST_KEPT)),
        numbers=frozenset(islice(found.numbers, MOST_KEPT)),
        near=frozenset(islice(found.near, MOST_KEPT)),
        texts=frozenset(islice(found.texts, MOST_KEPT)),
        more=found.more or max(len(found.paths), len(found.numbers), len(found.near), len(found.texts)) > MOST_KEPT,
    )


class _Found:
    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.numbers: set[tuple[str, float]] = set()
        self.near: set[tuple[str, float]] = set()
        self.texts: set[tuple[str, str]] = set()
        self.more = False
        self._left = MOST_VISITED

    def look_through(self, value: Any) -> None:
        waiting = self._inside("", value)
        while waiting:
            path, value = waiting.pop()
            self.paths.add(path)
            if isinstance(value, dict | list):
                waiting += self._inside(path + BETWEEN, value)
            elif isinstance(value, bool) or value is None:
                self.texts.add((path, NAMES[value]))
            elif (number := as_number(value)) is not None:
                near, exact = rounded(number)
                (self.numbers if exact else self.near).add((path, near))
            elif isinstance(value, str) and is_shared(value):
                self.texts.add((path, value))

    def _inside(self, before: str, value: Any) -> list[tuple[str, Any]]:
        if not isinstance(value, dict | list):
            return []
        self._left -= len(value)
        if self._left < 0 or len(before) > LONGEST_PATH:
            self.more = True
            return []
        if isinstance(value, list):
            return [(before + ITEM, item) for item in value]
        indexable = [
            (before + key, inner) for key, inner in value.items() if len(key) <= LONGEST and _is_key_indexable(key)
        ]
        self.more = self.more or len(indexable) < len(value)
        return indexable


_is_key_indexable = lru_cache(MOST_KEYS)(is_indexable)


MOST_WORDS, MOST_HEADERS = 1_000, 100
MOST_KNOWN = 2_000
"""Terms are mostly those of requests before. More make it no quicker, and a line of random bytes takes 2 KiB."""
SHORT_LINE = 200
"""Characters of a line, such as a header, that other requests may have too. Of longer ones none is remembered: a sender
may make all of them different."""
_ASIDE = {sign: 0xF0000 + sign for sign in range(128)}
"""Terms are written in characters for private use, which FTS5 takes for letters: no word is written so."""
_BACK = {aside: sign for sign, aside in _ASIDE.items()}
_SIGNS_ASIDE = {sign: aside for sign, aside in _ASIDE.items() if not chr(sign).isalnum()}
_LOWER = {sign: sign + 32 for sign in range(ord("A"), ord("Z") + 1)}
_PART, _PLAIN_PART = r"[^\W\d_]{1,24}+[0-9]{0,2}+(?![^\W_])", r"[a-z]{1,24}+[0-9]{0,2}+(?![a-z0-9])"
_WORD = re.compile(rf"(?<![^\W_]){_PART}(?:[-_./:]{_PART}){{0,3}}+")
_PLAIN_WORD = re.compile(rf"(?<![a-z0-9]){_PLAIN_PART}(?:[-_./:]{_PLAIN_PART}){{0,3}}+")
"""The same in a text of plain letters, in half the time."""
_JOINT = re.compile("[-_./:]")
FIRST_TERM = chr(0xF0000)
"""All words come before it, all other terms behind."""


class ColumnValues(Record, frozen=True):
    """What terms are made of a request's columns. `provider` and `event` are set later, if not yet (None)."""

    method: str
    status: int
    source: str
    complete: bool
    provider: str | None
    event: str | None


@lru_cache(MOST_KNOWN)
def term(kind: str, text: str) -> str:
    """The term of an indexable text; `kind` is a letter."""
    return (kind + text).translate(_ASIDE)


def text_of(written: str) -> str:
    """What a term was made of, without its kind."""
    return written[1:].translate(_BACK)


def word_term(word: str) -> str:
    """A case folded word, or a part of one, as terms of words are written."""
    return word.translate(_SIGNS_ASIDE)


def folded(value: str) -> str:
    """A name as SQLite compares them without regard to case: of plain letters only."""
    return value.translate(_LOWER)


EVERY = term("*", "")
"""What every request has."""
MORE = term("+", "")
"""On a request that has more headers or JSON than terms were made of."""
UNKNOWN = term("?", "")
"""On requests that are not identified yet, or whose provider cannot be written as a term."""


def terms_of(columns: ColumnValues, target: str, headers: Headers, leaves: JsonLeaves, text: str) -> str:
    """All terms of a request, with spaces between them. `text` is what words are looked for in, case folded."""
    found = {
        EVERY,
        *_of_columns(columns),
        *_of_headers(headers),
        *_of_json(leaves),
        *_of_words(text[:INDEXED]),
    }
    start = path_start(target)
    if start:
        found.add(term("/", start))
    return " ".join(found)


def path_start(target: str) -> str:
    """The first steps of a path, case folded, up to one that hardly two requests share."""
    start, rest = "", target.partition("?")[0].casefold()
    while rest:
        step, slash, rest = rest.partition("/")
        if not is_shared(start + step + slash):
            break
        start += step + slash
    return start


@lru_cache(MOST_KNOWN)
def _of_columns(columns: ColumnValues) -> frozenset[str]:
    return frozenset(_each_column(columns))


def _each_column(columns: ColumnValues) -> Iterator[str]:
    for kind, text in (("m", columns.method), ("a", columns.source)):
        yield term(kind, text) if is_indexable(text) else MORE
    yield from _of_address(columns.source)
    yield term("s", str(columns.status))
    yield term("s", f"{columns.status // 100}xx")
    if not columns.complete:
        yield term("i", "incomplete")
    names = (("p", columns.provider), ("e", None if columns.provider is None else columns.event or ""))
    for kind, name in names:
        yield UNKNOWN if name is None or not is_indexable(name) else term(kind, folded(name))


def _of_headers(headers: Headers) -> Iterator[str]:
    if len(headers) > MOST_HEADERS:
        yield MORE
    for name, value in headers[:MOST_HEADERS]:
        yield from (_of_short_header if len(name) + len(value) <= SHORT_LINE else _of_header)(name, value)


def _of_header(name: str, value: str) -> tuple[str, ...]:
    there, whole = term("h", name.lower()) if is_indexable(name) else MORE, header_text(name, value)
    return (there, term("v", whole)) if is_shared(whole) else (there,)


_of_short_header = lru_cache(MOST_KNOWN)(_of_header)


def header_text(name: str, value: str) -> str:
    """A header as two are compared."""
    return f"{name.lower()}={value.strip().casefold()}"


def _of_json(leaves: JsonLeaves) -> Iterator[str]:
    if leaves.more:
        yield MORE
    for path in leaves.paths:
        yield term("j", path)
    for path, _ in leaves.numbers | leaves.near:
        yield term("n", path)
    for path, value in leaves.texts:
        if is_shared(value):
            yield json_term(path, value)


def json_term(path: str, value: str) -> str:
    """The term of a text at a place in a JSON body."""
    return term("k", f"{path}\x1e{value}")


def _of_words(text: str) -> set[str]:
    found: set[str] = set()
    for line in text.split("\n"):
        found.update(_of_short_line(line) if len(line) <= SHORT_LINE else _of_line(line))
        if len(found) > MOST_WORDS:
            break
    return found


def _of_line(line: str) -> set[str]:
    words = (_PLAIN_WORD if line.isascii() else _WORD).finditer(line)
    return {term for word in {match[0] for match in islice(words, MOST_WORDS)} for term in _with_parts(word)}


_of_short_line = lru_cache(MOST_KNOWN)(_of_line)


@lru_cache(MOST_KNOWN)
def _with_parts(word: str) -> tuple[str, ...]:
    return (word_term(word), *_JOINT.split(word))


@lru_cache(MOST_KNOWN)
def _of_address(source: str) -> tuple[str, ...]:
    """The address as networks are compared with it, and what networks it is in begin with."""
    try:
        found = ipaddress.ip_address(source)
    except ValueError:
        return ()
    written = str(getattr(found, "ipv4_mapped", None) or found)
    starts = [written[: at + 1] for at, sign in enumerate(written) if sign == "."] or [written.partition(":")[0] + ":"]
    return tuple(term("f", text) for text in (written, *starts) if is_indexable(text))
