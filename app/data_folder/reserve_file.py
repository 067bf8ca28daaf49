"""The reserve file of the data folder, whose only purpose is to occupy disk space (`disk_reserve.py` says why).

When a write, or a start, finds no space, the file is emptied and the write is retried; once there is space again, the
file is refilled. It is a plain file because that works on every file system: on one that copies on write, a log kept at
its full size owns no free blocks, and only Linux can reserve blocks beyond the end of a file.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from app.core.sizes import GIB, KIB, MIB

FILE_NAME = "hookline.reserve"
FILE_MAX = 16 * MIB
"""Enough for the largest step of deleting, however full the disk is."""
FILE_MIN = 128 * KIB
"""Enough to start and to delete a few requests: the smallest size that the file is refilled to at a stop."""
START_MIN_FREE = 1024 * 1024
"""With less free disk space than this, a start may fail halfway."""
SMALL_DISK, SHARE = 5 * GIB, 20


def reserve_size(setting: int, total: int) -> int:
    """Bytes kept free on a disk of `total` bytes: the setting, but on a small disk 5 % of it at most."""
    return setting if total >= SMALL_DISK else min(setting, total // SHARE)


def empty_for_small_file(folder: Path) -> bool:
    """On a full disk, empty the reserve's file for a small file that has to be written; whether that freed space."""
    free = free_bytes(folder)
    return free is not None and free < START_MIN_FREE and empty_file(folder / FILE_NAME)


def disk_space(folder: Path) -> tuple[int, int] | None:
    """Total and free bytes of the disk; None when the folder cannot be reached."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return usage.total, usage.free


def free_bytes(folder: Path) -> int | None:
    usage = disk_space(folder)
    return None if usage is None else usage[1]


def fill_file(file: Path, size: int) -> bool:
    """Extend the file to `size` allocated bytes; False, and the file is unchanged, when that fails."""
    with contextlib.suppress(OSError):
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        present = os.fstat(descriptor).st_size
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, size)
            else:
                os.lseek(descriptor, present, os.SEEK_SET)
                for start in range(present, size, MIB):
                    os.write(descriptor, os.urandom(min(size - start, MIB)))  # zeros would be compressed to nothing
        except OSError:
            os.ftruncate(descriptor, present)
            raise
        finally:
            os.close(descriptor)
        return True
    return False


def empty_file(file: Path) -> bool:
    """Truncate the file to free its blocks; False when it has none. The file stays, to be refilled."""
    with contextlib.suppress(OSError):
        if file.stat().st_size:
            os.truncate(file, 0)
            return True
    return False
