"""The fields of a form as a list, and as the tree that PHP and Rails build from names such as `user[address][city]`."""

from __future__ import annotations

import re
from typing import NamedTuple

from app.core.bodies.formats.form import decoded_text, escape_codec

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
