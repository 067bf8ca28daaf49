"""The shape of a tree whose nodes are numbers."""

from __future__ import annotations

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
