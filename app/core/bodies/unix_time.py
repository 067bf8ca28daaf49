"""Recognises Unix times, in seconds or fractions of a second, and describes them."""

from __future__ import annotations

import re
from datetime import timedelta, tzinfo
from typing import NamedTuple

from app.core.clock import EPOCH
from app.core.text import word_set

UNITS = {10: "seconds", 13: "milliseconds", 16: "microseconds", 19: "nanoseconds"}
"""By the number of digits of a time between 2001 and 2100."""
LAST_S = 4_102_444_800
"""2100-01-01 in seconds; ten digits begin in September 2001."""
_LIKELY_S = (1_262_304_000, 2_208_988_800)
"""2010 to 2040: a number of ten digits is probably a time in this range, whatever its name."""
_NUMBER = re.compile(r"([1-9][0-9]{9}|[1-9][0-9]{12}|[1-9][0-9]{15}|[1-9][0-9]{18})(\.[0-9]{1,9})?")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


_NAMES_TIME = word_set(
    "at ts time timestamp date datetime epoch created updated modified deleted expires expired expiry expiration exp"
    " iat nbf since until start end started ended issued now when seen sent received effective canceled finished"
)
_NAMES_OTHER = word_set(
    "id ids phone tel mobile fax zip number no num sku ean gtin isbn upc barcode amount price total balance size count"
    " bytes length account iban card serial code version seq sequence hash nonce customer order user key pin"
)


class UnixTime(NamedTuple):
    """`us` are microseconds of UTC."""

    us: int
    unit: str


def unix_time(text: str, name: str = "", *, quoted: bool = False) -> UnixTime | None:
    """None if a number with this name is unlikely to be a time; `quoted`: it was sent as a string."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    unit, fraction = UNITS[len(match[1])], match[2] or ""
    us = int(match[1]) * 1_000_000 // 10 ** (len(match[1]) - 10)
    if us >= LAST_S * 1_000_000 or (fraction and unit != "seconds"):
        return None
    words = [word.lower() for word in _WORD.findall(name)]
    if not _NAMES_TIME.intersection(words):
        bare_seconds = unit == "seconds" and not fraction
        if _NAMES_OTHER.intersection(words) or (bare_seconds and quoted):
            return None
        if bare_seconds and not _LIKELY_S[0] * 1_000_000 <= us < _LIKELY_S[1] * 1_000_000:
            return None
    return UnixTime(us + int(f"{fraction[1:]:0<6}"[:6]) if fraction else us, unit)


def describe(moment: UnixTime, zone: tzinfo | None = None) -> str:
    """Three lines: the unit, the time in `zone` (default: the local one) and in UTC."""
    utc = EPOCH + timedelta(microseconds=moment.us)
    local = utc.astimezone(zone)
    digits = 19 if not moment.us % 1_000_000 else 23 if not moment.us % 1_000 else 26
    offset = f"{local:%z}"
    here, there = (f"{each:%Y-%m-%d %H:%M:%S.%f}"[:digits] for each in (local, utc))
    return f"Unix time in {moment.unit}\n{here} local time (UTC{offset[:3]}:{offset[3:5]})\n{there} UTC"
