"""What an index holds of a request: its text, and its terms, which are values of its columns, names of its headers,
paths and texts in its JSON, its words.

Trigrams can only exclude requests. For a term the index knows exactly which requests have it, so it also finds those
without. Whatever has no term, because it is too long or unusual, is left to be examined.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from math import inf, nextafter
from typing import Any

from app.core.record import Headers, Record
from app.db.search.candidate import JSON_NAMES, Candidate, as_number, rounded

LAST_TRIGRAM = "\n\n\n"
"""Ends every text, so that its last characters begin a trigram too, and its last header ends like the others."""
INDEXED = 200_000
"""Characters of a request that are indexed; one that has more is examined in each search."""
_PLAIN = "2[0-13-58-ac-e]|3[0-9abf]|[46].|5[0-9abd-f]|7[0-9a-e]|df"
_ESCAPED = re.compile(rf"\\u(?:00(?:{_PLAIN})|0130|0149|017f|01f0|1e9[6-9ae]|212a|fb0[0-6])")
"""JSON may escape these characters this way, and letters that become one of them when case is folded."""


def combined_text(request: Candidate, readable: Sequence[str]) -> tuple[bool, str]:
    """Whether every search examines the request, because more may be found in it than is indexed; and the text that
    words are searched in, as it is indexed: as sent, and `readable`."""
    text, odd = request.text, any(value != value.strip() for _, value in request.headers)
    combined = LAST_TRIGRAM.join((text, *readable))
    always = odd or not request.is_whole or len(combined) > INDEXED or bool("\\u" in text and _ESCAPED.search(text))
    return always, "\n" + plain(combined[:INDEXED]) + LAST_TRIGRAM


def plain(text: str) -> str:
    """Replace characters that end a text in FTS5 or that it writes differently."""
    return text.replace("\0", "\x1f").replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


Steps = tuple[str | None, ...]
"""A path in a JSON body; None stands for any step."""

LONGEST = 100
"""The most characters of a text that has a term."""
DIGITS_MAX = 3
"""Texts with more digits have no term: hardly two requests have the same."""
_MANY_DIGITS = re.compile(rf"(?:\D*+\d){{{DIGITS_MAX + 1}}}")


def is_indexable(text: str) -> bool:
    """Whether it can be part of a term: short and printable."""
    return len(text) <= LONGEST and text.isprintable()


def is_shared(value: str) -> bool:
    """Whether it is like values that many requests share, and so has a term of its own."""
    return is_indexable(value) and not _MANY_DIGITS.match(value)


def is_single(steps: Steps) -> bool:
    """Whether there is at most one place for the path in a body, and one way to write it."""
    return all(step is not None and step != "*" and not step.isdecimal() and is_indexable(step) for step in steps)


def path_of(steps: Steps) -> str:
    """The path of steps of which each is a key."""
    return BETWEEN.join(step for step in steps if step is not None)


VALUES_MAX = 5_000
"""The most values of a JSON body that are examined."""
LEAVES_MAX = 500
"""The most paths, numbers and texts of a body that are indexed, each."""
KEY_CACHE = 10_000
"""The size of the cache: most keys also occurred in earlier requests."""
LONGEST_PATH = 400
BETWEEN = "\x1f"
"""Separates the steps of a path; no indexable key contains it."""
ITEM = "*"
"""Any item of a list: its position does not matter where requests are only excluded."""


class JsonLeaves(Record, frozen=True):
    """Paths, and pairs of a path and its value; a number that had to be rounded is there with its neighbours on both
    sides. `more`: there are others, not examined or not indexable."""

    paths: frozenset[str] = frozenset()
    numbers: frozenset[tuple[str, float]] = frozenset()
    texts: frozenset[tuple[str, str]] = frozenset()
    more: bool = False


def find_json_leaves(value: Any) -> JsonLeaves:
    """Collect from a decoded JSON value."""
    found = _LeafCollector()
    found.collect(value)
    return JsonLeaves(
        paths=frozenset(islice(found.paths, LEAVES_MAX)),
        numbers=frozenset(islice(found.numbers, LEAVES_MAX)),
        texts=frozenset(islice(found.texts, LEAVES_MAX)),
        more=found.more or max(len(found.paths), len(found.numbers), len(found.texts)) > LEAVES_MAX,
    )


class _LeafCollector:
    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.numbers: set[tuple[str, float]] = set()
        self.texts: set[tuple[str, str]] = set()
        self.more = False
        self._remaining = VALUES_MAX

    def collect(self, value: Any) -> None:
        waiting = self._inside("", value)
        while waiting:
            path, value = waiting.pop()
            self.paths.add(path)
            if isinstance(value, dict | list):
                waiting += self._inside(path + BETWEEN, value)
            elif isinstance(value, bool) or value is None:
                self.texts.add((path, JSON_NAMES[value]))
            elif (number := as_number(value)) is not None:
                near, exact = rounded(number)
                self.numbers.add((path, near))
                if not exact:  # it may be on either side
                    self.numbers |= {(path, nextafter(near, -inf)), (path, nextafter(near, inf))}
            elif isinstance(value, str) and is_shared(value):
                self.texts.add((path, value))

    def _inside(self, before: str, value: Any) -> list[tuple[str, Any]]:
        if not isinstance(value, dict | list):
            return []
        self._remaining -= len(value)
        if self._remaining < 0 or len(before) > LONGEST_PATH:
            self.more = True
            return []
        if isinstance(value, list):
            return [(before + ITEM, item) for item in value]
        indexable = [
            (before + key, inner) for key, inner in value.items() if len(key) <= LONGEST and _is_key_indexable(key)
        ]
        self.more = self.more or len(indexable) < len(value)
        return indexable


_is_key_indexable = lru_cache(KEY_CACHE)(is_indexable)


WORDS_MAX, HEADERS_MAX = 1_000, 100
TERM_CACHE = 2_000
"""The size of the caches: most terms also occurred in earlier requests. A larger one is not faster, and a line of
random bytes takes 2 KiB."""
SHORT_LINE = 200
"""The most characters of a line, such as a header, that is cached. Longer ones rarely repeat, and a sender may make all
of them different."""
_TO_PRIVATE = {sign: 0xF0000 + sign for sign in range(128)}
"""Terms are written in private-use characters, which FTS5 takes for letters and no word contains."""
_FROM_PRIVATE = {private: sign for sign, private in _TO_PRIVATE.items()}
_SIGNS_TO_PRIVATE = {sign: private for sign, private in _TO_PRIVATE.items() if not chr(sign).isalnum()}
_LOWER = {sign: sign + 32 for sign in range(ord("A"), ord("Z") + 1)}
_PART, _PLAIN_PART = r"[^\W\d_]{1,24}+[0-9]{0,2}+(?![^\W_])", r"[a-z]{1,24}+[0-9]{0,2}+(?![a-z0-9])"
_WORD = re.compile(rf"(?<![^\W_]){_PART}(?:[-_./:]{_PART}){{0,3}}+")
_PLAIN_WORD = re.compile(rf"(?<![a-z0-9]){_PLAIN_PART}(?:[-_./:]{_PLAIN_PART}){{0,3}}+")
"""The same for ASCII text, in half the time."""
_JOINT = re.compile("[-_./:]")
FIRST_TERM = chr(0xF0000)
"""Sorts after all words and before all other terms."""


class ColumnValues(Record, frozen=True):
    """The values of a request's columns that have terms. `status` is None while a target's response may become the
    request's; `provider` and `event` are None until it is identified."""

    method: str
    status: int | None
    source: str
    complete: bool
    provider: str | None
    event: str | None


