"""The command line's grammar. A usage error is one line that says where to look."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from app import __version__
from app.cli.call import LocalCall
from app.cli.command import Commands
from app.cli.errors import CliError, Exit
from app.cli.field_options import names_of
from app.cli.options import (
    NAMES,
    START_NAMES,
    CliServices,
    add_listen,
    add_serve,
    listen_parser,
    listen_to_options,
    serve_options,
    start_parser,
    window_options,
)
from app.cli.output import Output
from app.core.links import link_to_endpoint, link_to_request, looks_like_link
from app.core.text import closest
from hookline.running import FOLDER_VARIABLE

DESCRIPTION = (
    "Catch webhooks: every request kept exactly as it was sent. Without a command, opens the window. With a link in"
    f" place of a command ({link_to_request('ID')} or {link_to_endpoint('SLUG')}), opens it in the window."
)
EPILOG = (
    "Exit codes: 0 done, 1 no (not found, not in time, not delivered, not the same), 2 usage error, 3 not possible now"
    " (such as a port in use), 130 Ctrl-C."
)
EXAMPLES = (
    ("Open the window", "hookline"),
    ("Keep the data of a project separate", "hookline --data-dir ~/project/.hookline"),
)
OTHER_NAMES = {
    "compare": ("diff",),
    "add": ("create", "new", "make"),
    "edit": ("update", "change", "set"),
    "doctor": ("check", "diagnose", "diagnostics"),
    "endpoint": ("endpoints", "hook", "hooks", "url"),
    "list": ("ls",),
    "replay": ("repeat", "rerun"),
    "requests": ("list", "ls", "search"),
    "backup": ("dump", "save", "snapshot"),
    "restore": ("load",),
    "logs": ("log",),
    "tail": ("follow", "watch", "stream"),
    "wait": ("await",),
    "retry": ("resend", "redeliver", "again"),
    "rm": ("delete", "del", "remove"),
    "serve": ("start", "run", "server"),
    "settings": ("config", "set", "get"),
    "pause": ("stop", "hold"),
    "resume": ("continue", "start"),
    "show": ("get", "cat", "view"),
    "tunnel": ("tunnels", "expose", "share", "forward"),
}
"""Common names of commands and verbs in other programs, by their names here."""
WINDOW, VERSION = "window", "version"
_MODULES = {
    "endpoint": ("endpoint",),
    "requests": ("requests", "refused"),
    "tail": ("tail", "wait"),
    "show": ("show", "mark", "rm", "clear"),
    "target": ("targets", "target"),
    "deliveries": ("deliveries", "delivery", "retry", "send-now"),
    "replay": ("replay", "replays"),
    "compare": ("compare",),
    "tunnel": ("tunnel",),
    "status": ("status", "plan", "retention"),
    "team": ("nodes", "team", "store"),
    "settings": ("settings",),
    "backup": ("backup", "restore"),
    "doctor": ("doctor", "logs", "selftest"),
    "completion": ("completion",),
    "mcp": ("mcp",),
}
"""The modules in `app/cli/commands/`, each with the commands it adds, in the order of the help."""
COMMANDS = frozenset(name for names in _MODULES.values() for name in names)


class Parser(argparse.ArgumentParser):
    """Raises CliError for usage errors; accepts no abbreviations, which a later option would make ambiguous.

    `examples` are pairs of a description and a command line. They end the help.
    """

    def __init__(self, examples: Sequence[tuple[str, str]] = (), **arguments: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **arguments})
        self.examples = examples
        self._chooses = False

    def add_subparsers(self, **arguments: Any) -> Any:
        """The commands or verbs, of which one has to follow."""
        self._chooses = True
        return super().add_subparsers(**arguments)

    def format_help(self) -> str:
        """argparse's help, followed by the examples."""
        lines = [line for text, command in self.examples for line in (f"  # {text}", f"  {command}")]
        return super().format_help() + ("\n".join(["", "examples:", *lines, ""]) if lines else "")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Raises CliError for an unknown option before the command or verb: argparse would take its value for that."""
        if self._chooses:
            self._check_options(list(args or ()))
        return super().parse_known_args(args, namespace)

    def _check_options(self, arguments: list[str]) -> None:
        while arguments and arguments[0].startswith("-") and arguments[0] != "--":
            name, equals, _ = arguments.pop(0).partition("=")
            action = self._option_string_actions.get(name)
            if action is None:
                self.fail_unrecognized([name])
            if action.nargs is None and not equals:
                del arguments[:1]

    def fail_unrecognized(self, unknown: Sequence[str]) -> NoReturn:
        """Raise CliError that names these arguments, and the option that was probably meant."""
        meant = closest(unknown[0].partition("=")[0], self._option_string_actions)
        self.fail(f"Unrecognized arguments: {' '.join(unknown)}.{f' Did you mean {meant}?' if meant else ''}")

    def error(self, message: str) -> NoReturn:
        self.fail(f"{message[:1].upper()}{message[1:]}.")

    def fail(self, text: str) -> NoReturn:
        """Raise CliError with this text and a reference to the help."""
        raise CliError(f"{text} See {self.prog} --help.", Exit.USAGE)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Suggest the command that was probably meant."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            names = {other: name for name in action.choices for other in (name, *OTHER_NAMES.get(name, ()))}
            meant = closest(value, names)
            did_you_mean = f" Did you mean {names[meant]}?" if meant else ""
            self.fail(f"Unknown {str(action.metavar).lower()} {value!r}.{did_you_mean}")
        super()._check_value(action, value)


class CommandParser(Parser):
    """The parser of a command or verb. It consumes all following arguments, so unknown ones are usage errors."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Raises CliError for unknown arguments. `names` of the options is `names_of` the innermost command."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.fail_unrecognized(unknown)
        if not self._chooses:
            options.names = names_of(self)
        return options, unknown


