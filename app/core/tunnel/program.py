"""A file of the catalogue of tunnel programs (`resources/tunnels/`): how one is started, what its output means, how it
is stopped; and the values of its options: what is allowed, and which are secret."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Literal

import msgspec

from app.core.errors import check_fields
from app.core.record import Headers, Record
from app.core.rules import FieldError
from hookline.decoding import convert

_NAME = re.compile(r"\{([a-z][a-z0-9_]*)\}")


def _names_in(text: str) -> list[str]:
    return _NAME.findall(text)


def is_complete(text: str, values: Mapping[str, str]) -> bool:
    """Whether each name in `text` has a value that is not empty."""
    return all(values.get(name) for name in _names_in(text))


def filled(text: str, values: Mapping[str, str], quoted: Callable[[str], str] = str) -> str:
    """`text` with the values, each passed through `quoted`."""
    return _NAME.sub(lambda found: quoted(values.get(found[1], "")), text)


def arguments_of(
    given: Sequence[str | tuple[str, ...]], values: Mapping[str, str], words: Mapping[str, Sequence[str]]
) -> list[str]:
    """A command's arguments. One that is `{name}` alone and has `words` becomes those.

    A group is left out if a name in it has no value. The first of a group may be a condition that is no argument:
    `?name` (it has a value) or `!name` (it has none).
    """
    arguments: list[str] = []
    for one in given:
        group = (one,) if isinstance(one, str) else one
        if not isinstance(one, str):
            if group[0][:1] in ("?", "!"):
                if bool(values.get(group[0][1:])) is (group[0][0] == "!"):
                    continue
                group = group[1:]
            if not all(is_complete(text, values) for text in group):
                continue
        for text in group:
            found = _NAME.fullmatch(text)
            arguments.extend(words[found[1]] if found and found[1] in words else [filled(text, values)])
    return arguments


class TunnelOption(Record, frozen=True):
    """What the user can or must say before a program starts, such as the SSH server. `choices` () takes any text that
    matches `pattern`; a `secret` is never shown or logged. Few need an `advanced` one."""

    name: str
    label: str
    help: str = ""
    required: bool = False
    secret: bool = False
    default: str = ""
    placeholder: str = ""
    pattern: str = ""
    choices: tuple[str, ...] = ()
    advanced: bool = False


class AddressHeader(Record, frozen=True):
    """The request header that holds the client's address. `take`: which of its comma-separated values is to be
    believed."""

    name: str
    take: Literal["only", "first", "last"] = "only"


class TunnelProgram(Record, frozen=True):
    """A program that Hookline can run as a tunnel.

    `executables` are the names it may have. `fixed_url`: its URL stays the same the next time, in any case or with one
    of the options in `fixed_url_with`. `warnings` are said before it is used. `install` gives the command or sentence
    for each system (`linux`, `macos`, `windows`).
    """

    id: str
    name: str
    summary: str
    website: str
    executables: tuple[str, ...]
    install: dict[str, str]
    options: tuple[TunnelOption, ...] = ()
    address_header: AddressHeader | None = None
    fixed_url: bool = False
    fixed_url_with: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def keeps_url(self, values: Mapping[str, str]) -> bool:
        """Whether its URL is the same after another start with these values of the options."""
        return self.fixed_url or any(values.get(name, "").strip() for name in self.fixed_url_with)


class FoundProgram(Record, frozen=True):
    """A program of the catalogue on this computer. `path` is None if it is not installed; `values` are the options the
    user has saved, without secrets (`secrets_set` names those that have a value)."""

    program: TunnelProgram
    path: str | None
    values: dict[str, str]
    secrets_set: tuple[str, ...] = ()


def is_ssh(path: str) -> bool:
    """Whether a program's file is ssh itself: nothing of the service that it reaches is installed."""
    return PurePath(path).stem.lower() == "ssh"


