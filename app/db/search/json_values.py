"""How values of a JSON body are compared."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

NAMES = {True: "true", False: "false", None: "null"}
EVERY_WHOLE = 2.0**53
"""Up to here a float holds every whole number."""
_DIGIT_SOON = re.compile(r"[\s_+\-.]*\d")
"""What everything begins with that is a number; most texts are ruled out by their first character."""


def as_number(value: Any) -> Decimal | None:
    """What a value is as a number, if it is one. A text such as "12.50" is: many services write amounts so."""
    if isinstance(value, str) and not _DIGIT_SOON.match(value):
        return None
    try:
        number = Decimal(value)
    except (InvalidOperation, ValueError):
        return None
    return number if number.is_finite() else None


def rounded(number: Decimal) -> tuple[float, bool]:
    """The nearest that the index can hold, and whether that is the number itself, in as few digits as tell it apart."""
    near = float(number)
    if near.is_integer() and abs(near) < EVERY_WHOLE:
        return near, near == number
    return near, Decimal(repr(near)) == number
