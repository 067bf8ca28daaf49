"""Identifiers: UUIDv7 for captures and deliveries, random slugs for endpoints."""

from __future__ import annotations

import re
from random import SystemRandom, getrandbits

_HEX = re.compile(r"[0-9a-f]+")
_GROUPS = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
BEGINNING_MIN = 8
"""Minimum digits of an abbreviated id. They are its time to 65 s, so often more are needed."""

_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
SLUG_LENGTH = 24
"""36 ** 24 is just over 2 ** 124: more than the 120 random bits a secret URL needs."""


def uuid7(at_us: int) -> str:
    """A UUIDv7 (RFC 9562) whose first 60 time bits hold `at_us` exactly, so ids sort as their times do.

    The 48-bit field holds milliseconds; the 12 bits after the version hold the microseconds within (method 3, scaled
    to 4096ths of a millisecond, which keeps each microsecond apart). The remaining 62 bits are random.
    """
    ms, us = divmod(at_us, 1000)
    fraction = (us << 12) // 1000
    # Not a secret: the system's random bytes would release the GIL for another thread.
    number = (ms << 16 | 0x7000 | fraction) << 64 | (0b10 << 62) | getrandbits(62)
    text = number.to_bytes(16, "big").hex()  # a third faster than formatting a number of this size
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def first_id(at_us: int) -> str:
    """Sorts before each `uuid7` of this time or later, and after each earlier one."""
    return uuid7(max(0, at_us))[:18]


def uuid7_ms(text: str) -> int:
    """The milliseconds since 1970 in a UUIDv7."""
    return int(text[:8] + text[9:13], 16)


def uuid7_us(text: str) -> int:
    """The microseconds since 1970 in an id that `uuid7` made."""
    return uuid7_ms(text) * 1000 + -(-(int(text[15:18], 16) * 1000) >> 12)


def id_beginning(text: str) -> str | None:
    """Normalizes the beginning of a UUID, with or without hyphens; None for any other text."""
    digits = text.lower().replace("-", "")
    if not (BEGINNING_MIN <= len(digits) <= _GROUPS[-1][1] and _HEX.fullmatch(digits)):
        return None
    return "-".join(digits[first:last] for first, last in _GROUPS if first < len(digits))


def is_short_beginning(text: str) -> bool:
    """Whether this is the beginning of a UUID, and only too short to be used as one."""
    digits = text.lower().replace("-", "")
    return len(digits) < BEGINNING_MIN and _HEX.fullmatch(digits) is not None


def is_id(text: str) -> bool:
    """Whether this is a whole UUID in its usual form."""
    return len(text) == 36 and id_beginning(text) == text


def whole_id(text: str) -> str:
    """A whole UUID in its usual form; ValueError for any other text."""
    from uuid import UUID  # start-up time: it loads platform too, and few commands take an id

    return str(UUID(text))


def new_slug() -> str:
    """A slug that cannot be guessed: 24 characters of a-z and 0-9."""
    return "".join(SystemRandom().choices(_ALPHABET, k=SLUG_LENGTH))