def install_text(program: TunnelProgram) -> str:
    """The command or sentence that installs it on this system."""
    return program.install[{"darwin": "macos", "win32": "windows"}.get(sys.platform, "linux")]


SYSTEMS = ("linux", "macos", "windows")
GIVEN = ("port", "local_host", "target", "folder", "data")
"""Names that have a value in every template: the capture port, its host, both (`127.0.0.1:8787`), a folder that is
deleted when the program ends, and one that stays."""
COMMAND = "command"
"""The option of a program without executables: the user's own command line."""


class TunnelCatalogueError(ValueError):
    """An invalid file of the catalogue; the text names the file and the key."""


class RunSpec(Record, frozen=True):
    """How a program is started.

    `arguments` as `template.arguments_of` reads them. `files` are written to its folder, contents by name. `set` and
    `drop` change its environment. What names an option without a value is left out. `known_urls`: the URL, if the
    options tell it; the first one whose names all have values counts. `start_s`: how long it may take until it works.
    """

    arguments: tuple[str | tuple[str, ...], ...]
    files: dict[str, str] = {}
    set: dict[str, str] = {}
    drop: tuple[str, ...] = ()
    known_urls: tuple[str, ...] = ()
    start_s: float = 40.0


class LineRule(Record, frozen=True):
    """Which lines of output are meant: those of `stream` in which `pattern` is found, or JSON objects that have these
    values (`where`). `after`: only once a line with this text was printed."""

    stream: Literal["any", "stdout", "stderr"] = "any"
    pattern: str = ""
    where: dict[str, str] = {}
    after: str = ""


class UrlRule(LineRule, frozen=True, kw_only=True):
    """Lines that name the public URL: `url` is made from the pattern's group 1, or from the JSON value at `key`, and
    has the name `found` for it. The last such line counts; of a `fallback`, which is used only where the options leave
    no other rule, the first."""

    key: str = ""
    url: str = "{found}"
    fallback: bool = False


class FailureRule(LineRule, frozen=True, kw_only=True):
    """Lines that say what went wrong. `message` says it to the user, and what to do; `{found}` is group 1.

    `ends`: the program would go on without ever working, so it is ended. `retry`: starting it again can help.
    """

    message: str
    ends: bool = False
    retry: bool = False


class ProbeSpec(Record, frozen=True):
    """Headers that skip the program's warning page; how long to wait before the URL's name may be looked up; whether
    a program whose URL no longer works has to be started again."""

    headers: Headers = ()
    first_s: float = 1.0
    restarts: bool = False


class StopSpec(Record, frozen=True):
    """The signal that ends it, and how long it may take to clean up before it is killed."""

    signal: Literal["int", "term"] = "int"
    grace_s: float = 1.5


class ProgramSpec(Record, frozen=True):
    """A tunnel program. Without `up` it works once its URL is known; lines that match `hidden` are not shown.

    `not_hosts` are patterns of hosts in its output that are never the public URL's. `failures_like`: the id of a
    program whose failures it has too, after its own.
    """

    program: TunnelProgram
    run: RunSpec
    urls: tuple[UrlRule, ...] = ()
    not_hosts: tuple[str, ...] = ()
    up: tuple[LineRule, ...] = ()
    failures: tuple[FailureRule, ...] = ()
    failures_like: str = ""
    hidden: str = ""
    probe: ProbeSpec = ProbeSpec()
    stop: StopSpec = StopSpec()


def read_folder(folder: Path) -> dict[str, ProgramSpec]:
    """All programs in a folder of TOML files by id, which is the file name; TunnelCatalogueError."""
    specs = [read_spec(file.name, file.read_text("utf-8")) for file in sorted(folder.glob("*.toml"))]
    if not specs:
        raise TunnelCatalogueError(f"{folder} contains no tunnel programs")
    by_id = {spec.program.id: spec for spec in specs}
    for spec in specs:
        if spec.failures_like:
            if spec.failures_like not in by_id:
                raise TunnelCatalogueError(f"{spec.program.id}.toml: failures_like: no program {spec.failures_like!r}")
            failures = (*spec.failures, *by_id[spec.failures_like].failures)
            by_id[spec.program.id] = msgspec.structs.replace(spec, failures=failures)
    return by_id


