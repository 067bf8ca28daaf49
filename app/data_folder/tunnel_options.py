"""What the user has saved for tunnel programs, as a file in the data folder that only its owner can read: some of it is
secret."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from app.core.errors import DataFolderError
from app.data_folder.settings_file import write_private

FILE_NAME = "tunnels.json"

Saved = dict[str, dict[str, str]]
"""The values of options by name, by the program's id."""


def load(folder: Path) -> Saved:
    """Empty when there is no file; DataFolderError if it cannot be read."""
    file = folder / FILE_NAME
    try:
        return msgspec.json.decode(file.read_bytes(), type=Saved)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise DataFolderError(
            f"{file} cannot be read: {error.strerror}. Check that it is a file that you may read.", folder
        ) from error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Without its text, which may hold a secret.
        raise DataFolderError(
            f"{file} is damaged. Delete it, and enter the options of tunnels again.", folder
        ) from None


def save(folder: Path, saved: Mapping[str, Mapping[str, str]]) -> None:
    """DataFolderError when that fails, and the old file stays."""
    write_private(folder / FILE_NAME, msgspec.json.format(msgspec.json.encode(saved), indent=2) + b"\n")
