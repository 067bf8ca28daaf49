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
EXCLUSIVE = re.compile(r"[\[(]((?:[^\[\]()]|\[[^\[\]]*\])+ \| (?:[^\[\]()]|\[[^\[\]]*\])+)[\])]")
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
    """The commands that do something, those below a noun such as `endpoint` too; not those without a description."""
    for child in _commands(parser):
        yield from list(_leaves(child)) or [child]


def _commands(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    choices = [action.choices for action in _actions(parser) if _chooses_command(action)]
    return [child for choice in choices if isinstance(choice, dict) for child in choice.values() if child.description]


def _chooses_command(action: argparse.Action) -> bool:
    return isinstance(action.choices, dict) and not action.option_strings


def _sections(parser: argparse.ArgumentParser) -> list[tuple[str, list[argparse.Action]]]:
    """The titles of the parser's groups, as its help has them, each with its options and arguments."""
    sections: list[tuple[str, list[argparse.Action]]] = []

    class Recorder(argparse.HelpFormatter):
        def start_section(self, heading: str | None) -> None:
            sections.append((heading or "", []))
            super().start_section(heading)

        def add_arguments(self, actions: Iterable[argparse.Action]) -> None:
            sections[-1][1].extend(action for action in actions if action.help != argparse.SUPPRESS)
            super().add_arguments(actions)

    usual, parser.formatter_class = parser.formatter_class, Recorder
    try:
        parser.format_help()
    finally:
        parser.formatter_class = usual
    return sections


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for _, actions in _sections(parser) for action in actions]


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in _actions(parser) if action.option_strings]


def _arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """What stands without a dash; not the choice of a command."""
    return [action for action in _actions(parser) if not (action.option_strings or _chooses_command(action))]


def _exclusive(parser: argparse.ArgumentParser) -> list[list[str]]:
    """Options that cannot be given together, as the usage shows them: `[--json | --raw]`."""
    usage = " ".join(parser.format_usage().split())
    groups = [OPTION.findall(group) for group in EXCLUSIVE.findall(usage)]
    long = {option: _name(action) for action in _options(parser) for option in action.option_strings}
    return [[long[option] for option in group] for group in groups]


def _name(action: argparse.Action) -> str:
    """An option's longest name, by which options of several commands are known to be the same."""
    return max(action.option_strings, key=len)


def _synopsis(parser: argparse.ArgumentParser) -> str:
    """How the command is typed, in one line."""
    words = [_typed(parser.prog)]
    options = _options(parser)
    words += [f"{_typed(_name(option))} {_value(option)}" for option in options if option.required]
    if any(not option.required for option in options):
        words.append(r"[\fIoption\fP]...")
    return " ".join([*words, *(_value(argument) for argument in _arguments(parser))])


def _typed(text: str) -> str:
    return rf"\fB{_escape(text)}\fP"


def _value(action: argparse.Action) -> str:
    """An argument, or what follows an option, as the help shows it; empty for a switch."""
    if action.nargs == 0:
        return ""
    name = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    if action.choices and not action.metavar:
        name = f"{{{','.join(map(str, action.choices))}}}"
    shown = {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}.get(str(action.nargs), str(name))
    return rf"\fI{_escape(shown)}\fP"


def _groups(parser: argparse.ArgumentParser) -> Iterator[str]:
    """All options of the parser, under the titles of their groups."""
    for title, actions in _sections(parser):
        shown = [action for action in actions if action.option_strings]
        if shown and title not in ROUTINE:
            yield f".SS {_sentence(title).rstrip('.')}"
        for action in shown:
            yield _entry(parser, action)


def _command(parser: argparse.ArgumentParser, known: set[str]) -> Iterator[str]:
    """A command: how it is typed, what it does, its own options, and the names of those that are described above."""
    yield f".SS {_synopsis(parser)}"
    yield _text(parser.description or "")
    options = _options(parser)
    for action in (*_arguments(parser), *(option for option in options if _name(option) not in known)):
        yield _entry(parser, action)
    for names in _exclusive(parser):
        yield f".PP\nNo more than one of {', '.join(map(_typed, names))}."
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
    tag = " ".join(filter(None, (names, _value(action))))
    text = action.help % {**vars(action), "prog": parser.prog} if action.help else ""
    return f".TP\n{tag}\n{_text(text)}"


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
