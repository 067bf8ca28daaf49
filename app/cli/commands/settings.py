"""`hookline settings`: list, show and change settings, except those of the window."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from app.cli.call import Call
from app.cli.command import Commands
from app.cli.errors import CliError, Exit
from app.cli.output import Column, Table
from app.core.files import tunnel_ids
from app.core.record import choices_of, nullable, types_of
from app.core.settings import Settings, field_of, override_text
from app.core.sizes import exact_size, parse_size

HELP = "list, show and change settings"
DETAILS = (
    f"{HELP}. Without KEY lists all settings, with KEY prints its value, with VALUE changes it. Write sizes as 500 MB"
    " or 20 GiB; none clears a value."
)
EXAMPLES = (
    ("List the settings", "hookline settings"),
    ("Store at most 50 GB in total", "hookline settings storage_limit 50GB"),
)
COLUMNS: tuple[Column[str], ...] = (
    Column("SETTING"),
    Column("VALUE", least=12),
    Column("MEANING", least=24, left_out=1),
)
NONE = "none"
SWITCH = {"on": True, "off": False, "true": True, "false": False, "yes": True, "no": False}


class _NewValue(argparse.Action):
    """Settings may be made before anything else."""

    def __call__(self, parser: object, options: argparse.Namespace, value: Any, option: str | None = None) -> None:
        options.value, options.creates = value, value is not None


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add("settings", HELP, DETAILS, EXAMPLES, run=settings)
    parser.add_argument("key", metavar="KEY", nargs="?", help=", ".join(Settings.__struct_fields__))
    parser.add_argument("value", metavar="VALUE", nargs="?", help="the new value", action=_NewValue)


def keys() -> list[tuple[str, str]]:
    """Every setting with its title."""
    return [(key, field_of(key).title) for key in Settings.__struct_fields__]


def values(key: str) -> list[tuple[str, str]]:
    """What a setting can be, as it is typed, if that is one of a few words."""
    words: Sequence[str] = choices_of(Settings, key)
    if types_of(Settings)[key] is bool:
        words = ("on", "off")
    elif key == "tunnel_program":
        words = tunnel_ids()
    return [(word, "") for word in (*words, *([NONE] if nullable(Settings, key) else []))]


def settings(call: Call) -> int:
    key, value = call.options.key, call.options.value
    if key is not None and key not in Settings.__struct_fields__:
        raise CliError(f"There is no setting {key!r}. See hookline settings.", Exit.USAGE)
    now = call.api.settings() if value is None else call.api.change_settings({key: parse_value(key, value)})
    if call.out.as_json:
        call.out.json(now if key is None else {key: now[key]})
    elif key is not None:
        call.out.line(text_of(key, now[key]))
        if key in now["overridden"]:
            call.out.message(_override(key, now))
    else:
        _list(call, now)
    return Exit.DONE


def _list(call: Call, now: dict[str, Any]) -> None:
    with Table(call.out, COLUMNS) as table:
        for key in Settings.__struct_fields__:
            meaning = field_of(key).help
            if key in now["overridden"]:
                meaning = f"{meaning} {_override(key, now)}"
            table.row(key, text_of(key, now[key]), meaning)


def _override(key: str, now: dict[str, Any]) -> str:
    saved = now["overridden"][key]
    return override_text(None if saved is None else text_of(key, saved))


def text_of(key: str, value: Any) -> str:
    """A value as the user types it."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "on" if value else "off"
    return exact_size(value) if field_of(key).unit == "bytes" else str(value)


def parse_value(key: str, text: str) -> Any:
    """The value of `text`; CliError when it is invalid. The API checks the bounds."""
    kind, choices, title = types_of(Settings)[key], choices_of(Settings, key), field_of(key).title
    if text == NONE and nullable(Settings, key):
        return None
    if choices:
        if text not in choices:
            *others, last = choices
            raise CliError(f"{title} is {', '.join(others)} or {last}, not {text!r}.", Exit.USAGE)
        return text
    if kind is bool:
        if text.lower() not in SWITCH:
            raise CliError(f"{title} is on or off, not {text!r}.", Exit.USAGE)
        return SWITCH[text.lower()]
    if kind is not int:
        return text
    number = parse_size(text) if field_of(key).unit == "bytes" else _whole(text)
    if number is None:
        what = "a size, such as 500 MB or 20 GiB" if field_of(key).unit == "bytes" else "a whole number"
        raise CliError(f"{title} must be {what}, not {text!r}.", Exit.USAGE)
    return number


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
