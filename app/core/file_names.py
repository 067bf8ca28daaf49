"""Names of files that others chose, made safe to suggest on any system."""

from __future__ import annotations

import re

from app.core.bodies.escape import HIDDEN

LENGTH_MAX = 120
"""Characters; file systems take 255 bytes, and a character may have four."""
ENDING_MAX = 16
BYTES_MAX = 200

_NOT_IN_NAMES = re.compile(r'[<>:"|?*\x00-\x1f]')
_SPLIT = re.compile(r"[/\\]")
# A device of Windows under whatever ending, also with the raised digits that it takes for digits.
_DEVICE = re.compile(
    r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9\u00b9\u00b2\u00b3])[ ]*(?:\.|\Z)", re.IGNORECASE
)


def safe_name(name: str | None) -> str | None:
    """The last part of `name` without what is a path, hidden, a device or too long; None if that is all."""
    text = HIDDEN.sub("", _SPLIT.split(name[-2_000:])[-1]) if name else ""
    text = _NOT_IN_NAMES.sub("_", text).strip().lstrip(". ").rstrip(". ")
    text = _shortened(text)
    if not text.strip("_"):
        return None
    return f"_{text}" if _DEVICE.match(text) else text


def _shortened(text: str) -> str:
    """The ending stays, as far as it is one."""
    stem, dot, ending = text.rpartition(".")
    if not dot or len(ending) > ENDING_MAX:
        stem, dot, ending = text, "", ""
    while stem and (len(stem) + len(ending) >= LENGTH_MAX or len(f"{stem}{ending}".encode()) >= BYTES_MAX):
        stem = stem[:-1]
    return f"{stem.rstrip('. ')}{dot}{ending}"
