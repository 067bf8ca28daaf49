"""Command-line options of a record's fields, made from their declarations, and the fields given with them; what is
wrong with one is named by the option or argument that the user typed: rules call it by its label in the window."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from app.cli.command import number, seconds_between, size_or_none, whole_number
from app.cli.errors import CliError, Exit
from app.core.record import Field, Headers, Record, choices_of, fields_of, nullable, types_of

PREFIX = "field."
"""Begins the names of these options' values: `host` is a field of a target, and an option of `serve`."""
Group = Any  # argparse has no public name for a group
Opposite = tuple[str, str]
"""An option and its help."""


def add_fields(
    parser: argparse.ArgumentParser,
    record: type[Record],
    *,
    flags: Mapping[str, str] = {},
    opposites: Mapping[str, Opposite] = {},
    without: Collection[str] = (),
    within: str = "",
) -> Mapping[str, Group]:
    """Add an option for each declared field of `record`, but those `without`, and give their groups by the fields'
    paths. `flags` and `opposites` are options that are not named as their field is. The parser must leave out absent
    options."""
    groups: dict[str, Group] = {}
    for name, kind in types_of(record).items():
        path = f"{within}{name}"
        if path in without:
            continue
        if isinstance(kind, type) and issubclass(kind, Record):
            groups |= add_fields(parser, kind, flags=flags, opposites=opposites, without=without, within=f"{path}.")
        elif name in fields_of(record):
            group = groups[path] = parser.add_mutually_exclusive_group()
            flag = flags.get(path) or _flag(path, kind)
            _add_field(group, record, path, flag, opposites.get(path))
    return groups


def _add_field(group: Group, record: type[Record], path: str, flag: str, other: Opposite | None) -> None:
    """Add the option `flag`, and its opposite for what can be true, None or empty."""
    dest, name = f"{PREFIX}{path}", path.rpartition(".")[2]

    def add_opposite(option: str, value: Any, meaning: str) -> None:
        option, meaning = other or (option, meaning)
        group.add_argument(option, action="store_const", const=value, dest=dest, help=meaning)

    kind = types_of(record)[name]
    field, text = fields_of(record)[name], _help(record, name)
    if kind is bool:
        group.add_argument(flag, action="store_const", const=True, dest=dest, help=text)
        add_opposite(_no(flag), False, f"the opposite of {flag}")
        return
    several = kind in (Headers, tuple[str, ...])
    if several:
        text += '; as "Name: value"' if kind == Headers else ""
        text += f"; may be repeated; replaces all previous {flag}"
    group.add_argument(
        flag,
        action="append" if several else "store",
        type=_argument_type(flag, kind, field),
        choices=choices_of(record, name) or None,
        metavar=None if choices_of(record, name) else _metavar(kind, field, name),
        dest=dest,
        help=text,
    )
    if several:
        add_opposite(f"{_no(flag)}s", [], f"forget all {flag}")
    elif nullable(record, name) and field.unit != "bytes":  # a size can be `none`
        add_opposite(_no(flag), None, f"use no {flag}")


def _no(flag: str) -> str:
    return f"--no-{flag.removeprefix('--')}"


def _flag(path: str, kind: Any) -> str:
    """`--response-header` for `response.headers`: it is given once for each."""
    name = path.removesuffix("_ms").replace(".", "-").replace("_", "-")
    return f"--{name.removesuffix('s') if kind in (Headers, tuple[str, ...]) else name}"


def _help(record: type[Record], name: str) -> str:
    """`how many days to keep requests (1 to 90 days, default: 7)`."""
    field, kind = fields_of(record)[name], types_of(record)[name]
    default = next(one.default for one in _struct_fields(record) if one.name == name)
    notes = []
    if field.low is not None and field.high is not None and kind is not str:
        ms = field.unit == "ms"
        many = f"up to {field.high}" if field.item_pattern else field.bounds_text()
        notes.append(f"{field.low / 1000:g} to {field.high / 1000:,g} s" if ms else many)
        default = f"{default / 1000:g}" if ms else default
        if field.unit == "bytes" and nullable(record, name):
            notes.append("or none")
    if default is True:
        notes.append("the default")
    elif kind is not bool and isinstance(default, (str, int)) and default != "":
        notes.append(f"default: {default}")
    text = field.help[:1].lower() + field.help[1:].removesuffix(".")
    return f"{text} ({', '.join(notes)})" if notes else text


@cache
def _struct_fields(record: type[Record]) -> tuple[Any, ...]:
    from msgspec.structs import fields  # start-up time: few commands have such options

    return fields(record)


def _metavar(kind: Any, field: Field, name: str) -> str:
    if field.unit:
        return {"bytes": "SIZE", "days": "DAYS", "ms": "SECONDS", "file": "FILE"}.get(field.unit, "N")
    if kind in (Headers, tuple[str, ...]):
        return "HEADER" if kind == Headers else "NAME"
    return "TEXT" if kind is str and not name.endswith(("url", "header")) else "URL" if name.endswith("url") else "N"


def _argument_type(flag: str, kind: Any, field: Field) -> Callable[[str], Any]:
    if kind == Headers:
        return lambda line: header_of(line, flag)
    if kind is float:
        return number
    if kind is not int:
        # The program that reads a file may run in another folder.
        return (lambda text: str(Path(text).expanduser().absolute())) if field.unit == "file" else str
    if field.unit == "ms":
        return seconds_between(*field.bounds)
    return size_or_none if field.unit == "bytes" else whole_number


def header_of(line: str, option: str) -> list[str]:
    """The name and value in `Name: value`; CliError when there is no colon."""
    name, colon, value = line.partition(":")
    if not colon:
        message = f'{option} takes a name and a value, as "Retry-After: 5"; {line!r} has no colon.'
        raise CliError(message, Exit.USAGE)
    return [name.strip(), value.strip()]


def given_fields(options: argparse.Namespace) -> dict[str, Any]:
    """The fields given on the command line, as the API takes them."""
    fields: dict[str, Any] = {}
    for option, value in vars(options).items():
        if option.startswith(PREFIX):
            *within, name = option.removeprefix(PREFIX).split(".")
            record = fields
            for one in within:
                record = record.setdefault(one, {})
            record[name] = value
    return fields


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
