"""What was used lately in the palette, kept in `window.ini` in the data folder."""

from __future__ import annotations

from pathlib import Path

import msgspec
from PySide6.QtCore import QSettings

KEY = "palette/recent"
KEPT = 20
"""More than are shown: some may be deleted, or unavailable for now."""


class Recent:
    """Keys of entries, the latest first. What is not understood in the file counts as none."""

    def __init__(self, folder: Path) -> None:
        self._file = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)

    def keys(self) -> list[str]:
        """The latest first."""
        text = self._file.value(KEY, "", type=str)
        try:
            return msgspec.json.decode(str(text) or "[]", type=list[str])[:KEPT]
        except msgspec.MsgspecError:
            return []

    def use(self, key: str) -> None:
        """`key` was used now; Qt writes the file a little later."""
        keys = [key, *(other for other in self.keys() if other != key)][:KEPT]
        self._file.setValue(KEY, msgspec.json.encode(keys).decode())
