"""JSON as a tree that keeps the digits of numbers, the order of names, and duplicates. No recursion."""

from __future__ import annotations

import json
import re

from app.core.bodies.formats.json import JsonError, ndjson_fit, tokens
from app.core.bodies.formats.json import fit as json_fit
from app.core.bodies.formatter import position_at
from app.core.text import count_of

TEXT_MAX = 8 * 1024 * 1024
"""Maximum characters of a text shown as a tree."""
NODES_MAX = 300_000
DEEPEST = 500
"""Maximum levels; the Pretty view has no limit."""
ROOT = 0
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class TreeError(Exception):
    """The text cannot be shown as a tree; `str()` says why, in a sentence."""


class JsonTree:
    """Nodes are numbered from `ROOT`. A node's value is a slice of the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parents: list[int] = []
        self._rows: list[int] = []
        self._names: list[str | None] = []
        self._spans: list[tuple[int, int]] = []
        self._children: dict[int, list[int]] = {}
        self._parse()

    def _parse(self) -> None:
        parents: list[int] = []
        name: str | None = None
        try:
            for kind, start, end in tokens(self._text):
                sign = self._text[start]
                if kind == "key":
                    name = self._text[start:end]
                elif sign in "]}":
                    node = parents.pop()
                    self._spans[node] = (self._spans[node][0], end)
                elif sign not in ":,":
                    node = self._add(parents[-1] if parents else -1, name, start, end)
                    name = None
                    if sign in "[{":
                        self._children[node] = []
                        parents.append(node)
                if len(parents) > DEEPEST:
                    raise TreeError(
                        f"It is nested deeper than {DEEPEST} levels, too deep for a tree. Use Pretty instead."
                    )
        except JsonError as error:
            raise TreeError(f"Not valid JSON at line {position_at(self._text, error.at)[0]:,}: {error}.") from None

    def _add(self, parent: int, name: str | None, start: int, end: int) -> int:
        node = len(self._parents)
        if node == NODES_MAX:
            raise TreeError(f"It has more than {NODES_MAX:,} values, too many for a tree. Use Pretty instead.")
        self._parents.append(parent)
        siblings = self._children.get(parent, [])
        self._rows.append(len(siblings))
        self._names.append(name)
        self._spans.append((start, end))
        siblings.append(node)
        return node

    def parent(self, node: int) -> int:
        """-1 for the root."""
        return self._parents[node]

    def row(self, node: int) -> int:
        """Its index among its siblings."""
        return self._rows[node]

    def children(self, node: int) -> list[int]:
        """In the order written; empty for a plain value."""
        return self._children.get(node, [])

    def value(self, node: int) -> str:
        """As it was written."""
        start, end = self._spans[node]
        return self._text[start:end]

    def length(self, node: int) -> int:
        return self._spans[node][1] - self._spans[node][0]

    def beginning(self, node: int, most: int) -> str:
        """At most `most` characters of `value`."""
        start, end = self._spans[node]
        return self._text[start : min(end, start + most)]

    def name(self, node: int) -> str:
        """Its name as written, without quotes, or its index in a list."""
        name = self._names[node]
        return name[1:-1] if name is not None else str(self._rows[node]) if node else ""

    def summary(self, node: int) -> str:
        """At most 1,000 characters of a plain value; the number of members or items of any other."""
        if node not in self._children:
            return self.beginning(node, 1_000) + ("…" if self.length(node) > 1_000 else "")
        count = len(self._children[node])
        return f"{{{count_of(count, 'member')}}}" if self.kind(node) == "object" else f"[{count_of(count, 'item')}]"

    def kind(self, node: int) -> str:
        """`object`, `array`, `string`, `number` or `literal`."""
        first = self._text[self._spans[node][0]]
        return {"{": "object", "[": "array", '"': "string"}.get(first, "literal" if first in "tfn" else "number")

    def plain(self, node: int) -> str:
        """The value for pasting: a string without quotes and escapes, anything else as written."""
        text = self.value(node)
        return str(json.loads(text)) if text.startswith('"') else text

    def find(self, pattern: re.Pattern[str]) -> list[int]:
        """The nodes whose name or plain value matches."""
        text, search = self._text, pattern.search
        return [
            node
            for node, name in enumerate(self._names)
            if (name is not None and search(name)) or (node not in self._children and search(text, *self._spans[node]))
        ]

    def path(self, node: int) -> str:
        """From the root: `data.items[0]["odd name"]`."""
        parts: list[str] = []
        while node > ROOT:
            name = self._names[node]
            if name is None:
                parts.append(f"[{self._rows[node]}]")
            else:
                plain = name[1:-1]
                parts.append(f".{plain}" if _PLAIN.fullmatch(plain) else f"[{name}]")
            node = self._parents[node]
        return "".join(reversed(parts)).removeprefix(".") or "$"


def fit(media_type: str, head: bytes) -> float:
    """For a single JSON value, ranked below the JSON view."""
    return 0.05 if json_fit(media_type, head) > 0 and not ndjson_fit(media_type, head) else 0.0
