"""The token of the local API: whoever can read it in the data folder may call."""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path

from app.core.errors import DataFolderError

FILE_NAME = "api-token"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,}=*")


def load_or_create_token(folder: Path) -> str:
    """The token in `folder`, made when there is none (or an empty file). DataFolderError when it cannot be used."""
    path = folder / FILE_NAME
    try:
        token = _read(path)
        return token if token else _make(path)
    except OSError as error:
        raise DataFolderError(f"The API token {path} cannot be read or written: {error.strerror}.", folder) from error
    except ValueError:
        text = f"The API token {path} must be at least 16 letters and digits on one line. Delete it for a new one."
        raise DataFolderError(text, folder) from None


def _read(path: Path) -> str:
    """The stored token, empty when there is none; ValueError when it cannot stand in a header."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""
    mode = path.stat().st_mode
    if stat.S_IMODE(mode) & 0o077:
        path.chmod(0o600)
    if text and not _TOKEN.fullmatch(text):
        raise ValueError(text)
    return text


def _make(path: Path) -> str:
    """Write a new token to a temporary file, then rename it: no other process sees half a token."""
    token = secrets.token_urlsafe(32)
    temporary = path.with_name(f"{FILE_NAME}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(token + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return token
