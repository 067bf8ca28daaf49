"""`hookline completion`: the script with which a shell completes hookline's command lines; and `hookline --complete`,
which it calls at each Tab: fast, and silent on every error. So the script needs no update.

That is called as `hookline --complete LINE WORD`: the command line up to the cursor, quoted as for a POSIX shell, and
the part of its last word that the shell replaces (bash: what follows a `=` or `:`). It prints candidates, each with a
tab and a description, or `:file` or `:folder` where the shell completes a path itself.
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from app.cli.command import Commands
from app.cli.errors import Exit
from app.cli.identifiers import LAST
from app.cli.options import CliServices, absolute_path, default_folder
from app.cli.output import Output, visible
from app.cli.parser import COMMANDS, build_parser
from app.core.errors import HooklineError
from app.core.files import resource
from app.core.ids import BEGINNING_MIN
from hookline.running import find_running

HELP = "print the script that completes hookline's commands in a shell"
DETAILS = (
    f"{HELP}: commands, options, settings, slugs, IDs, files. The packages for Linux install it for bash, zsh and fish."
)
EXAMPLES = (
    ("bash: add this line to ~/.bashrc", 'eval "$(hookline completion bash)"'),
    ("zsh: add this line to ~/.zshrc, after compinit", 'eval "$(hookline completion zsh)"'),
    ("fish: save it once", "hookline completion fish > ~/.config/fish/completions/hookline.fish"),
    ("PowerShell: add this line to $PROFILE", "hookline completion powershell | Out-String | Invoke-Expression"),
)
SCRIPTS = {"bash": "hookline.bash", "zsh": "hookline.zsh", "fish": "hookline.fish", "powershell": "hookline.ps1"}
"""Files in `resources/completion/`, by shell."""


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add("completion", HELP, DETAILS, EXAMPLES, run_alone=write_script)
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SCRIPTS), help=", ".join(SCRIPTS))


def write_script(options: argparse.Namespace, out: Output, services: CliServices) -> int:
    script = script_of(options.shell)
    if out.as_json:
        out.json({"script": script})
    else:
        out.out.write(script)
    return Exit.DONE


def script_of(shell: str) -> str:
    return resource(f"completion/{SCRIPTS[shell]}").read_text("utf-8")


FILE, FOLDER = ":file", ":folder"
MEANING_MAX = 60
SHOWN_MAX = 50
"""IDs that are offered."""
TIMEOUT_S = 1.0
"""How long the running program may take, while the user waits for the shell."""
PATHS = {
    "SLUG": "/endpoints",
    "TARGET": "/endpoints",
    "ID": "/requests",
    "DELIVERY": "/deliveries",
    "REPLAY": "/replays",
}
"""What is asked, by what an argument is."""
STORES = "FROM", "TO"
"""Data folders, or addresses."""
LASTS = {"ID": "the newest request", "DELIVERY": "the delivery queued last", "REPLAY": "the replay started last"}
Names = Iterable[tuple[str, str]]
"""Candidates, each with a description."""


def complete(arguments: Sequence[str], services: CliServices) -> None:
    with contextlib.suppress(HooklineError, LookupError, OSError, RuntimeError, ValueError):
        line, replaced = (*arguments, "", "")[:2]
        _, *before, word = _words(line)
        # Without a command all modules are loaded, for their help.
        read = _Line(build_parser(None if COMMANDS.isdisjoint(before) else before))
        for one in before:
            read.read(one)
        typed = read.typed(word)
        shown = len(word) - len(replaced) if replaced and word.endswith(replaced) else 0
        out = Output().out
        for name, meaning in _candidates(typed, services):
            if name in (FILE, FOLDER):
                print(name, file=out)
            elif (candidate := typed.head + name).lower().startswith(word.lower()):
                print(candidate[shown:], visible(meaning)[:MEANING_MAX], sep="\t", file=out)


def _words(line: str) -> list[str]:
    """The words, without quotes; the last one is the one that is typed."""
    for end in ("", "'", '"'):  # it may be inside quotes
        with contextlib.suppress(ValueError):
            *before, last = shlex.split(f"{line}|{end}")
            return [*before, last.removesuffix("|")]
    raise ValueError(line)


class _Typed(NamedTuple):
    """What the word is that is typed: a value of `action`, or without one an option of `parser`.

    `head` is what stands before the value in the same word, `given` what earlier words gave, by `dest`.
    """

    parser: argparse.ArgumentParser
    action: argparse.Action | None
    given: dict[str, str]
    head: str
    word: str


class _Line:
    """A command line, read word by word as argparse reads it."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parser, self._arguments = parser, _arguments(parser)
        self._given: dict[str, str] = {}
        self._waiting: argparse.Action | None = None
        """The option whose value comes next."""
        self._options = True

    def read(self, word: str) -> None:
        """ValueError where there is no such command."""
        if self._waiting is not None:
            self._given[self._waiting.dest], self._waiting = word, None
        elif self._options and word.startswith("-"):
            self._options = word != "--"
            action, head = self._option(word)
            if action is not None and action.nargs is None:
                self._given[action.dest] = word.removeprefix(head)
                self._waiting = None if head else action
        elif self._arguments:
            self._read_argument(self._arguments[0], word)

    def _read_argument(self, action: argparse.Action, word: str) -> None:
        if isinstance(action, argparse._SubParsersAction):
            if word not in action.choices:
                raise ValueError(word)
            self._parser = action.choices[word]
            self._arguments = _arguments(self._parser)
        else:
            self._given[action.dest] = word
            if action.nargs not in ("*", "+"):
                del self._arguments[0]

    def _option(self, word: str) -> tuple[argparse.Action | None, str]:
        """The option, and what stands before its value in the word: `--name=`."""
        name, equals, _ = word.partition("=")
        return self._parser._option_string_actions.get(name), f"{name}=" if equals else ""

    def typed(self, word: str) -> _Typed:
        """What a word is that follows."""
        if self._waiting is not None:
            return _Typed(self._parser, self._waiting, self._given, "", word)
        if self._options and word.startswith("-"):
            action, head = self._option(word)
            return _Typed(self._parser, action if head else None, self._given, head, word)
        return _Typed(self._parser, self._arguments[0] if self._arguments else None, self._given, "", word)


