"""Makes file names from requests safe on any system, and says what is no file."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from app.core.bodies.escape import HIDDEN

LENGTH_MAX = 120
"""Characters: file systems allow 255 bytes, and a character can take four."""
ENDING_MAX = 16
BYTES_MAX = 200

_NOT_IN_NAMES = re.compile(r'[<>:"|?*\x00-\x1f]')
_SPLIT = re.compile(r"[/\\]")
# Windows device names with any ending, and with superscript digits, which Windows reads as digits.
_DEVICE = re.compile(
    r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9\u00b9\u00b2\u00b3])[ ]*(?:\.|\Z)", re.IGNORECASE
)

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def kind_unless_file(path: Path) -> str | None:
    """What `path` is, such as `a pipe`; None for a regular file, or if there is nothing."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "no regular file")


def safe_name(name: str | None) -> str | None:
    """The last part of `name`, never a path, hidden, a device name or too long; None if nothing is left."""
    text = HIDDEN.sub("", _SPLIT.split(name[-2_000:])[-1]) if name else ""
    text = _NOT_IN_NAMES.sub("_", text).strip().lstrip(". ").rstrip(". ")
    text = _shortened(text)
    if not text.strip("_"):
        return None
    return f"_{text}" if _DEVICE.match(text) else text


def _shortened(text: str) -> str:
    """Keeps the file ending, if there is one."""
    stem, dot, ending = text.rpartition(".")
    if not dot or len(ending) > ENDING_MAX:
        stem, dot, ending = text, "", ""
    while stem and (len(stem) + len(ending) >= LENGTH_MAX or len(f"{stem}{ending}".encode()) >= BYTES_MAX):
        stem = stem[:-1]
    return f"{stem.rstrip('. ')}{dot}{ending}"
