"""Form fields (x-www-form-urlencoded), decoded: as lines, as a list, and as the tree that PHP and Rails build from
names such as `user[address][city]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from app.core.bodies.charset import declared_codec
from app.core.bodies.formats.json import JsonFormatter
from app.core.bodies.lines import Kind, Line, LineBuilder

FIELD_MAX = 64 * 1024
"""Characters of a field (as sent) held back until it is complete; the value of a longer one is shown piece by piece."""
INDENT = 2
NAMED = "application/x-www-form-urlencoded"

_ESCAPES = re.compile(r"((?:%[0-9A-Fa-f]{2})+)")
_TAIL = re.compile(r"(?:%[0-9A-Fa-f]{2}){0,4}(?:%[0-9A-Fa-f]?)?\Z")
_CONTINUES = re.compile(r"%[89abAB]")
_STRAY = re.compile("([\udc80-\udcff]+)")
_LIKELY = re.compile(rb"[\w.%+\[\]-]+=[^\s&=]*(?:&[\w.%+\[\]-]+=[^\s&=]*)+\Z")


class FormFormatter:
    """Fields in order, with duplicates; JSON values are indented. Escapes that are not text stay as sent."""

    error: str | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, content_type: str) -> None:
        self._codec = escape_codec(content_type)
        self._lines = LineBuilder()
        self._text, self._at = "", 0
        self._final = self._ended = False
        self._waits = True
        # For a field shown piece by piece: whether its name has ended, and the builder its value is written to.
        self._long = self._in_value = False
        self._nested: JsonFormatter | None = None

    @property
    def needs_input(self) -> bool:
        return not len(self._lines) and (self._ended or self._waits)

    def feed(self, text: str, final: bool) -> None:
        self._text = self._text[self._at :] + text
        self._at = 0
        self._final = self._final or final
        self._waits = False

    def next_lines(self, limit: int) -> list[Line]:
        while not self._ended and len(self._lines) < limit:
            if self._nested is not None and not self._nested.needs_input:
                self._add_nested(self._nested, limit)
            elif not self._step():
                self._waits = True
                break
        return self._lines.next_lines(limit)

    def _step(self) -> bool:
        """Handle one field, or a piece of a long one; False if more text is needed or all has been read."""
        if self._at >= len(self._text) and not self._long:
            self._ended = self._final
            return False
        end = self._text.find("&", self._at)
        complete = end >= 0 or self._final
        if not self._long and not complete and len(self._text) - self._at < FIELD_MAX:
            return False
        stop = end if end >= 0 else len(self._text)
        if not complete:
            stop = self._cut()
        piece = self._text[self._at : stop]
        if not piece and not complete:
            return False
        self._at = stop + (end >= 0)
        if self._long or not complete:
            self._piece(piece, complete)
        elif piece:
            self._field(piece)
        return True

    def _cut(self) -> int:
        """Where the text can be cut without splitting an escape, or a character of several bytes."""
        tail = _TAIL.search(self._text, max(self._at, len(self._text) - 14))
        stop = tail.start() if tail else len(self._text)
        for _ in range(3):
            if stop - 3 >= self._at and _CONTINUES.match(self._text, stop):
                stop -= 3
        return stop

    def _field(self, field: str) -> None:
        """A complete field."""
        name, equals, value = field.partition("=")
        self._write("key", name)
        if equals and not self._json(value):
            runs = list(_decoded(self._codec, "string", value))
            if any("\n" in text for _, text in runs):
                self._lines.add("punctuation", " =")
                self._lines.end_line(INDENT)
            else:
                self._lines.add("punctuation", " = " if value else " =")
            self._write("string", value)
        self._lines.end_line()

    def _json(self, value: str) -> bool:
        """Indent the value if it is a JSON object or array."""
        text = "".join(text for _, text in _decoded(self._codec, "string", value))
        if not text.lstrip().startswith(("{", "[")):
            return False
        nested = JsonFormatter()
        nested.feed(text, True)
        lines: list[Line] = []
        while not nested.needs_input:
            lines += nested.next_lines(1_000)
        if nested.error:
            return False
        self._lines.add("punctuation", " =")
        for line in lines:
            self._lines.add_line(line, INDENT)
        return True

    def _piece(self, piece: str, last: bool) -> None:
        """A piece of a long field."""
        self._long = True
        if not self._in_value:
            name, equals, piece = piece.partition("=")
            self._write("key", name)
            if equals:
                self._in_value = True
                self._lines.add("punctuation", " =")
                if piece[:3].upper().startswith(("%7B", "%5B", "{", "[")):
                    self._nested = JsonFormatter()
                else:
                    self._lines.end_line(INDENT)
        if self._nested is not None:
            self._nested.feed("".join(text for _, text in _decoded(self._codec, "string", piece)), last)
        elif self._in_value:
            self._write("string", piece)
        if last:
            self._long = self._in_value = False
            if self._nested is None:
                self._lines.end_line()

    def _add_nested(self, nested: JsonFormatter, limit: int) -> None:
        for line in nested.next_lines(limit):
            self._lines.add_line(line, INDENT)
        if nested.needs_input and not self._long:
            self._nested = None
            self._lines.end_line()

    def _write(self, kind: Kind, raw: str) -> None:
        for found, text in _decoded(self._codec, kind, raw):
            for at, part in enumerate(text.split("\n") if kind == "string" else [text]):
                if at:
                    self._lines.end_line(INDENT)
                self._lines.add(found, part.removesuffix("\r") if kind == "string" else part)


def escape_codec(content_type: str) -> str:
    """The codec of the form's percent escapes."""
    codec = declared_codec(content_type)
    # The names themselves are ASCII, so the charset must be a superset of it.
    return codec if codec and b"a".decode(codec, "replace") == "a" else "utf-8"