def _arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if not action.option_strings]


def _candidates(typed: _Typed, services: CliServices) -> Names:
    action, word = typed.action, typed.word.removeprefix(typed.head)
    if action is None:
        return [] if typed.head else _options(typed.parser)
    if isinstance(action, argparse._SubParsersAction):
        return [(choice.dest, choice.help or "") for choice in action._choices_actions]
    if action.choices is not None:
        return [(str(choice), "") for choice in action.choices]
    if action.type is Path or action.metavar in STORES:
        return [(FILE if action.metavar == "FILE" else FOLDER, "")]
    if action.metavar in ("KEY", "VALUE"):
        from app.cli.commands.settings import keys, values  # start-up time: only `hookline settings` needs it

        return keys() if action.metavar == "KEY" else values(typed.given["key"])
    return _stored(str(action.metavar), word.lower(), typed.given.get("data_dir"), services)


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            for option in action.option_strings[-1:]:
                yield option, (action.help or "").replace("%%", "%")


def _stored(metavar: str, word: str, given: str | None, services: CliServices) -> Names:
    """What the running program has of a kind. Without one, only the words that stand for the newest."""
    names = [(LAST, LASTS[metavar])] if metavar in LASTS else []
    if metavar not in PATHS:
        return []
    address = find_running(absolute_path(Path(given) if given else default_folder(services.portable_folder)))
    if address is None or word.startswith("@"):
        return names
    from hookline.calls import Pages  # start-up time: only where something is asked
    from hookline.errors import ApiError  # as above
    from hookline.transport import Transport  # as above

    params = {"id": word} if metavar in ("ID", "DELIVERY") and len(word) >= BEGINNING_MIN else {}
    count = SHOWN_MAX if metavar in LASTS else None
    with contextlib.suppress(ApiError), contextlib.closing(Transport(address)) as api:
        # Its JSON: the records of hookline.client take longer to load than all else here.
        asked = Pages(PATHS[metavar], dict[str, Any], params, count).first()
        for one in api.send(asked._replace(timeout_s=TIMEOUT_S)).items:
            names += _names(metavar, one)
    return names


def _names(metavar: str, one: dict[str, Any]) -> Names:
    if metavar == "SLUG":
        return [(one["slug"], one["name"])]
    if metavar == "TARGET":
        return [(str(target["id"]), f"{one['slug']} to {target['url']}") for target in one["targets"]]
    if metavar == "ID":
        return [(one["id"], f"{one['method']} {one['target']}")]
    return [(one["id"], f"{one['state']} {one['url']}" if metavar == "DELIVERY" else one["state"])]
