"""`window.ini` in the data folder: what the window remembers from one start to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec
from PySide6.QtCore import QSettings

from hookline.decoding import decode_json

T = TypeVar("T")


class WindowFile(QSettings):
    """Qt writes the file a little after each change, and has strings in it: each value is read as what it is."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder / "window.ini"), QSettings.Format.IniFormat)

    def text(self, key: str, default: str = "") -> str:
        return str(self.value(key, default, type=str))

    def flag(self, key: str, default: bool) -> bool:
        return bool(self.value(key, default, type=bool))

    def decoded(self, key: str, kind: type[T]) -> T | None:
        """What `set_encoded` stored; None if there is nothing, or nothing of this kind."""
        try:
            return decode_json(self.text(key), kind)
        except msgspec.MsgspecError:
            return None

    def set_encoded(self, key: str, value: Any) -> None:
        self.setValue(key, msgspec.json.encode(value).decode())
