"""How a command is added to the command line: alone, or as a noun with verbs, such as `hookline endpoint add`; and the
types of its arguments, with an error in words for each, and what is in the files that they name."""

from __future__ import annotations

import argparse
import math
import os.path
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.cli.errors import CliError, Exit
from app.core.clock import now_us, rfc3339
from app.core.sizes import parse_size

Examples = Sequence[tuple[str, str]]
"""What an example does, and its command line."""
USUAL = ("json", "folder")
"""The shared options of most commands."""
ROWS = 50


class Commands:
    """Where commands are added, or verbs. `shared` are the options that several have, by a name."""

    def __init__(self, commands: Any, shared: Mapping[str, argparse.ArgumentParser]) -> None:
        self._commands, self._shared = commands, shared

    def add(
        self,
        name: str,
        text: str,
        details: str = "",
        examples: Examples = (),
        *,
        shared: Sequence[str] = USUAL,
        only_given: bool = False,
        **defaults: Any,
    ) -> argparse.ArgumentParser:
        """Add a command. `text` is its help in the list of commands, and in its own unless that has `details`. With
        `only_given`, options that are not given are missing from the namespace. `defaults` are there: what runs it."""
        parents = [self._shared[one] for one in shared]
        absent = {"argument_default": argparse.SUPPRESS} if only_given else {}
        parser: argparse.ArgumentParser = self._commands.add_parser(
            name, parents=parents, help=text, description=details or text, examples=examples, **absent
        )
        parser.set_defaults(**defaults)
        return parser

    def noun(
        self,
        name: str,
        text: str,
        details: str = "",
        *,
        examples: Mapping[str, Examples],
        which: tuple[str, str] | None = None,
        shared: Sequence[str] = USUAL,
    ) -> Callable[..., argparse.ArgumentParser]:
        """Add a noun, with examples by verb; returns what adds a verb to it. `which` is the argument of verbs that are
        about one of many: its name in help texts, and its help."""
        named: Any = self.add(name, text, details, shared=shared)
        verbs = Commands(named.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True), self._shared)

        def verb(
            name: str,
            run: Callable[[Any], int],
            text: str,
            details: str = "",
            *,
            of_one: bool = which is not None,
            local: bool = False,
        ) -> argparse.ArgumentParser:
            """A verb `of_one` has the noun's argument, and a `local` one gets a LocalCall. Options that are not given
            are missing from the namespace, so that an edit changes nothing else."""
            runs: dict[str, Any] = {"run_local" if local else "run": run}
            parser = verbs.add(name, text, details, examples.get(name, ()), shared=shared, only_given=True, **runs)
            if which is not None and of_one:
                metavar, help_ = which
                parser.add_argument("which", metavar=metavar, help=help_)
            return parser

        return verb


def add_count(
    parser: argparse.ArgumentParser, text: str = "maximum number to list", default: int = ROWS, *, least: int = 1
) -> None:
    """Add the option that says how many rows are printed."""

    def rows(given: str) -> int:
        count = _whole(given, f"{least} or more")
        if count < least:
            raise argparse.ArgumentTypeError(f"{count} is not a valid number of rows; use {least} or more")
        return count

    parser.add_argument("-n", dest="count", type=rows, metavar="N", default=default, help=f"{text} ({default})")


def seconds(text: str) -> float:
    value = _number(text)
    if value is None or value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds; use one such as 0.5 or 30")
    return value


def whole_number(text: str) -> int:
    """Any whole number; the field it is for has its own bounds."""
    return _whole(text, "one such as 7")


def whole_number_between(least: int, most: int) -> Callable[[str], int]:
    """A whole number whose field has another name than the option."""

    def value(text: str) -> int:
        given = whole_number(text)
        if not least <= given <= most:
            raise argparse.ArgumentTypeError(f"{text} is out of range; use {least} to {most}")
        return given

    return value


def seconds_between(least_ms: int, most_ms: int) -> Callable[[str], int]:
    """Seconds within these bounds, converted to whole milliseconds."""

    def milliseconds(text: str) -> int:
        given = round(seconds(text) * 1000)
        if not least_ms <= given <= most_ms:
            allowed = f"{least_ms / 1000:g} to {most_ms / 1000:,g} seconds"
            raise argparse.ArgumentTypeError(f"{text} is out of range; use {allowed}")
        return given

    return milliseconds


def number(text: str) -> float:
    """Any finite number; the field it is for has its own bounds."""
    value = _number(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number; use one such as 5 or 0.5")
    return value


def share(text: str) -> float:
    """A probability, from `5%` or `0.05`."""
    value = _number(text.removesuffix("%"))
    value = value / 100 if value is not None and text.endswith("%") else value
    if value is None or not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0% to 100%; use one such as 5% or 0.05")
    return value


def scale(text: str) -> float:
    """What gaps are multiplied by, from a speed such as `2x` or `0.5`."""
    from app.core.replay import SCALE_MAX  # start-up time: few commands take one

    speed = _number(re.sub("[x×]$", "", text))
    if speed is None or speed <= 0 or 1 / speed > SCALE_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a speed; use one such as 2x or 0.5x")
    return 1 / speed


def moment(text: str) -> str:
    """RFC 3339, from a local time, a day, or how long ago."""
    from app.core.search.filters import read_moment  # start-up time: few commands take one
    from app.core.search.query import QueryError, Text  # as above

    try:
        point = read_moment(Text(characters=text, syntax=text, offsets=tuple(range(len(text))), end=len(text)))
    except QueryError as error:
        raise argparse.ArgumentTypeError(error.message.removesuffix(".")) from None
    at = point.at if point.at is not None else now_us() - (point.ago or 0)
    return rfc3339(at)


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


def _number(text: str) -> float | None:
    """None for what is no finite number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


STDIN = Path("-")


def bytes_in(file: Path, failed: str = "") -> bytes:
    """What a file has, or standard input for `-`. CliError when it cannot be read, as `failed` says."""
    try:
        return sys.stdin.buffer.read() if file == STDIN else Path(os.path.expanduser(file)).read_bytes()
    except OSError as error:
        raise CliError(f"{failed or f'{file} cannot be read'}: {error.strerror}.", Exit.ENVIRONMENT) from error


def text_in(file: Path) -> str:
    """The same as text; CliError for what is not UTF-8."""
    try:
        return bytes_in(file).decode()
    except UnicodeDecodeError as error:
        raise CliError(f"{file} is not UTF-8 text.", Exit.USAGE) from error
