"""A command that is a noun with verbs, such as `hookline endpoint add`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from app.cli.call import Command

Examples = Mapping[str, Sequence[tuple[str, str]]]
"""By verb: what an example does, and its command line."""


class Noun:
    """`which` is the argument of verbs that are about one of many: its name in help texts, and its help."""

    def __init__(
        self,
        commands: Any,
        name: str,
        text: str,
        shared: list[argparse.ArgumentParser],
        *,
        details: str = "",
        examples: Examples,
        which: tuple[str, str] | None = None,
    ) -> None:
        self._shared, self._examples, self._which = shared, examples, which
        noun = commands.add_parser(name, parents=shared, help=text, description=details or text)
        self._verbs = noun.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)

    def verb(self, name: str, run: Command, text: str, *, which: bool = True) -> argparse.ArgumentParser:
        """Add a verb; with `which`, the noun's argument. Options that are not given are missing from the namespace, so
        that an edit changes nothing else."""
        parser: argparse.ArgumentParser = self._verbs.add_parser(
            name,
            parents=self._shared,
            help=text,
            description=text,
            examples=self._examples.get(name, ()),
            argument_default=argparse.SUPPRESS,
        )
        parser.set_defaults(run=run)
        if which and self._which is not None:
            metavar, help_ = self._which
            parser.add_argument("which", metavar=metavar, help=help_)
        return parser
