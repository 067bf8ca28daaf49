"""The entries of the palette, which of them match the typed text, and which were used recently. No widgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from PySide6.QtCore import QSettings
from PySide6.QtGui import QIcon

from app.core.fuzzy import match
from app.ui.commands.key_caps import KeyNames
from hookline.decoding import decode_json

RECENT_MAX = 5
"""Recently used entries that are listed first while nothing is typed."""
_RECENT_BONUS = 4
"""Points for recent use: of two similar matches, the one used recently comes first."""


@dataclass(frozen=True)
class PaletteEntry:
    """`key` identifies it among the recently used ones; empty if its use is not remembered.

    A search also matches `detail` and `kind`. The texts must be escaped. `icon` is a name of `theme.icons.NAMES`.
    """

    key: str
    text: str
    kind: str
    run: Callable[[], object]
    icon: str | QIcon
    detail: str = ""
    key_names: KeyNames = ()


@dataclass(frozen=True)
class PaletteMatch:
    """An entry and the positions of the matching characters in its text. `last` marks the last recently used one."""

    entry: PaletteEntry
    places: tuple[int, ...] = ()
    last: bool = False


def find(entries: Iterable[PaletteEntry], text: str, recent: Sequence[str]) -> list[PaletteMatch]:
    """Entries that match `text`, the best first; all of them, those of `recent` first, if it is empty."""
    if not text.strip():
        return _all(list(entries), recent)
    recently_used = set(recent[:RECENT_MAX])
    found = []
    for entry in entries:
        fit = match(text, entry.text, (entry.kind, entry.detail))
        if fit is not None:
            found.append(
                (fit.score + (_RECENT_BONUS if entry.key in recently_used else 0), PaletteMatch(entry, fit.positions))
            )
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])]


def _all(entries: list[PaletteEntry], recent: Sequence[str]) -> list[PaletteMatch]:
    by_key = {entry.key: entry for entry in entries if entry.key}
    recently_used = [by_key[key] for key in recent if key in by_key][:RECENT_MAX]
    recent_keys = {entry.key for entry in recently_used}
    first = [PaletteMatch(entry, last=number == len(recently_used)) for number, entry in enumerate(recently_used, 1)]
    return first + [PaletteMatch(entry) for entry in entries if entry.key not in recent_keys]


RECENT_KEY = "palette/recent"
RECENT_KEPT = 20
"""More than are shown: some may be deleted, or unavailable for now."""


class RecentEntries:
    """Keys of recently used entries, newest first, in `window.ini`; an unreadable value counts as none."""

    def __init__(self, folder: Path) -> None:
        self._file = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)

    def keys(self) -> list[str]:
        text = self._file.value(RECENT_KEY, "", type=str)
        try:
            return decode_json(str(text) or "[]", list[str])[:RECENT_KEPT]
        except msgspec.MsgspecError:
            return []

    def use(self, key: str) -> None:
        """`key` was used now; Qt writes the file a little later."""
        keys = [key, *(other for other in self.keys() if other != key)][:RECENT_KEPT]
        self._file.setValue(RECENT_KEY, msgspec.json.encode(keys).decode())
