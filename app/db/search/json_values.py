"""How values of a JSON body are compared: numbers as numbers, also those written as texts."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

NAMES = {True: "true", False: "false", None: "null"}
EVERY_WHOLE = 2.0**53
"""Up to here a float holds every whole number."""
_MAY_BE_NUMBER = re.compile(r"[\s_+\-.]*\d")
"""Matches the beginning of every number; most texts are ruled out by their first character."""


def as_number(value: Any) -> Decimal | None:
    """The value as a number, None if it is none. A text such as "12.50" is one: many services write amounts that
    way."""
    if isinstance(value, str) and not _MAY_BE_NUMBER.match(value):
        return None
    try:
        number = Decimal(value)
    except (InvalidOperation, ValueError):
        return None
    return number if number.is_finite() else None


def rounded(number: Decimal) -> tuple[float, bool]:
    """The nearest float, which the index can hold, and whether it equals the number."""
    near = float(number)
    if near.is_integer() and abs(near) < EVERY_WHOLE:
        return near, near == number
    return near, Decimal(repr(near)) == number
