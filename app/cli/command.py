"""How a command is added to the command line: alone, or as a noun with verbs, such as `hookline endpoint add`."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

Examples = Sequence[tuple[str, str]]
"""What an example does, and its command line."""


class Commands:
    """Where commands are added, or verbs; each has the options of the parsers `shared`."""

    def __init__(self, commands: Any, shared: Sequence[argparse.ArgumentParser]) -> None:
        self._commands, self._shared = commands, shared

    def add(
        self,
        name: str,
        text: str,
        details: str = "",
        examples: Examples = (),
        *,
        only_given: bool = False,
        **defaults: Any,
    ) -> argparse.ArgumentParser:
        """Add a command. `text` is its help in the list of commands, and in its own unless that has `details`. With
        `only_given`, options that are not given are missing from the namespace. `defaults` are there: what runs it."""
        absent = {"argument_default": argparse.SUPPRESS} if only_given else {}
        parser: argparse.ArgumentParser = self._commands.add_parser(
            name, parents=self._shared, help=text, description=details or text, examples=examples, **absent
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
    ) -> Noun:
        """Add a noun, with examples by verb. `which` is the argument of verbs that are about one of many: its name in
        help texts, and its help."""
        verbs: Any = self.add(name, text, details).add_subparsers(
            title="verbs", dest="verb", metavar="VERB", required=True
        )
        return Noun(Commands(verbs, self._shared), examples, which)


class Noun:
    """A command with verbs."""

    def __init__(self, verbs: Commands, examples: Mapping[str, Examples], which: tuple[str, str] | None) -> None:
        self._verbs, self._examples, self._which = verbs, examples, which

    def verb(
        self,
        name: str,
        run: Callable[[Any], Awaitable[int]],
        text: str,
        details: str = "",
        *,
        which: bool = True,
        local: bool = False,
    ) -> argparse.ArgumentParser:
        """Add a verb; with `which`, the noun's argument, and a `local` one gets a LocalCall. Options that are not given
        are missing from the namespace, so that an edit changes nothing else."""
        runs: dict[str, Any] = {"run_local" if local else "run": run}
        parser = self._verbs.add(name, text, details, self._examples.get(name, ()), only_given=True, **runs)
        if which and self._which is not None:
            metavar, help_ = self._which
            parser.add_argument("which", metavar=metavar, help=help_)
        return parser