def read_spec(file: str, text: str) -> ProgramSpec:
    """Raises TunnelCatalogueError for an invalid file."""
    import tomllib  # start-up time: a tunnel needs it

    try:
        fields = tomllib.loads(text)
        described = {name: fields.pop(name) for name in TunnelProgram.__struct_fields__ if name in fields}
        described["id"] = file.removesuffix(".toml")
        spec = convert({**fields, "program": described}, ProgramSpec)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise TunnelCatalogueError(f"{file}: {error}") from error
    if wrong := _error_in(spec):
        raise TunnelCatalogueError(f"{file}: {wrong}")
    return spec


def _error_in(spec: ProgramSpec) -> str | None:
    return _program_error(spec.program) or _names_error(spec) or _rules_error(spec)


def _program_error(program: TunnelProgram) -> str | None:
    options = {option.name: option for option in program.options}
    if not program.executables and COMMAND not in options:
        return f"executables: one is required, or an option {COMMAND}"
    if missing := [system for system in SYSTEMS if not program.install.get(system)]:
        return f"install.{missing[0]} is missing"
    if unknown := [name for name in program.fixed_url_with if name not in options]:
        return f"fixed_url_with: there is no option {unknown[0]}"
    for option in program.options:
        if option.name in GIVEN or option.name == "found":
            return f"options: {option.name} has a value already"
        if not _compiles(option.pattern):
            return f"options: the pattern of {option.name} is invalid"
        if option.choices and option.default and option.default not in option.choices:
            return f"options: the default of {option.name} is not one of its choices"
    return None


def _names_error(spec: ProgramSpec) -> str | None:
    run, known = spec.run, {*GIVEN, *(option.name for option in spec.program.options)}
    groups = [(one,) if isinstance(one, str) else one for one in run.arguments]
    conditions = [group[0][1:] for group in groups if group and group[0][:1] in ("?", "!")]
    texts = [*(text for group in groups for text in group), *run.files.values(), *run.set.values(), *run.known_urls]
    rules: list[LineRule] = [*spec.urls, *spec.up, *spec.failures]
    texts += [text for rule in rules for text in (rule.pattern, rule.after)]
    filled_in = [*(rule.url for rule in spec.urls), *(rule.message for rule in spec.failures)]
    texts += [text.replace("{found}", "") for text in filled_in]
    for name in (*conditions, *(name for text in texts for name in _names_in(text))):
        if name not in known:
            return f"{{{name}}} has no value"
    return None


def _rules_error(spec: ProgramSpec) -> str | None:
    if not spec.urls and not spec.run.known_urls:
        return "urls: nothing tells the public URL"
    rules: list[LineRule] = [*spec.urls, *spec.up, *spec.failures]
    if any(bool(rule.pattern) is bool(rule.where) for rule in rules):
        return "a rule needs a pattern, or where"
    for pattern in (*(rule.pattern for rule in rules), *spec.not_hosts, spec.hidden):
        if not _compiles(pattern):
            return f"pattern {pattern!r} is invalid"
    with_group = [url.pattern for url in spec.urls if url.pattern]
    with_group += [failure.pattern for failure in spec.failures if "{found}" in failure.message]
    for pattern in with_group:
        if re.compile(pattern).groups != 1:
            return f"pattern {pattern!r} needs one group"
    return "urls: where needs a key" if any(url.where and not url.key for url in spec.urls) else None


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


VALUE_MAX = 2_000
ADDRESS_HEADER = "address_header"
"""The option of a program whose header is not known to the catalogue."""
SECRET_MIN = 4
"""Shorter secrets are not looked for in the output: they would be found everywhere."""
HIDDEN = "•••"


