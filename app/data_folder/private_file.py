"""Small files of the data folder, which only their owner can read: replaced in one step, also on a full disk."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from app.core.errors import DataFolderError
from app.data_folder.reserve_file import empty_for_small_file


def read(file: Path) -> bytes | None:
    """None when there is no such file; DataFolderError if it cannot be read."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}. Check that it is a file that you may read."
        raise DataFolderError(message, file.parent) from error


def save(file: Path, content: object) -> None:
    """Write JSON for people to read; DataFolderError when that fails, and the old file stays."""
    try:
        write(file, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n", synced=True)
    except OSError as error:
        message = f"{file} cannot be written: {error.strerror}. Check its permissions."
        raise DataFolderError(message, file.parent) from error


def write(file: Path, data: bytes, *, synced: bool) -> None:
    """OSError when that fails, and the old file stays. What is not `synced` may be lost when the system goes down."""
    try:
        _replace(file, data, synced)
    except OSError:
        if not empty_for_small_file(file.parent):
            raise
        _replace(file, data, synced)


def _replace(file: Path, data: bytes, synced: bool) -> None:
    half = file.with_name(f"{file.name}.part")
    half.unlink(missing_ok=True)
    try:
        descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as stream:
            stream.write(data)
            if synced:
                stream.flush()
                os.fsync(descriptor)
        half.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            half.unlink()
        raise
