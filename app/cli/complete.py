"""`hookline --complete`, which the shells' completions call while the user types: fast, and silent on every error.

It is called as `hookline --complete KIND WORD LINE...`: the kind of the word (such as `slugs`), the part of it that is
typed, and all words of the line. It prints candidates, each with a tab and a description.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from app.cli.identifiers import LAST
from app.cli.options import default_folder
from app.cli.output import Output
from app.cli.services import CliServices
from app.cli.text import visible
from app.core.errors import HooklineError

COMPLETE = "--complete"
SLUGS, IDS, DELIVERIES, TARGETS, REPLAYS = "slugs", "ids", "deliveries", "targets", "replays"
LAST_MEANS = {IDS: "the newest request", DELIVERIES: "the delivery queued last", REPLAYS: "the replay started last"}
OPTION = "--data-dir"
TARGET_MAX = 60


def complete(arguments: Sequence[str], services: CliServices) -> None:
    if len(arguments) < 2:
        return
    kind, word, *line = arguments
    with contextlib.suppress(HooklineError, OSError, RuntimeError, ValueError):
        folder = (_named_folder(line) or default_folder(services.portable_folder())).expanduser().absolute()
        names = _stored(kind, folder, word.lower(), services)
        if kind in LAST_MEANS:
            names = [(LAST, LAST_MEANS[kind]), *names]
        out = Output().out
        for name, meaning in names:
            if name.startswith(word.lower()):
                print(name, visible(meaning)[:TARGET_MAX], sep="\t", file=out)


def _stored(kind: str, folder: Path, word: str, services: CliServices) -> list[tuple[str, str]]:
    if kind == SLUGS:
        return services.stored_slugs(folder)
    if kind == TARGETS:
        return services.stored_targets(folder)
    if kind == REPLAYS:
        return services.stored_replays(folder)
    return services.stored_deliveries(folder, word) if kind == DELIVERIES else services.stored_ids(folder, word)


def _named_folder(line: Sequence[str]) -> Path | None:
    """The folder given on the line; bash passes `--data-dir=FOLDER` as three words."""
    for at, word in enumerate(line):
        if word.startswith(f"{OPTION}="):
            return Path(word.removeprefix(f"{OPTION}="))
        if word == OPTION:
            return next((Path(given) for given in line[at + 1 : at + 3] if given != "="), None)
    return None
