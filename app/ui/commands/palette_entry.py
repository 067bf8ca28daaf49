"""The entries of the palette, which of them match the typed text, and which were used recently. No widgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from PySide6.QtCore import QSettings
from PySide6.QtGui import QIcon

from app.core.fuzzy import match
from app.ui.commands.key_caps import Caps

RECENT_SEEN = 5
"""Entries used lately that are listed first while nothing is typed."""
_LATELY = 4
"""Points: of two that fit about as well, the one used lately comes first."""


@dataclass(frozen=True)
class PaletteEntry:
    """`key` remembers it as used lately, empty for never. A search also matches `detail` and `kind`.

    The texts must be escaped. `icon` is a name of `theme.icons.NAMES`.
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


def find(entries: Iterable[PaletteEntry], text: str, recent: Sequence[str]) -> list[PaletteMatch]:
    """Those that match `text`, the best first; all of them, those of `recent` first, if it is empty."""
    if not text.strip():
        return _all(list(entries), recent)
    lately = set(recent[:RECENT_SEEN])
    found = []
    for entry in entries:
        fit = match(text, entry.text, (entry.kind, entry.detail))
        if fit is not None:
            found.append((fit.score + (_LATELY if entry.key in lately else 0), PaletteMatch(entry, fit.positions)))
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])]


def _all(entries: list[PaletteEntry], recent: Sequence[str]) -> list[PaletteMatch]:
    by_key = {entry.key: entry for entry in entries if entry.key}
    lately = [by_key[key] for key in recent if key in by_key][:RECENT_SEEN]
    before = {entry.key for entry in lately}
    first = [PaletteMatch(entry, last=number == len(lately)) for number, entry in enumerate(lately, 1)]
    return first + [PaletteMatch(entry) for entry in entries if entry.key not in before]


RECENT_KEY = "palette/recent"
RECENT_KEPT = 20
"""More than are shown: some may be deleted, or unavailable for now."""


class Recent:
    """Keys of entries, the latest first. What is not understood in the file counts as none."""

    def __init__(self, folder: Path) -> None:
        self._file = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)

    def keys(self) -> list[str]:
        """The latest first."""
        text = self._file.value(RECENT_KEY, "", type=str)
        try:
            return msgspec.json.decode(str(text) or "[]", type=list[str])[:RECENT_KEPT]
        except msgspec.MsgspecError:
            return []

    def use(self, key: str) -> None:
        """`key` was used now; Qt writes the file a little later."""
        keys = [key, *(other for other in self.keys() if other != key)][:RECENT_KEPT]
        self._file.setValue(RECENT_KEY, msgspec.json.encode(keys).decode())
