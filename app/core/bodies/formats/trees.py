"""Bodies as trees whose nodes are numbers: JSON with the digits of numbers, the order of names, and duplicates; and the
fields of a form as PHP and Rails build them from names such as `user[address][city]`. No recursion."""

from __future__ import annotations

import json
import re

from app.core.bodies.formats.form import FormField
from app.core.bodies.formats.json import JsonError, ndjson_fit, tokens
from app.core.bodies.formats.json import fit as json_fit
from app.core.bodies.formatter import position_at
from app.core.bodies.values import Embedded
from app.core.text import count_of

TOP = -1
"""What the nodes at the top have as their parent."""


class NodeTree:
    """Nodes are numbered from `first` in the order in which they are added. If that is not 0, it is the end of another
    tree, to which all of this one is added before anything is asked of it.
    """

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._parents: list[int] = []
        self._rows: list[int] = []
        self._children: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._parents)

    def add(self, parent: int) -> int:
        """A new node, the last below `parent`."""
        node, siblings = self._first + len(self), self._children.setdefault(parent, [])
        self._parents.append(parent)
        self._rows.append(len(siblings))
        siblings.append(node)
        return node

    def parent(self, node: int) -> int:
        return self._parents[node]

    def row(self, node: int) -> int:
        """Its index among its siblings."""
        return self._rows[node]

    def children(self, node: int) -> list[int]:
        """In the order in which they were added."""
        return self._children.get(node, [])

    def add_below(self, node: int, tree: NodeTree) -> None:
        """Add all of `tree`; its nodes at the top become the children of `node`."""
        tops = tree._children.pop(TOP)
        self._parents += tree._parents
        self._rows += tree._rows
        self._children |= tree._children
        self._children[node] = tops
        for top in tops:
            self._parents[top] = node


TEXT_MAX = 8 * 1024 * 1024
"""Maximum characters of a text shown as a tree."""
NODES_MAX = 300_000
DEEPEST = 500
"""Maximum levels; the Pretty view has no limit."""
ROOT = 0
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class TreeError(Exception):
    """The text cannot be shown as a tree; `str()` says why, in a sentence."""


