"""JSON as a tree that keeps the digits of numbers, the order of names, and duplicates. No recursion."""

from __future__ import annotations

import json
import re

from app.core.bodies.formats.json import TOKEN, WORDS, Expect, ndjson_fit
from app.core.bodies.formats.json import fit as json_fit
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
        _Parser(text, self).parse()

    def begin(self, parent: int, name: str | None, start: int, end: int, *, has_children: bool) -> int:
        """Add a node; `has_children` for an object or array."""
        node = len(self._parents)
        if node == NODES_MAX:
            raise TreeError(f"It has more than {NODES_MAX:,} values, too many for a tree. Use Pretty instead.")
        self._parents.append(parent)
        siblings = self._children.get(parent, [])
        self._rows.append(len(siblings))
        self._names.append(name)
        self._spans.append((start, end))
        siblings.append(node)
        if has_children:
            self._children[node] = []
        return node

    def close(self, node: int, end: int) -> None:
        """The node's text ends here."""
        self._spans[node] = (self._spans[node][0], end)

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
        start, end = self._spans[node]
        if node not in self._children:
            return self._text[start : min(end, start + 1_000)] + ("…" if end - start > 1_000 else "")
        count = len(self._children[node])
        return f"{{{count_of(count, 'member')}}}" if self._text[start] == "{" else f"[{count_of(count, 'item')}]"

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


class _Parser:
    """One pass over the tokens; the grammar is `Expect`'s."""

    def __init__(self, text: str, tree: JsonTree) -> None:
        self._text, self._tree = text, tree
        self._open: list[int] = []
        self._name: str | None = None
        self._expect = Expect.VALUE

    def parse(self) -> None:
        at = 0
        while at < len(self._text):
            match = TOKEN.match(self._text, at)
            if match is None or match.lastgroup == "open":
                raise self._error(at)
            if match.lastgroup != "space" and not self._token(match.lastgroup or "", match):
                raise self._error(at)
            at = match.end()
        if self._expect is not Expect.NOTHING:
            raise TreeError("Not valid JSON: the text ends too early.")

    def _token(self, kind: str, match: re.Match[str]) -> bool:
        token, expect = match.group(), self._expect
        if kind != "punctuation":
            if kind == "string" and expect in (Expect.KEY, Expect.KEY_OR_END):
                self._name, self._expect = token, Expect.COLON
                return True
            return self._value(match, has_children=False)
        if token in "[{":
            return self._value(match, has_children=True)
        if token == ":" and expect is Expect.COLON:
            self._expect = Expect.VALUE
            return True
        if token == "," and expect is Expect.COMMA_OR_END:
            self._expect = Expect.KEY if self._in_object() else Expect.VALUE
            return True
        return token in "]}" and self._close(token, match.end())

    def _value(self, match: re.Match[str], *, has_children: bool) -> bool:
        if self._expect not in (Expect.VALUE, Expect.VALUE_OR_END):
            return False
        parent = self._open[-1] if self._open else -1
        node = self._tree.begin(parent, self._name, match.start(), match.end(), has_children=has_children)
        self._name = None
        if not has_children:
            self._after()
            return True
        self._open.append(node)
        if len(self._open) > DEEPEST:
            raise TreeError(f"It is nested deeper than {DEEPEST} levels, too deep for a tree. Use Pretty instead.")
        self._expect = Expect.KEY_OR_END if match.group() == "{" else Expect.VALUE_OR_END
        return True

    def _close(self, token: str, end: int) -> bool:
        empty = Expect.KEY_OR_END if token == "}" else Expect.VALUE_OR_END
        if not self._open or self._in_object() != (token == "}") or self._expect not in (Expect.COMMA_OR_END, empty):
            return False
        self._tree.close(self._open.pop(), end)
        self._after()
        return True

    def _in_object(self) -> bool:
        return self._tree.kind(self._open[-1]) == "object"

    def _after(self) -> None:
        self._expect = Expect.COMMA_OR_END if self._open else Expect.NOTHING

    def _error(self, at: int) -> TreeError:
        line = self._text.count("\n", 0, at) + 1
        return TreeError(f"Not valid JSON at line {line:,}: {WORDS[self._expect]} was expected.")


def fit(media_type: str, head: bytes) -> float:
    """For a single JSON value, ranked below the JSON view."""
    return 0.05 if json_fit(media_type, head) > 0 and not ndjson_fit(media_type, head) else 0.0
