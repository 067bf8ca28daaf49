"""Finds the running program: where its local API is, and the token for it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec

from hookline.decoding import decode_json

FOLDER_VARIABLE = "HOOKLINE_DATA_DIR"


class ApiAddress(NamedTuple):
    """The local API's address (`http://127.0.0.1:8788`, no path), its token, and the program's version if it is
    known."""

    url: str
    token: str
    version: str | None = None


class Running(msgspec.Struct, frozen=True):
    """The part of `runtime.json` that is needed to call the program."""

    pid: int
    api_url: str
    version: str | None = None


def usual_folder() -> Path | None:
    """The system's folder for a user's application data; None when the user's home folder is unknown."""
    import platformdirs  # start-up time: as long as all else here, where a folder is given

    try:
        return platformdirs.user_data_path("hookline", appauthor=False)
    except RuntimeError:
        return None


def find_running(folder: Path) -> ApiAddress | None:
    """The address of the program that has `folder` open; None when there is none, or its process has ended.

    OSError or ValueError when the files that tell cannot be read.
    """
    try:
        running = decode_json((folder / "runtime.json").read_bytes(), Running)
        token = (folder / "api-token").read_text("ascii").strip()
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    usable = _is_own_process(running.pid) and _is_local(running.api_url)
    return ApiAddress(running.api_url, token, running.version) if usable else None


def _is_local(url: str) -> bool:
    """Whether the token may be sent there: to a port of this machine."""
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d{1,5})", url, re.ASCII)
    return found is not None and int(found[1]) < 2**16


def _is_own_process(pid: int) -> bool:
    """Whether a process of this user has this id: after a crash the port, and the token, might go to someone else."""
    if sys.platform == "win32":
        return True  # signal 0 would end the process there; that the port responds has to do
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError, OverflowError):
        return False
    return True
