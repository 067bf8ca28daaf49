"""The question before anything is deleted."""

from __future__ import annotations

import argparse
import sys

from app.cli.errors import CliError, Exit
from app.cli.text import visible


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", default=False, help="do not ask")


def confirm_delete(options: argparse.Namespace, question: str) -> None:
    """Ask on the terminal unless `--yes` was given; CliError when the user declines, or there is no terminal."""
    if options.yes:
        return
    if not sys.stdin.isatty():
        raise CliError("Deleting asks first, and there is no terminal to ask on. Add --yes.", Exit.USAGE)
    print(f"{visible(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CliError("Nothing was deleted.", Exit.FAILURE)
