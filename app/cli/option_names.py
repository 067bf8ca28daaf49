"""Names what is wrong by the option or argument that the user typed: rules call it by its label in the window."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence

from app.cli.field_options import PREFIX

_LABEL = re.compile(r"(?!The )[A-Z][A-Za-z ]{0,40}?(?P<rest> (?:must|can|cannot|needs|is required)\b| '|: )")
_SAME = {"url": "forward_url", "forward_url": "url"}
"""A target's URL is its endpoint's forward URL."""


def names_of(parser: argparse.ArgumentParser) -> dict[str, str]:
    """The options, and the words that stand for arguments, by the names of their values."""
    names: dict[str, str] = {}
    for action in parser._actions:
        if action.nargs != 0:
            names.setdefault(action.dest, action.option_strings[-1] if action.option_strings else str(action.metavar))
    return names


def as_typed(field: str, message: str, names: Mapping[str, str]) -> str:
    """The message of a rule, which begins with the option that gave this field; as it is, if none did."""
    last = field.rpartition(".")[2]
    found = (names.get(one) for one in (f"{PREFIX}{field}", field, last, _SAME.get(last, ""), f"{PREFIX}{last}"))
    option = next(filter(None, found), None)
    if option is None:
        return message
    label = _LABEL.match(message)
    return f"{option}{message[label.start('rest') :]}" if label else f"{option}: {message}"


def all_as_typed(problems: Sequence[tuple[str, str]], names: Mapping[str, str]) -> str:
    """The messages of several fields in one line."""
    return " ".join(as_typed(field, message, names) for field, message in problems)