def saved_after(program: TunnelProgram, saved: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The saved values after the user gave some; an empty text removes one. Raises InvalidFieldsError."""
    options = {option.name: option for option in program.options}
    errors = []
    for name, value in given.items():
        message = option_error(options[name], value) if name in options else _unknown(program, name)
        if message:
            errors.append(FieldError(field=name, message=message))
    check_fields(errors)
    values = {name: value for name, value in {**saved, **given}.items() if name in options}
    return {name: value.strip() for name, value in values.items() if value.strip()}


def values_to_run(spec: ProgramSpec, saved: Mapping[str, str]) -> dict[str, str]:
    """The options' values with the defaults. Raises InvalidFieldsError if the program cannot run with them."""
    program = spec.program
    values = {option.name: saved.get(option.name) or option.default for option in program.options}
    errors = [
        FieldError(field=option.name, message=f"{program.name} needs {option.name} ({option.label}).")
        for option in program.options
        if option.required and not values[option.name]
    ]
    check_fields(errors)
    return values


def command_words(program: TunnelProgram, values: Mapping[str, str]) -> list[str]:
    """The user's own command line in words; without any if the program has no such option."""
    return [filled(word, values) for word in split_command(values.get(COMMAND, ""))]


def split_command(command: str, *, windows: bool = sys.platform == "win32") -> list[str]:
    """The words of a command line as a shell reads them; on Windows a backslash is part of a path. ValueError for a
    quote without its end."""
    words = shlex.shlex(command, posix=True)
    words.whitespace_split, words.commenters = True, ""
    if windows:
        words.escape = ""
    return list(words)


def address_header_of(program: TunnelProgram, values: Mapping[str, str]) -> AddressHeader | None:
    """The header to be believed about the client's address."""
    own = values.get(ADDRESS_HEADER)
    return AddressHeader(name=own, take="last") if own else program.address_header


def shown_values(program: TunnelProgram, saved: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The saved values without the secrets, and the names of those that have a value."""
    secret = {option.name for option in program.options if option.secret}
    return (
        {name: value for name, value in saved.items() if name not in secret},
        tuple(name for name in saved if name in secret),
    )


def without_secrets(text: str, secrets: Sequence[str]) -> str:
    """`text` with each of these replaced."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def secrets_of(program: TunnelProgram, values: Mapping[str, str]) -> tuple[str, ...]:
    found = (values.get(option.name, "") for option in program.options if option.secret)
    return tuple(value for value in found if len(value) >= SECRET_MIN)


def option_error(option: TunnelOption, value: str) -> str | None:
    """Why an option cannot have this value; an empty one removes it."""
    value = value.strip()
    if not value:
        return None
    if len(value) > VALUE_MAX:
        return f"{option.label} can have at most {VALUE_MAX:,} characters, not {len(value):,}."
    if not value.isprintable():
        return f"{option.label} must be one line without control characters."
    if option.choices and value not in option.choices:
        return f"{option.label} must be one of {', '.join(option.choices)}."
    if option.pattern and not re.fullmatch(option.pattern, value):
        example = f" An example: {option.placeholder}." if option.placeholder else ""
        return f"{option.label} is not valid{'' if option.secret else f': {value!r}'}.{example}"
    if option.name == COMMAND:
        return _command_error(option, value)
    return None


def _command_error(option: TunnelOption, value: str) -> str | None:
    try:
        words = split_command(value)
    except ValueError as error:
        return f"{option.label} cannot be read: {str(error).lower()}."
    return None if words and words[0] else f"{option.label} names no program."


def _unknown(program: TunnelProgram, name: str) -> str:
    names = ", ".join(option.name for option in program.options)
    return f"{program.name} has no option {name!r}. " + (f"It has {names}." if names else "It has none.")
