"""The question before anything is deleted or replaced."""

from __future__ import annotations

import argparse
import sys

from app.cli.errors import CliError, Exit
from app.cli.text import visible


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", default=False, help="do not ask")


def confirm_delete(options: argparse.Namespace, question: str) -> None:
    """Ask on the terminal unless `--yes` was given; CliError when the user declines, or there is no terminal."""
    confirm(options, question, "Deleting", "Nothing was deleted.")


def confirm(options: argparse.Namespace, question: str, doing: str, declined: str) -> None:
    """The same before something else; `doing` names it, `declined` says what that leaves."""
    if options.yes:
        return
    if not sys.stdin.isatty():
        raise CliError(f"{doing} asks first, and there is no terminal to ask on. Add --yes.", Exit.USAGE)
    print(f"{visible(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CliError(declined, Exit.FAILURE)
