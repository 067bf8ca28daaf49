"""Checks of the data folder for `hookline doctor`: the folder, its disk, settings and token.

Nothing is created or changed. Each function takes the folder.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path

from app.core.doctor import Finding, ok, problem, warning
from app.core.errors import DataFolderError
from app.core.settings import Settings
from app.core.text import size_text
from app.data_folder.private_files import SETTINGS_NAME, TOKEN_NAME, load_settings
from app.data_folder.reserve_file import reserve_size


def check_folder(folder: Path) -> Finding:
    """Whether Hookline can use the folder, and nobody else."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        advice = "It is created at the first start. If you expected data, check --data-dir and HOOKLINE_DATA_DIR."
        return warning(f"{folder} does not exist.", advice)
    except NotADirectoryError:
        return _file(next(filter(os.path.isfile, folder.parents)))
    except OSError as error:
        advice = "Check the folders above it and their permissions, or choose another with --data-dir."
        return problem(f"{folder} cannot be reached: {error.strerror}.", advice)
    if not stat.S_ISDIR(status.st_mode):
        return _file(folder)
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        advice = f"Make it yours: chmod u+rwx {folder}" if sys.platform != "win32" else "Check its permissions."
        return problem(f"{folder} cannot be read or written.", advice)
    if sys.platform != "win32":
        if status.st_uid != os.geteuid():
            advice = "Start Hookline as that user, or choose another folder with --data-dir."
            return warning(f"{folder} belongs to another user (number {status.st_uid}).", advice)
        if status.st_mode & 0o077:
            mode = f"{stat.S_IMODE(status.st_mode):03o}"
            return warning(f"Other users can open {folder} (mode {mode}).", f"chmod 700 {folder}")
    return ok(f"{folder}")


def _file(path: Path) -> Finding:
    return problem(f"{path} is a file, not a folder.", "Choose another data folder with --data-dir.")


def check_disk(folder: Path) -> Finding:
    """Whether captures have room."""
    place = next((one for one in (folder, *folder.parents) if one.is_dir()), folder)
    try:
        usage = shutil.disk_usage(place)
    except OSError as error:
        return problem(f"The disk of {place} cannot be measured: {error.strerror}.", "Check that it is there.")
    reserve = reserve_size(saved_settings(folder).disk_reserve, usage.total)
    text = f"{size_text(usage.free)} of {size_text(usage.total)} free"
    advice = "Delete requests or other files, or lower the disk reserve: hookline settings disk_reserve"
    if usage.free < reserve:
        return problem(f"{text}, less than the reserve of {size_text(reserve)}: senders get 503.", advice)
    if usage.free < 2 * reserve:
        return warning(f"{text}; senders get 503 when less than {size_text(reserve)} are left.", advice)
    return ok(f"{text} (the reserve is {size_text(reserve)})")


def check_settings(folder: Path) -> Finding:
    """Whether the settings can be read."""
    load_settings(folder)
    return ok("valid" if (folder / SETTINGS_NAME).exists() else "none saved; the defaults apply")


def check_token(folder: Path) -> Finding:
    """Whether the API's token is readable by its owner alone."""
    file = folder / TOKEN_NAME
    try:
        token, mode = file.read_text("ascii").strip(), stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        return ok("none yet; it is made at the first start")
    except (OSError, UnicodeDecodeError) as error:
        text = f"{file} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}."
        return problem(text, "Check its permissions, or delete it: the next start makes a new one.")
    if not token:
        return warning(f"{file} is empty.", "The next start makes a new token.")
    if sys.platform != "win32" and mode & 0o077:
        return warning(f"Other users can read {file} (mode {mode:03o}).", f"chmod 600 {file}")
    return ok("readable only by its owner" if sys.platform != "win32" else "readable")


def saved_settings(folder: Path) -> Settings:
    """The saved settings; the defaults where they cannot be read, which another check tells."""
    try:
        return load_settings(folder)
    except DataFolderError:
        return Settings()