def build_parser(words: Collection[str] | None = None) -> argparse.ArgumentParser:
    """The parser of a command line of these words, or of any (None). What runs it is in the options: `run`, with
    the API, `run_local`, with the data folder, or `run_alone`.

    Commands that no word names have no arguments: loading their modules takes longer than most commands do.
    """
    shared = _shared_options()
    alone = [*shared.values(), start_parser()]
    parser = Parser(prog="hookline", description=DESCRIPTION, epilog=EPILOG, parents=alone, examples=EXAMPLES)
    text = "print the version"
    parser.add_argument("--version", action="version", version=f"hookline {__version__}", help=text)
    parser.set_defaults(run_local=_open_window)
    all_commands: Any = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", parser_class=CommandParser
    )
    commands = Commands(all_commands, shared)
    add_serve(commands, _serve)
    add_listen(commands, _listen)
    if words is None or (("--help" in words or "-h" in words) and COMMANDS.isdisjoint(words)):
        words = COMMANDS
    for module, names in _MODULES.items():
        if not set(names).isdisjoint(words):
            import_module(f"app.cli.commands.{module}").add_parser(commands)
        else:
            for name in names:
                all_commands.add_parser(name)
    commands.add(VERSION, text, shared=("json",), run_alone=_print_version)
    return parser


def _open_window(call: LocalCall) -> int:
    return call.services.window(window_options(call.options, call.folder))


def _serve(call: LocalCall) -> int:
    return call.services.serve(serve_options(call.options, call.folder))


def _listen(call: LocalCall) -> int:
    return call.services.listen(listen_to_options(call.options, call.folder))


def _print_version(options: argparse.Namespace, out: Output, services: CliServices) -> int:
    if out.as_json:
        out.json({"version": __version__})
    else:
        out.line(f"hookline {__version__}")
    return Exit.DONE


def _shared_options() -> dict[str, argparse.ArgumentParser]:
    """Those that several commands have, and the window; they may come before and after the command. Absent unless
    given, so that neither place overrides the other."""
    as_json = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    text = "print JSON, in the format of the local API"
    as_json.add_argument("--json", dest="as_json", action="store_true", help=text)
    folder = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    text = f"the data folder (default: {FOLDER_VARIABLE}, beside a portable program, or the system's data folder)"
    folder.add_argument("--data-dir", type=Path, metavar="FOLDER", help=text)
    return {"json": as_json, "folder": folder, "listen": listen_parser()}


def parse(arguments: list[str]) -> argparse.Namespace:
    """The given options; `link` is a text or None. CliError for usage errors; SystemExit after `--help`."""
    link, rest = _take_link(arguments)
    options = build_parser(rest).parse_args(_bind_query(rest))
    options.link = link
    options.command = options.command or WINDOW
    options.as_json = getattr(options, "as_json", False)
    options.names = getattr(options, "names", None) or names_of(listen_parser())
    _reject_misplaced(options)
    return options


def _bind_query(arguments: list[str]) -> list[str]:
    """`-q -is:read` as `-q-is:read`: argparse would take what begins with a minus sign for an option."""
    bound: list[str] = []
    for argument in arguments:
        if bound and bound[-1] == "-q" and argument.startswith("-") and "--" not in bound:
            bound[-1] += argument
        else:
            bound.append(argument)
    return bound


def _reject_misplaced(options: argparse.Namespace) -> None:
    """CliError for options that do not apply to the command, or to a link."""
    start = [_flag(name) for name in START_NAMES if hasattr(options, name)]
    listen = [_flag(name) for name in NAMES if hasattr(options, name)]
    if options.link is not None and (options.command != WINDOW or start):
        other = start[0] if start else options.command
        raise CliError(f"A link cannot be combined with {other}.", Exit.USAGE)
    if options.command != WINDOW and start:
        raise CliError(f"{start[0]} only works without a command.", Exit.USAGE)
    if options.command not in (WINDOW, "serve", "listen") and listen:
        text = f"{listen[0]} only works with hookline serve and hookline listen, or without a command."
        raise CliError(text, Exit.USAGE)
    if options.command in (WINDOW, "serve") and options.as_json:
        raise CliError("--json only works with commands that print data.", Exit.USAGE)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _take_link(arguments: list[str]) -> tuple[str | None, list[str]]:
    """The link given in place of a command, and the other arguments: argparse accepts only commands there."""
    if not any(map(looks_like_link, arguments)):
        return None, arguments
    parents = [*_shared_options().values(), start_parser()]
    link_parser = Parser(prog="hookline", add_help=False, parents=parents)
    link_parser.add_argument("word", nargs="?", default="")
    word = link_parser.parse_known_args(arguments)[0].word
    if not looks_like_link(word):
        return None, arguments
    place = arguments.index(word)
    before, after = arguments[:place], arguments[place + 1 :]
    if before[-1:] == ["--"]:  # as registered on Windows: a quote in a link must not add options
        if after:
            raise CliError(f"After -- only a link may follow, not {after[0]!r}.", Exit.USAGE)
        before.pop()
    return word, before + after
