"""What the palette can list, and which of it answers to what was typed. No widgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtGui import QIcon

from app.core.fuzzy import match
from app.ui.commands.key_caps import Caps

RECENT_SEEN = 5
"""Entries used lately that come first while nothing is typed."""
_LATELY = 4
"""Points: of two that fit about as well, the one used lately comes first."""


@dataclass(frozen=True)
class PaletteEntry:
    """`key` is what it is remembered by, empty for never; `detail` and `kind` are found as they are.

    Nothing hidden may be left in the texts. `icon` is a name of `theme.icons.NAMES`.
    """

    key: str
    text: str
    kind: str
    run: Callable[[], object]
    icon: str | QIcon
    detail: str = ""
    caps: Caps = ()


@dataclass(frozen=True)
class PaletteMatch:
    """An entry with the places of the letters that were found in its text. `last` ends those used lately."""

    entry: PaletteEntry
    places: tuple[int, ...] = ()
    last: bool = False


def find(entries: Iterable[PaletteEntry], wanted: str, recent: Sequence[str]) -> list[PaletteMatch]:
    """Those that answer to `wanted`, the best first; all of them, those of `recent` first, when it is empty."""
    if not wanted.strip():
        return _all(list(entries), recent)
    lately = set(recent[:RECENT_SEEN])
    found = []
    for entry in entries:
        fit = match(wanted, entry.text, (entry.kind, entry.detail))
        if fit is not None:
            found.append((fit.score + (_LATELY if entry.key in lately else 0), PaletteMatch(entry, fit.places)))
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])]


def _all(entries: list[PaletteEntry], recent: Sequence[str]) -> list[PaletteMatch]:
    by_key = {entry.key: entry for entry in entries if entry.key}
    lately = [by_key[key] for key in recent if key in by_key][:RECENT_SEEN]
    before = {entry.key for entry in lately}
    first = [PaletteMatch(entry, last=number == len(lately)) for number, entry in enumerate(lately, 1)]
    return first + [PaletteMatch(entry) for entry in entries if entry.key not in before]
