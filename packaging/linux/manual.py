"""Writes the manual page hookline(1): `hookline.1.in`, with the commands and options of the command line's grammar."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import project
from app.cli.parser import build_parser

TEMPLATE = Path(__file__).with_name("hookline.1.in")
OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
ROUTINE = ("positional arguments", "options")
"""The titles that argparse gives to groups nobody has named."""


def manual_page(grammar: argparse.ArgumentParser | None = None) -> str:
    """The page in man(7) macros, of Hookline's own grammar unless given. What it hides (`SUPPRESS`) is not told."""
    parser = grammar or build_parser()
    known = {_name(option) for option in _options(parser)}
    leaves = list(_leaves(parser))
    parts = {
        "DATE": datetime.fromtimestamp(project.epoch(), UTC).date().isoformat(),
        "VERSION": project.version(),
        "HOME": project.HOME,
        "SYNOPSIS": "\n.br\n".join(_synopsis(leaf) for leaf in (parser, *leaves)),
        "OPTIONS": "\n".join(_groups(parser)),
        "COMMANDS": "\n".join(line for leaf in leaves for line in _command(leaf, known)),
        "EXAMPLES": "\n.PP\n".join(example for leaf in (parser, *leaves) for example in _examples(leaf)),
    }
    return re.sub(r"@([A-Z]+)@", lambda found: parts[found[1]], TEMPLATE.read_text("utf-8"))


def _leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The commands that do something, those below a noun such as `endpoint` too."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for shown in _shown(action._choices_actions):
                child = action.choices[shown.dest]
                yield from list(_leaves(child)) or [child]


def _shown(actions: Iterable[argparse.Action]) -> list[argparse.Action]:
    return [action for action in actions if action.help != argparse.SUPPRESS]


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in _shown(parser._actions) if action.option_strings]


def _arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """What stands without a dash; not the choice of a command."""
    return [
        action
        for action in _shown(parser._actions)
        if not (action.option_strings or isinstance(action, argparse._SubParsersAction))
    ]


def _name(action: argparse.Action) -> str:
    """An option's longest name, by which options of several commands are known to be the same."""
    return max(action.option_strings, key=len)


def _synopsis(parser: argparse.ArgumentParser) -> str:
    """How the command is typed, in one line."""
    words = [_typed(parser.prog)]
    options = _options(parser)
    words += [f"{_typed(_name(option))} {_value(parser, option)}" for option in options if option.required]
    if any(not option.required for option in options):
        words.append(r"[\fIoption\fP]...")
    return " ".join([*words, *(_value(parser, argument) for argument in _arguments(parser))])


def _typed(text: str) -> str:
    return rf"\fB{_escape(text)}\fP"


def _value(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """An argument, or what follows an option, as the help shows it; empty for a switch."""
    if action.nargs == 0:
        return ""
    formatter = parser._get_formatter()
    default = action.dest.upper() if action.option_strings else action.dest
    return rf"\fI{_escape(formatter._format_args(action, default))}\fP"


def _groups(parser: argparse.ArgumentParser) -> Iterator[str]:
    """All options of the parser, under the titles of their groups."""
    for group in parser._action_groups:
        shown = [action for action in group._group_actions if action in _options(parser)]
        if shown and group.title not in ROUTINE:
            yield f".SS {_sentence(group.title or '').rstrip('.')}"
        for action in shown:
            yield _entry(parser, action)


def _command(parser: argparse.ArgumentParser, known: set[str]) -> Iterator[str]:
    """A command: how it is typed, what it does, its own options, and the names of those that are described above."""
    yield f".SS {_synopsis(parser)}"
    yield _text(parser.description or "")
    options = _options(parser)
    for action in (*_arguments(parser), *(option for option in options if _name(option) not in known)):
        yield _entry(parser, action)
    for group in parser._mutually_exclusive_groups:
        names = [_typed(_name(option)) for option in _shown(group._group_actions)]
        if len(names) > 1:
            yield f".PP\nNo more than one of {', '.join(names)}."
    shared = [_typed(_name(option)) for option in options if _name(option) in known - {"--help"}]
    if shared:
        yield f".PP\nAlso: {', '.join(shared)}."


def _examples(parser: argparse.ArgumentParser) -> Iterator[str]:
    """What its help shows: what is done, and the command line that does it, as it is typed."""
    for text, command in getattr(parser, "examples", ()):
        yield f"{_text(text).removesuffix('.')}:\n.PP\n.RS 4\n.EX\n{_escape(command)}\n.EE\n.RE"


def _entry(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """One option or argument with its meaning."""
    names = ", ".join(_typed(name) for name in action.option_strings)
    tag = " ".join(filter(None, (names, _value(parser, action))))
    return f".TP\n{tag}\n{_text(parser._get_formatter()._expand_help(action) if action.help else '')}"


def _sentence(text: str) -> str:
    """A help text, which begins small and has no full stop, as a sentence."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) or not text else ".")


def _text(text: str) -> str:
    """Running text: options in bold, each sentence on a line of its own, as roff wants it."""
    parts = re.split(f"({OPTION.pattern})", _sentence(text))
    shown = "".join(_typed(part) if number % 2 else _plain(part) for number, part in enumerate(parts))
    lines = re.sub(r"(?<=[.!?]) (?=[A-Z])", "\n", shown)
    # A line's first point or apostrophe would make it a request to roff.
    return re.sub(r"^(?=[.'])", r"\\&", lines, flags=re.MULTILINE)


def _plain(text: str) -> str:
    return text.replace("\\", r"\e")


def _escape(text: str) -> str:
    """What is typed: its dashes are minus signs, which can be copied into a terminal."""
    return _plain(text).replace("-", r"\-")


def main() -> int:
    """Write the page to the file named, or print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="where to write it; without, it is printed")
    file: Path | None = parser.parse_args().file
    if file is None:
        sys.stdout.write(manual_page())
    else:
        file.write_text(manual_page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
