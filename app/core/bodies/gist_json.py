"""A gist never longer than a row can show, with hidden characters escaped; and that of JSON, which is its shape: the
top-level names of an object, the length and names of a list, and event names.

Values are never built: a whole body is decoded one level deep; of a cut or broken one, the beginning is scanned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

import msgspec

from app.core.bodies.escape import escape
from app.core.text import count_of, shortened

GIST_MAX = 120
"""Characters of a gist, including the ellipsis."""
NAMES_MAX = 12
"""Maximum names considered: more never fit."""
NAME_MAX = 40
WORDS_MAX = 80
"""Characters of a text's first words."""
DOT, MORE = " · ", "…"

_SPACE = re.compile(r"[\s\x00]+")


def with_detail(label: str, detail: str) -> str:
    """`JSON · id, type`; the label alone without details."""
    return f"{label}{DOT}{detail}" if detail else label


def names(found: Iterable[str], *, more: bool = False) -> str:
    """`id, type, data`, without blank ones; ends in `…` if there are `more`, or more than are considered."""
    texts = list(islice(filter(str.strip, found), NAMES_MAX + 1))
    visible = [shortened(text, NAME_MAX) for text in texts[:NAMES_MAX]]
    return ", ".join([*visible, MORE] if visible and (more or len(texts) > NAMES_MAX) else visible)


def first_words(text: str) -> str:
    """The beginning of a text on one line."""
    return shortened(_SPACE.sub(" ", text[: 4 * WORDS_MAX].lstrip()).strip(), WORDS_MAX)


def one_line(gist: str) -> str:
    """The gist on one line, escaped. An escape is never cut in two."""
    text = escape(gist)
    if len(text) <= GIST_MAX:
        return text
    characters, free = [], GIST_MAX - 1
    for character in gist:
        visible = escape(character)
        free -= len(visible)
        if free < 0:
            break
        characters.append(visible)
    return "".join(characters).rstrip(" ,·") + MORE


