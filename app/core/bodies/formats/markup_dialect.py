"""What tells one language of markup from another: strictness, and which elements are special."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Dialect:
    """What the two languages differ in. Names are in lower case where case does not matter (`folds_case`)."""

    strict: bool
    folds_case: bool
    instruction_end: str
    void: frozenset[str] = frozenset()
    raw: frozenset[str] = frozenset()
    verbatim: frozenset[str] = frozenset()
    inline: frozenset[str] = frozenset()
    closes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Which open elements the start of another ends without a tag."""