class JsonTree(NodeTree):
    """Its only node at the top is `ROOT`. A node's value is a slice of the text. What a string was `decoded` from is
    said of the only node below it, which is the root of its content: a tree made to be added to the end of `whole`.
    """

    def __init__(self, text: str, whole: JsonTree | None = None) -> None:
        super().__init__(len(whole) if whole is not None else 0)
        self._text = text
        self._begin = len(whole._text) if whole is not None else 0
        self._names: list[str | None] = []
        self._spans: list[tuple[int, int]] = []
        self.decoded: dict[int, Embedded] = {}
        self._parse()
        self._own = len(self)

    def _parse(self) -> None:
        parents: list[int] = []
        name: str | None = None
        try:
            for kind, start, end in tokens(self._text):
                sign = self._text[start]
                if kind == "key":
                    name = self._text[start:end]
                elif sign in "]}":
                    node = parents.pop() - self._first
                    self._spans[node] = (self._spans[node][0], self._begin + end)
                elif sign not in ":,":
                    node = self._add(parents[-1] if parents else TOP, name, start, end)
                    name = None
                    if sign in "[{":
                        parents.append(node)
                if len(parents) > DEEPEST:
                    raise TreeError(
                        f"It is nested deeper than {DEEPEST} levels, too deep for a tree. Use Pretty instead."
                    )
        except JsonError as error:
            raise TreeError(f"Not valid JSON at line {position_at(self._text, error.at)[0]:,}: {error}.") from None

    def _add(self, parent: int, name: str | None, start: int, end: int) -> int:
        if len(self) == NODES_MAX:
            raise TreeError(f"It has more than {NODES_MAX:,} values, too many for a tree. Use Pretty instead.")
        self._names.append(name)
        self._spans.append((self._begin + start, self._begin + end))
        return self.add(parent)

    def add_decoded(self, node: int, embedded: Embedded, tree: JsonTree) -> None:
        """Put the content of a string below it."""
        self.decoded[len(self)] = embedded
        self.add_below(node, tree)
        self._text += tree._text
        self._names += tree._names
        self._spans += tree._spans

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
        return name[1:-1] if name is not None else str(self.row(node)) if node else ""

    def summary(self, node: int) -> str:
        """At most 1,000 characters of a plain value; the number of members or items of any other."""
        kind, count = self.kind(node), len(self.children(node))
        if kind == "object":
            return f"{{{count_of(count, 'member')}}}"
        if kind == "array":
            return f"[{count_of(count, 'item')}]"
        return self.beginning(node, 1_000) + ("…" if self.length(node) > 1_000 else "")

    def kind(self, node: int) -> str:
        """`object`, `array`, `string`, `number` or `literal`."""
        first = self._text[self._spans[node][0]]
        return {"{": "object", "[": "array", '"': "string"}.get(first, "literal" if first in "tfn" else "number")

    def plain(self, node: int) -> str:
        """The value for pasting: a string without quotes and escapes, anything else as written."""
        text = self.value(node)
        return str(json.loads(text)) if text.startswith('"') else text

    def find(self, pattern: re.Pattern[str]) -> list[int]:
        """The nodes whose name or plain value matches, none that were decoded."""
        text, search = self._text, pattern.search
        return [
            node
            for node, (name, span) in enumerate(zip(self._names[: self._own], self._spans, strict=False))
            if (name is not None and search(name)) or (text[span[0]] not in "[{" and search(text, *span))
        ]

    def path(self, node: int) -> str:
        """From the root: `data.items[0]["odd name"]`; into decoded content `data.token → sub`."""
        parts: list[str] = []
        while self.parent(node) != TOP and node not in self.decoded:
            name = self._names[node]
            if name is None:
                parts.append(f"[{self.row(node)}]")
            else:
                plain = name[1:-1]
                parts.append(f".{plain}" if _PLAIN.fullmatch(plain) else f"[{name}]")
            node = self.parent(node)
        path = "".join(reversed(parts)).removeprefix(".")
        if node in self.decoded:
            return " → ".join(filter(None, (self.path(self.parent(node)), path)))
        return path or "$"


def fit(media_type: str, head: bytes) -> float:
    """For a single JSON value, ranked below the JSON view."""
    return 0.05 if json_fit(media_type, head) > 0 and not ndjson_fit(media_type, head) else 0.0


LEVELS_MAX = 20
"""Maximum levels of brackets in a name; a name with more is not split."""

_BRACKETS = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])+)")
_LEVEL = re.compile(r"\[([^\[\]]*)\]")


class FormTree(NodeTree):
    """A group has no field; it is where its first field would be."""

    def __init__(self, found: list[FormField]) -> None:
        super().__init__()
        self._labels: list[str] = []
        self._fields: list[FormField | None] = []
        self._groups: dict[tuple[int, str], int] = {}
        self._elements: dict[int, set[str]] = {}
        for field in found:
            self._add(field)

    def label(self, node: int) -> str:
        """The part of the name for this level: a number for `[]`."""
        return self._labels[node]

    def field(self, node: int) -> FormField | None:
        """None for a group."""
        return self._fields[node]

    def _add(self, field: FormField) -> None:
        levels = _levels(field.name)
        node = TOP
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
        self._labels.append(label)
        self._fields.append(field)
        return self.add(parent)


def _levels(name: str) -> list[str]:
    """`["a", "b", ""]` of `a[b][]`."""
    match = _BRACKETS.fullmatch(name)
    if match is None:
        return [name]
    levels = _LEVEL.findall(match[2])
    return [match[1], *levels] if len(levels) <= LEVELS_MAX else [name]