def decoded_text(raw: str, codec: str) -> str:
    """A name or value; bytes that are not text stay escaped."""
    return "".join(text for _, text in _decoded(codec, "text", raw)) if "%" in raw else raw.replace("+", " ")


def _decoded(codec: str, kind: Kind, raw: str) -> Iterator[tuple[Kind, str]]:
    """As (kind, text); escapes that are not text are of kind `control`."""
    for number, part in enumerate(_ESCAPES.split(raw.replace("+", " "))):
        if not number % 2:
            yield kind, part
            continue
        digits = part.replace("%", "")
        for stray, text in enumerate(_STRAY.split(bytes.fromhex(digits).decode(codec, "surrogateescape"))):
            if not stray % 2:
                yield kind, text
            else:
                escapes = "".join(f"%{ord(ch) - 0xDC00:02X}" for ch in text)
                yield "control", escapes.lower() if digits.lower() == digits else escapes


def fit(media_type: str, head: bytes) -> float:
    """Certain if type and text agree; likely if the beginning of the text consists of fields."""
    if media_type == NAMED:
        return 1.0 if b"=" in head and head[:1] not in b'{[<"' and head[:1].strip() else 0.45
    if media_type in ("", "text/plain", "application/octet-stream"):
        return 0.7 if _LIKELY.match(head) else 0.0
    return 0.0


FIELDS_MAX = 200_000
DEEPEST = 20
"""Maximum levels of brackets in a name; a name with more is not split."""
ROOT = -1

_BRACKETS = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])+)")
_LEVEL = re.compile(r"\[([^\[\]]*)\]")


class FormField(NamedTuple):
    """`sent` is the pair as it was sent, without the `&`. Bytes that are not text stay escaped (`%FF`)."""

    name: str
    value: str
    sent: str


def fields(text: str, content_type: str) -> list[FormField]:
    """In order, with duplicates."""
    codec = escape_codec(content_type)
    found: list[FormField] = []
    for sent in text.split("&"):
        if sent:
            name, _, value = sent.partition("=")
            found.append(FormField(decoded_text(name, codec), decoded_text(value, codec), sent))
    return found


class FormTree:
    """Nodes are numbered from 0; the parent of top-level nodes is `ROOT`. A group has no field."""

    def __init__(self, found: list[FormField]) -> None:
        self._labels: list[str] = []
        self._parents: list[int] = []
        self._rows: list[int] = []
        self._fields: list[FormField | None] = []
        self._children: dict[int, list[int]] = {ROOT: []}
        self._groups: dict[tuple[int, str], int] = {}
        self._elements: dict[int, set[str]] = {}
        for field in found:
            self._add(field)

    def __len__(self) -> int:
        """Including groups."""
        return len(self._labels)

    def children(self, node: int) -> list[int]:
        """In the order of their first field."""
        return self._children.get(node, [])

    def parent(self, node: int) -> int:
        """`ROOT` at the top."""
        return self._parents[node]

    def row(self, node: int) -> int:
        """Its index among its siblings."""
        return self._rows[node]

    def label(self, node: int) -> str:
        """The part of the name for this level: a number for `[]`."""
        return self._labels[node]

    def field(self, node: int) -> FormField | None:
        """None for a group."""
        return self._fields[node]

    def _add(self, field: FormField) -> None:
        levels = _levels(field.name)
        node = ROOT
        for depth, level in enumerate(levels[:-1]):
            node = self._group(node, level, levels[depth + 1])
        last = levels[-1]
        self._make(node, last if last or not len(levels) > 1 else str(len(self.children(node))), field)

    def _group(self, parent: int, level: str, following: str) -> int:
        if level:
            known = self._groups.get((parent, level))
            if known is None:
                known = self._groups[parent, level] = self._make(parent, level, None)
            return known
        # Rails: `items[][name]` belongs to the last item until a name repeats.
        siblings = self.children(parent)
        last = siblings[-1] if siblings and siblings[-1] in self._elements else None
        if last is None or following in self._elements[last]:
            last = self._make(parent, str(len(siblings)), None)
            self._elements[last] = set()
        if following:
            self._elements[last].add(following)
        return last

    def _make(self, parent: int, label: str, field: FormField | None) -> int:
        node = len(self._labels)
        siblings = self._children.setdefault(parent, [])
        self._labels.append(label)
        self._parents.append(parent)
        self._rows.append(len(siblings))
        self._fields.append(field)
        siblings.append(node)
        return node


def _levels(name: str) -> list[str]:
    """`["a", "b", ""]` of `a[b][]`."""
    match = _BRACKETS.fullmatch(name)
    if match is None:
        return [name]
    levels = _LEVEL.findall(match[2])
    return [match[1], *levels] if len(levels) <= DEEPEST else [name]
