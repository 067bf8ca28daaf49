"""What completes `hookline` in bash, zsh and fish: written by shtab from the command line's own grammar."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import shtab

from app.cli.complete import DELIVERIES, IDS, REPLAYS, SLUGS, TARGETS
from app.cli.parser import build_parser

SHELLS = ("bash", "zsh", "fish")
ADVICE = re.compile(r"^# AUTOMATICALLY GENERATED.*\n(#.*\n)*", re.MULTILINE)
BASH_STORED = r"""
# What is stored, of kind $1, that begins with $2.
_hookline_stored() {
  "${COMP_WORDS[0]/#\~/$HOME}" --complete "$1" "$2" "${COMP_WORDS[@]}" 2>/dev/null </dev/null | cut -f 1
}
_hookline_slugs() { _hookline_stored slugs "$1"; }
_hookline_ids() { _hookline_stored ids "$1"; }
_hookline_deliveries() { _hookline_stored deliveries "$1"; }
_hookline_targets() { _hookline_stored targets "$1"; }
_hookline_replays() { _hookline_stored replays "$1"; }
"""
ZSH_STORED = r"""
# What is stored, of kind $1, told as $2. By then `words` no longer holds the whole line.
_hookline_stored() {
  local -a line found
  line=("${(@Q)${(z)LBUFFER}}")
  found=("${(@f)$($line[1] --complete $1 "${(Q)PREFIX}" "${line[@]}" 2>/dev/null </dev/null)}")
  found=("${(@)found//:/\\:}")
  found=("${(@)found/$'\t'/:}")
  _describe -t "$1" "$2" found
}
_hookline_slugs() { _hookline_stored slugs endpoint }
_hookline_ids() { _hookline_stored ids request }
_hookline_deliveries() { _hookline_stored deliveries delivery }
_hookline_targets() { _hookline_stored targets target }
_hookline_replays() { _hookline_stored replays replay }
"""
FISH_STORED = """
# What is stored, of kind $argv[1].
function __hookline_stored
  set -l line (commandline -opc)
  $line[1] --complete $argv[1] (commandline -ct) $line 2>/dev/null </dev/null
end
"""
STORED = {
    metavar: {
        "bash": f"_hookline_{kind}",
        "zsh": f"_hookline_{kind}",
        "fish": f"(__hookline_stored {kind})",
        "preamble": {"bash": BASH_STORED, "zsh": ZSH_STORED, "fish": FISH_STORED},
    }
    for metavar, kind in (
        ("SLUG", SLUGS),
        ("ID", IDS),
        ("DELIVERY", DELIVERIES),
        ("TARGET", TARGETS),
        ("REPLAY", REPLAYS),
    )
}
"""What completes an argument of this name: `hookline --complete` is asked."""
SEVERAL_IDS = re.compile(r'"\(\*\):(?=.*:_hookline_(?:ids|deliveries)"$)', re.MULTILINE)
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
            # shtab reads this attribute.
            action.complete = shtab.FILE if action.metavar == "FILE" else shtab.DIRECTORY  # type: ignore[attr-defined]
        if action.metavar in STORED and not action.option_strings:
            action.complete = STORED[action.metavar]  # type: ignore[attr-defined]
    script = shtab.complete(parser, shell)
    if shell == "zsh":
        # shtab lets an argument that may be repeated be completed only once
        script = SEVERAL_IDS.sub('"*:', script)
    # shtab begins with advice on where to copy the file, which is installed already.
    return ADVICE.sub(ORIGIN, script, count=1).rstrip("\n") + "\n"


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every option and argument of the parser and of its commands, at any depth."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from actions(child)