@lru_cache(TERM_CACHE)
def term(kind: str, text: str) -> str:
    """The term of an indexable text; `kind` is a letter."""
    return (kind + text).translate(_TO_PRIVATE)


def term_text(written: str) -> str:
    """The text of a term, without its kind."""
    return written[1:].translate(_FROM_PRIVATE)


def word_term(word: str) -> str:
    """The term of a case-folded word, or of a part of one."""
    return word.translate(_SIGNS_TO_PRIVATE)


def folded(value: str) -> str:
    """A name in lower case as SQLite compares it (NOCASE): only ASCII letters change."""
    return value.translate(_LOWER)


@lru_cache(2 * TERM_CACHE)
def key_of(text: str) -> int:
    """64 bits that stand for a path or a term."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


EVERY = term("*", "")
"""A term that every request has."""
MORE = term("+", "")
"""On a request with more headers or JSON than was indexed."""
OPEN = term("s", "?")
"""On requests whose status may still change."""
UNKNOWN = term("?", "")
"""On requests that are not identified yet, or whose provider cannot be a term."""


def terms_of(columns: ColumnValues, target: str, headers: Headers, json_leaves: JsonLeaves, text: str) -> str:
    """All terms of a request, joined by spaces. `text` is the case-folded text that words are searched in."""
    found = {
        EVERY,
        *_of_columns(columns),
        *_of_headers(headers),
        *_of_json(json_leaves),
        *_of_words(text[:INDEXED]),
    }
    start = path_start(target)
    if start:
        found.add(term("/", start))
    return " ".join(found)


def path_start(target: str) -> str:
    """The first steps of a path, case-folded, up to one that hardly two requests share."""
    start, rest = "", target.partition("?")[0].casefold()
    while rest:
        step, slash, rest = rest.partition("/")
        if not is_shared(start + step + slash):
            break
        start += step + slash
    return start


@lru_cache(TERM_CACHE)
def _of_columns(columns: ColumnValues) -> frozenset[str]:
    return frozenset(_each_column(columns))


def _each_column(columns: ColumnValues) -> Iterator[str]:
    for kind, text in (("m", columns.method), ("a", columns.source)):
        yield term(kind, text) if is_indexable(text) else MORE
    yield from _of_address(columns.source)
    if columns.status is None:
        yield OPEN
    else:
        yield term("s", str(columns.status))
        yield term("s", f"{columns.status // 100}xx")
    if not columns.complete:
        yield term("i", "incomplete")
    names = (("p", columns.provider), ("e", None if columns.provider is None else columns.event or ""))
    for kind, name in names:
        yield UNKNOWN if name is None or not is_indexable(name) else term(kind, folded(name))


def _of_headers(headers: Headers) -> Iterator[str]:
    if len(headers) > HEADERS_MAX:
        yield MORE
    for name, value in headers[:HEADERS_MAX]:
        yield from (_of_short_header if len(name) + len(value) <= SHORT_LINE else _of_header)(name, value)


def _of_header(name: str, value: str) -> tuple[str, ...]:
    there, text = term("h", name.lower()) if is_indexable(name) else MORE, header_text(name, value)
    return (there, term("v", text)) if is_shared(text) else (there,)


_of_short_header = lru_cache(TERM_CACHE)(_of_header)


def header_text(name: str, value: str) -> str:
    """A header in the form in which headers are compared."""
    return f"{name.lower()}={value.strip().casefold()}"


def _of_json(json_leaves: JsonLeaves) -> Iterator[str]:
    if json_leaves.more:
        yield MORE
    for path in json_leaves.paths:
        yield term("j", path)
    for path, _ in json_leaves.numbers:
        yield term("n", path)
    for path, value in json_leaves.texts:
        if is_shared(value):
            yield json_term(path, value)


def json_term(path: str, value: str) -> str:
    """The term of a text at a path in a JSON body."""
    return term("k", f"{path}\x1e{value}")


def _of_words(text: str) -> set[str]:
    found: set[str] = set()
    for line in text.split("\n"):
        found.update(_of_short_line(line) if len(line) <= SHORT_LINE else _of_line(line))
        if len(found) > WORDS_MAX:
            break
    return found


def _of_line(line: str) -> set[str]:
    words = (_PLAIN_WORD if line.isascii() else _WORD).finditer(line)
    return {term for word in {match[0] for match in islice(words, WORDS_MAX)} for term in _with_parts(word)}


_of_short_line = lru_cache(TERM_CACHE)(_of_line)


@lru_cache(TERM_CACHE)
def _with_parts(word: str) -> tuple[str, ...]:
    return (word_term(word), *_JOINT.split(word))


@lru_cache(TERM_CACHE)
def _of_address(source: str) -> tuple[str, ...]:
    """Terms of the address as networks are compared with it, and of the prefixes of its networks."""
    try:
        found = ipaddress.ip_address(source)
    except ValueError:
        return ()
    written = str(getattr(found, "ipv4_mapped", None) or found)
    starts = [written[: at + 1] for at, sign in enumerate(written) if sign == "."] or [written.partition(":")[0] + ":"]
    return tuple(term("f", text) for text in (written, *starts) if is_indexable(text))
