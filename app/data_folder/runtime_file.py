"""`runtime.json`: tells the command line where the running program is. Exists only while it runs."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from app import __version__
from app.core.errors import DataFolderError
from app.data_folder import private_file
from hookline.decoding import decode_json

FILE_NAME = "runtime.json"


class Runtime(msgspec.Struct, frozen=True):
    """The running program's process id, addresses and version; `capture_url` is None while it does not listen.

    `window` says whether it has a window, or will have one once it has started; `store` is the address of the team's
    store it uses, unless that holds a password.
    """

    pid: int
    capture_url: str | None
    api_url: str
    window: bool = False
    store: str | None = None
    version: str = __version__


def write(folder: Path, runtime: Runtime) -> None:
    """Write the file atomically, readable by its owner only; DataFolderError when that fails."""
    file, data = folder / FILE_NAME, msgspec.json.encode(runtime) + b"\n"
    try:
        private_file.write(file, data, synced=False)
    except OSError as error:
        try:
            _overwrite(file, data)
        except OSError:
            message = f"{file} cannot be written: {error.strerror}. Until it can be, commands cannot find Hookline."
            raise DataFolderError(message, folder) from error


def _overwrite(file: Path, data: bytes) -> None:
    """A file left by a killed program already has its block, where a full disk has none for another file."""
    with file.open("r+b") as old:
        old.write(data)
        old.truncate()


def is_there(folder: Path) -> bool:
    """Whether a program that runs on `folder`, or one that was killed, has written the file."""
    return (folder / FILE_NAME).exists()


def read(folder: Path, pid: int | None) -> Runtime | None:
    """What process `pid`, which has `folder`, has written; None if it has not. A file that a killed program left does
    not count."""
    try:
        running = decode_json((folder / FILE_NAME).read_bytes(), Runtime)
    except (OSError, msgspec.MsgspecError):
        return None
    return running if running.pid == pid else None


def has_no_window(folder: Path, pid: int | None) -> bool:
    """Whether process `pid` has written that it runs on `folder` without a window."""
    running = read(folder, pid)
    return running is not None and not running.window


def remove(folder: Path) -> None:
    """Delete the file; harmless when it is gone or the folder can no longer be written."""
    with contextlib.suppress(OSError):
        (folder / FILE_NAME).unlink(missing_ok=True)
