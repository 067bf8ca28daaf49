"""Types of numbers on the command line, with an error in words for each."""

from __future__ import annotations

import argparse
import math

from app.core.sizes import parse_size


def row_count(text: str) -> int:
    count = _whole(text, "1 or more")
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count} is not a valid number of rows; use 1 or more")
    return count


def whole_number(text: str) -> int:
    """Any whole number; the field it is for has its own bounds."""
    return _whole(text, "one such as 7")


def milliseconds(text: str) -> int:
    """Seconds, converted to whole milliseconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds; use one such as 0.5 or 2")
    return round(value * 1000)


def size_or_none(text: str) -> int | None:
    """Bytes, from a text such as `500 MB`; None for the word `none`."""
    if text == "none":
        return None
    size = parse_size(text)
    if size is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; use one such as 500 MB or 2 GiB, or none")
    return size


def _whole(text: str, expected: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number; use {expected}") from None
