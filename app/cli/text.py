"""Text for a terminal: a sender's text with everything unprintable escaped, and local times."""

from __future__ import annotations

from datetime import datetime

from app.core.clock import microseconds, now_us
from app.core.text import time_text

KEPT = "\n\t"


def visible(text: str, keep: str = "") -> str:
    """`text` with control, direction and other unprintable characters as `\\x1b` or `\\u202e`, except those in
    `keep`."""
    if text.isprintable():
        return text
    return "".join(ch if ch.isprintable() or ch in keep else _escaped(ord(ch)) for ch in text)


def _escaped(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def local_seconds(at_us: int) -> str:
    """`2026-11-20 09:00:00` in the local time zone."""
    return time_text(at_us, None)[:19]


def seconds_text(seconds: float) -> str:
    """`1 second`, `0.5 seconds`."""
    return "1 second" if seconds == 1 else f"{seconds:g} seconds"


def when_text(moment: datetime | None) -> str:
    """A time as local date and time, to the second; `-` for never."""
    return "-" if moment is None else local_seconds(microseconds(moment))


def brief_time(local: str) -> str:
    """A shorter `local_seconds`: `09:00:00` for today, `11-20 09:00` for other days."""
    date, _, time = local.partition(" ")
    return time if date == local_seconds(now_us())[:10] else f"{date[5:]} {time[:5]}"


def state_text(state: str) -> str:
    """A delivery's state in words: `failed`, `not sent`."""
    return state.replace("_", " ")