SCAN = 64 * 1024
"""Bytes that are scanned of a body that is cut or broken."""
TOKENS_MAX = 1_000
"""Strings, brackets and commas among these: more would hold up other senders, for each takes a microsecond."""
EVENT_NAMES = ("event", "event_type", "eventType", "event_name", "eventName", "type", "action", "topic")
"""Names that senders use for events. Of the first one the value is shown, if it is like `order.paid`."""

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_decode_object = _object.decode
_list = msgspec.json.Decoder(list[msgspec.Raw])
_text = msgspec.json.Decoder(str)
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for data that is broken, nested too deeply or of another type."""

WORD_MAX = 60
_WORD = re.compile(rb'"[A-Za-z0-9][A-Za-z0-9_.:/#-]{0,59}"')
OPERATION = re.compile(r"\s*(query|mutation|subscription)\b\s*(\w{0,60})")
# An unclosed string extends to the end of the data, so that no quote within it is tried as the start of another.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*\\?(?:"|\Z)|[{}\[\]]|,', re.DOTALL)
_COLON = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*")
_SCALAR = re.compile(rb'[ \t\r\n]*("[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*|true|false|null)[ \t\r\n]*\Z', re.DOTALL)


class _Plan(NamedTuple):
    """How to describe objects with these names. The value of `key` is added, an event's before the `text`: a narrow row
    cuts the end."""

    text: str
    key: str = ""
    how: Literal["", "event", "method", "graphql"] = ""


@lru_cache(maxsize=256)
def _plan(keys: tuple[str, ...]) -> _Plan:
    """Cached by the first names of an object, because senders repeat them."""
    if "jsonrpc" in keys:
        return _Plan("JSON-RPC", "method", "method") if "method" in keys else _Plan("JSON-RPC · response")
    if "specversion" in keys and "type" in keys:
        return _Plan("CloudEvent", "type", "method")
    plain = one_line(with_detail("JSON", names(keys))) if keys else "JSON · {}"
    if "query" in keys and {"variables", "operationName", "extensions"}.intersection(keys):
        return _Plan(plain, "query", "graphql")
    key = next((name for name in EVENT_NAMES if name in keys[:NAMES_MAX]), "")
    return _Plan(plain, key, "event") if key else _Plan(plain)


def object_gist(data: bytes) -> str:
    """`data` is a whole object in UTF-8. Raises one of `NOT_JSON` for anything else."""
    level = _decode_object(data)
    plan = _plan(tuple(level) if len(level) <= NAMES_MAX else tuple(islice(level, NAMES_MAX + 1)))
    text, key, how = plan
    if not how:
        return text
    value = level.get(key)
    if value is None:  # not among the names that are considered
        return text
    word = bytes(value)
    if how != "event":
        return one_line(_named(plan, word, level))
    return text if len(word) > WORD_MAX + 2 else _with_event(text, word)


@lru_cache(maxsize=512)
def _with_event(text: str, word: bytes) -> str:
    """Cached, because senders repeat the same events."""
    return one_line(with_detail(word[1:-1].decode(), text)) if _WORD.fullmatch(word) else text


def json_gist(data: bytes, *, complete: bool) -> str | None:
    """`data` is UTF-8; None if it is not JSON. If it is cut or broken, only the part before that counts."""
    start = data[:64].lstrip(b" \t\r\n")[:1]
    try:
        if complete and start == b"{":
            return object_gist(data)
        if complete and start == b"[":
            return _list_gist(_list.decode(data))
    except NOT_JSON:
        pass  # broken or nested too deeply: the names before that point are read below
    if start in (b"{", b"["):
        return _scanned_gist(data[:SCAN], complete=complete)
    scalar = _SCALAR.match(data) if complete and len(data) < SCAN else None
    return with_detail("JSON", first_words(scalar[1].decode("utf-8", "replace"))) if scalar else None


def ndjson_gist(data: bytes, *, complete: bool) -> str:
    """JSON values, one per line or each after a record separator (RFC 7464)."""
    start = data.lstrip(b" \t\r\n\x1e")
    keys = names(_scanned_keys(start.partition(b"\n")[0][:SCAN])[1])
    if not complete:
        return with_detail("NDJSON", keys)
    count = sum(1 for line in data.replace(b"\x1e", b"\n").split(b"\n") if line.strip())
    return with_detail(f"NDJSON · {count_of(count, 'line')}", keys)


def _named(plan: _Plan, value: bytes, level: dict[str, msgspec.Raw]) -> str:
    try:
        text = _text.decode(value)
    except NOT_JSON:
        return plan.text
    if plan.how != "graphql":
        return with_detail(plan.text, shortened(text, WORDS_MAX))
    operation = OPERATION.match(text)
    kind, name = (operation[1], operation[2]) if operation else ("query", "")
    if not operation and not text.lstrip().startswith("{"):
        return plan.text
    operation_name = level.get("operationName")
    if operation_name is not None and (quoted := _WORD.fullmatch(bytes(operation_name))):
        name = quoted[0][1:-1].decode()
    return f"GraphQL · {kind} {name}".rstrip()


def _list_gist(items: Sequence[msgspec.Raw]) -> str:
    if not items:
        return "JSON · []"
    try:
        keys = names(_object.decode(items[0]))
    except NOT_JSON:
        keys = ""
    if keys:
        return f"JSON array · {len(items):,} × {keys}"
    return f"JSON · {count_of(len(items), 'item')}"


def _scanned_gist(data: bytes, *, complete: bool) -> str | None:
    """`data` begins like an object or list and is cut or broken; if `complete`, it is broken."""
    label, keys = _scanned_keys(data)
    if complete:
        label = f"invalid {label}"
    if keys:
        return with_detail(label, names(keys, more=True))
    # Much text that is not JSON begins with a bracket.
    return None if complete else label


def _scanned_keys(data: bytes) -> tuple[str, list[str]]:
    """What `data` begins like, and the names of the object, or of the list's first object, as far as `data` goes."""
    of_list = data[:64].lstrip(b" \t\r\n")[:1] == b"["
    depth_of_names = 2 if of_list else 1
    keys: list[str] = []
    depth, fresh = 0, False
    for match in islice(_TOKEN.finditer(data), TOKENS_MAX):
        token = match[0]
        first = token[:1]
        if first == b'"':
            if depth == depth_of_names and fresh and _COLON.match(data, match.end()):
                keys.append(_name(token))
                if len(keys) > NAMES_MAX:
                    break
            fresh = False
        elif first in b"{[":
            depth += 1
            fresh = depth == depth_of_names and first == b"{"
            if depth == depth_of_names and not fresh and of_list:
                break  # a list of lists
        elif first in b"}]":
            depth -= 1
            fresh = False
            if depth < depth_of_names and keys:
                break
        else:
            fresh = depth == depth_of_names and bool(keys)
    return "JSON array" if of_list else "JSON", keys


def _name(token: bytes) -> str:
    try:
        return _text.decode(token)
    except NOT_JSON:
        return token[1 : 1 + 4 * NAME_MAX].rstrip(b'"').decode("utf-8", "replace")
