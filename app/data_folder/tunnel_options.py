"""What the user has saved for tunnel programs, as a file in the data folder that only its owner can read: some of it is
secret."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from app.core.errors import DataFolderError
from app.data_folder import private_file
from hookline.decoding import decode_json

FILE_NAME = "tunnels.json"

Saved = dict[str, dict[str, str]]
"""The values of options by name, by the program's id."""


def load(folder: Path) -> Saved:
    """Empty when there is no file; DataFolderError if it cannot be read."""
    file = folder / FILE_NAME
    text = private_file.read(file)
    try:
        return {} if text is None else decode_json(text, Saved)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Without its text, which may hold a secret.
        raise DataFolderError(
            f"{file} is damaged. Delete it, and enter the options of tunnels again.", folder
        ) from None


def save(folder: Path, saved: Mapping[str, Mapping[str, str]]) -> None:
    """DataFolderError when that fails, and the old file stays."""
    private_file.save(folder / FILE_NAME, saved)
