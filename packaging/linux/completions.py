"""What completes `hookline` in bash, zsh and fish: written by shtab from the command line's own grammar."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import shtab

from app.cli.parser import build_parser

SHELLS = ("bash", "zsh", "fish")
ADVICE = re.compile(r"^# AUTOMATICALLY GENERATED.*\n(#.*\n)*", re.MULTILINE)
ORIGIN = "# Completion of hookline, made from its command line's grammar with shtab.\n"


def completion(shell: str, grammar: argparse.ArgumentParser | None = None) -> str:
    """The script for one of `SHELLS`, as it is to lie in the shell's folder; of Hookline's own grammar unless given."""
    parser = grammar or build_parser()
    for action in actions(parser):
        if isinstance(action, argparse._SubParsersAction):
            for shown in action._choices_actions:
                # shtab would show a command's description, which may be a paragraph.
                action.choices[shown.dest].description = shown.help
        if action.type is Path and action.nargs != 0:
            # shtab reads this attribute; every path of the command line is a folder.
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    script = shtab.complete(parser, shell)
    # shtab begins with advice on where to copy the file, which is installed already.
    return ADVICE.sub(ORIGIN, script, count=1).rstrip("\n") + "\n"


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every option and argument of the parser and of its commands, at any depth."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from actions(child)
