"""The small files of the data folder, which only their owner can read: the settings, the options of tunnels, the token
of the local API, and where the running program is.

Each is replaced in one step, also on a full disk.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from shutil import disk_usage

import msgspec

from app import __version__
from app.core.errors import DataFolderError
from app.core.settings import Settings, check, field_of, first_storage_limit
from app.data_folder.database_files import empty_for_small_file
from hookline.decoding import convert, decode_json

SETTINGS_NAME = "settings.json"
TUNNELS_NAME = "tunnels.json"
TOKEN_NAME = "api-token"
RUNTIME_NAME = "runtime.json"

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,}=*")


def load_settings(folder: Path) -> Settings:
    """The settings in `folder`, or the defaults when there is no file; DataFolderError naming key and value if one is
    invalid."""
    file, given = folder / SETTINGS_NAME, _given_settings(folder)
    for key, value in given.items():
        if key not in Settings.__struct_fields__:
            raise _bad_settings(file, f"there is no setting {key!r} (its value is {value!r})")
    # All at once, because the ports have to differ from each other, not from the defaults.
    numbers = {key: value for key, value in given.items() if isinstance(value, int) and field_of(key).low is not None}
    for broken in check(msgspec.structs.replace(Settings(), **numbers)):
        raise _bad_settings(file, f"{broken.field}: {broken.message.rstrip('.')}")
    for key, value in given.items():
        try:
            convert({key: value}, Settings)  # one at a time, so that the message can name it
        except msgspec.ValidationError as error:
            text = str(error).split(" - at ")[0]
            raise _bad_settings(file, f"{key} is {value!r}: {text}") from error
    return convert(given, Settings)


def with_storage_limit(folder: Path, settings: Settings, used: int) -> Settings:
    """The settings with a storage limit, which is chosen and saved at the first start, when the file has none yet.

    `used` is how many bytes the store takes already.
    """
    if "storage_limit" not in _given_settings(folder):
        limit = first_storage_limit(disk_usage(folder).free, used)
        settings = msgspec.structs.replace(settings, storage_limit=limit)
        with contextlib.suppress(DataFolderError):  # if it cannot be saved now, it is chosen again at the next start
            save_settings(folder, settings)
    return settings


def save_settings(folder: Path, settings: Settings) -> None:
    """DataFolderError when that fails, and the old file stays."""
    _save(folder / SETTINGS_NAME, settings)


def _given_settings(folder: Path) -> dict[str, object]:
    file = folder / SETTINGS_NAME
    text = _read(file)
    if text is None:
        return {}
    try:
        given = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _bad_settings(file, f"it is not JSON ({error})") from error
    if not isinstance(given, dict):
        raise _bad_settings(file, "it must hold one JSON object")
    return given


def _bad_settings(file: Path, what: str) -> DataFolderError:
    return DataFolderError(f"{file} cannot be used: {what}. Correct that line, or delete the file.", file.parent)


TunnelOptions = dict[str, dict[str, str]]
"""The values of options by name, by the tunnel program's id."""


def load_tunnel_options(folder: Path) -> TunnelOptions:
    """Empty when there is no file; DataFolderError if it cannot be read."""
    file = folder / TUNNELS_NAME
    text = _read(file)
    try:
        return {} if text is None else decode_json(text, TunnelOptions)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Without its text, which may hold a secret.
        raise DataFolderError(
            f"{file} is damaged. Delete it, and enter the options of tunnels again.", folder
        ) from None


def save_tunnel_options(folder: Path, saved: Mapping[str, Mapping[str, str]]) -> None:
    """DataFolderError when that fails, and the old file stays."""
    _save(folder / TUNNELS_NAME, saved)


def load_or_create_token(folder: Path) -> str:
    """The token in `folder`, made when there is none (or an empty file). DataFolderError when it cannot be used."""
    path = folder / TOKEN_NAME
    try:
        return _read_token(path) or _make_token(path)
    except OSError as error:
        raise DataFolderError(f"The API token {path} cannot be read or written: {error.strerror}.", folder) from error
    except ValueError:
        text = f"The API token {path} must be at least 16 letters and digits on one line. Delete it for a new one."
        raise DataFolderError(text, folder) from None


def _read_token(path: Path) -> str:
    """The stored token, empty when there is none; ValueError when it cannot stand in a header."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(0o600)
    if text and not _TOKEN.fullmatch(text):
        raise ValueError(text)
    return text


def _make_token(path: Path) -> str:
    import secrets  # start-up time: a token is made once

    token = secrets.token_urlsafe(32)
    _write(path, f"{token}\n".encode(), synced=True)
    return token


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


def write_runtime(folder: Path, runtime: Runtime) -> None:
    """Tell the command line where the running program is; DataFolderError when that fails."""
    file, data = folder / RUNTIME_NAME, msgspec.json.encode(runtime) + b"\n"
    try:
        _write(file, data, synced=False)
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


def has_runtime(folder: Path) -> bool:
    """Whether a program that runs on `folder`, or one that was killed, has written its runtime."""
    return (folder / RUNTIME_NAME).exists()


def read_runtime(folder: Path, pid: int | None) -> Runtime | None:
    """What process `pid`, which has `folder`, has written; None if it has not. A file that a killed program left does
    not count."""
    try:
        running = decode_json((folder / RUNTIME_NAME).read_bytes(), Runtime)
    except (OSError, msgspec.MsgspecError):
        return None
    return running if running.pid == pid else None


def has_no_window(folder: Path, pid: int | None) -> bool:
    """Whether process `pid` has written that it runs on `folder` without a window."""
    running = read_runtime(folder, pid)
    return running is not None and not running.window


def remove_runtime(folder: Path) -> None:
    """Harmless when it is gone or the folder can no longer be written."""
    with contextlib.suppress(OSError):
        (folder / RUNTIME_NAME).unlink(missing_ok=True)


def _read(file: Path) -> bytes | None:
    """None when there is no such file; DataFolderError if it cannot be read."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}. Check that it is a file that you may read."
        raise DataFolderError(message, file.parent) from error


def _save(file: Path, content: object) -> None:
    """Write JSON for people to read; DataFolderError when that fails, and the old file stays."""
    try:
        _write(file, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n", synced=True)
    except OSError as error:
        message = f"{file} cannot be written: {error.strerror}. Check its permissions."
        raise DataFolderError(message, file.parent) from error


def _write(file: Path, data: bytes, *, synced: bool) -> None:
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
