"""A tunnel program: its file in the catalogue (`resources/tunnels/`), which says how it is started and stopped and what
its output means; the values of its options; and the reader of its output."""

from __future__ import annotations

import codecs
import json
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from app.core.errors import check_fields
from app.core.record import Headers, Record
from app.core.rules import FieldError
from app.core.text import shortened
from hookline.decoding import convert

_NAME = re.compile(r"\{([a-z][a-z0-9_]*)\}")


def is_complete(text: str, values: Mapping[str, str]) -> bool:
    """Whether each name in `text` has a value that is not empty."""
    return all(values.get(name) for name in _NAME.findall(text))


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


COMMAND = "command"
"""The option of a program without executables: the user's own command line."""


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
    """All programs in a folder of TOML files by id, which is the file name. They are Hookline's own, and tests check
    them."""
    by_id = {spec.program.id: spec for spec in map(read_spec, sorted(folder.glob("*.toml")))}
    for spec in by_id.values():
        if spec.failures_like:
            failures = (*spec.failures, *by_id[spec.failures_like].failures)
            by_id[spec.program.id] = msgspec.structs.replace(spec, failures=failures)
    return by_id


def read_spec(file: Path) -> ProgramSpec:
    """Raises ValueError, which names the file, if it is none of a program."""
    import tomllib  # start-up time: a tunnel needs it

    try:
        fields = tomllib.loads(file.read_text("utf-8"))
        described = {name: fields.pop(name) for name in TunnelProgram.__struct_fields__ if name in fields}
        return convert({**fields, "program": {**described, "id": file.stem}}, ProgramSpec)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ValueError(f"{file.name}: {error}") from error


# -- its options ------------------------------------------------------------------------------------------------------

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


# -- its output -------------------------------------------------------------------------------------------------------

LINE_MAX = 4_096
"""Characters; the rest of a longer line is dropped."""

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[ -/]*[0-~]"
)
_BREAK = re.compile(r"\r\n|\n|\r")


def plain(text: str) -> str:
    """One line without escape sequences and control characters; tabs become spaces."""
    text = _ESCAPES.sub("", text)
    return "".join(char if char.isprintable() else " " if char.isspace() else "" for char in text).rstrip()


class LineReader:
    """Joins the pieces of one stream. A line may end with LF, CRLF or CR."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._skipping = False

    def feed(self, data: bytes, *, final: bool = False) -> list[str]:
        """The lines that `data` completes; at the end also one without a line break."""
        text = self._text + self._decoder.decode(data, final)
        held = ""
        if text.endswith("\r") and not final:  # an LF may follow
            text, held = text[:-1], "\r"
        *complete, rest = _BREAK.split(text)
        lines = [self._line(line) for line in complete]
        if final and rest:
            lines.append(self._line(rest))
            rest = ""
        if len(rest) > LINE_MAX:
            if not self._skipping:
                lines.append(rest[:LINE_MAX])
            self._skipping, rest = True, ""
        self._text = rest + held
        return [plain(line) for line in lines if line is not None]

    def _line(self, line: str) -> str | None:
        if self._skipping:
            self._skipping = False
            return None
        return line[:LINE_MAX]


URL_MAX = 500
WORDS_MAX = 160
"""Characters of what a program printed that are repeated in a sentence."""


class Failure(Record, frozen=True):
    """What went wrong, in a sentence, and what to do; also why a run of the program ended. `ends` and `retry` as in the
    catalogue."""

    message: str
    ends: bool = False
    retry: bool = False


class Reading(Record, frozen=True):
    """All that the output has said so far. `up`: the program works; `failure` is the last one."""

    url: str | None = None
    up: bool = False
    failure: Failure | None = None


def public_url(text: str, not_hosts: tuple[str, ...] = ()) -> str | None:
    """A base URL such as `https://a-b.example.com`, without a path; None for what is none, or has another host."""
    text = text.strip().rstrip(".,;")
    if "://" not in text:
        text = f"https://{text}"
    try:
        parts = urlsplit(text)
        port, host = parts.port, (parts.hostname or "").lower()
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[a-z0-9_.:-]+", host) or parts.username is not None:
        return None
    if len(text) > URL_MAX or any(re.fullmatch(pattern, host) for pattern in not_hosts):
        return None
    netloc = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{netloc}" + (f":{port}" if port is not None else "")


def known_url(spec: ProgramSpec, values: Mapping[str, str]) -> str | None:
    """The public URL if the options tell it."""
    texts = (filled(text, values) for text in spec.run.known_urls if is_complete(text, values))
    return next((url for text in texts if (url := public_url(text, spec.not_hosts))), None)


class OutputReader:
    """Reads the lines of one run of a program. `values` are those of the templates."""

    def __init__(self, spec: ProgramSpec, values: Mapping[str, str]) -> None:
        self._spec, self._values = spec, values
        self._rules = {id(rule): _Rule(rule, values) for rule in (*spec.urls, *spec.up, *spec.failures)}
        self._known = known_url(spec, values)
        usable = [rule for rule in spec.urls if self._rules[id(rule)].usable]
        self._urls = [rule for rule in usable if not rule.fallback] or usable
        self.reading = Reading(url=self._known, up=False)

    def read(self, stream: str, line: str) -> Reading:
        """All that is known after this line."""
        found = _Line(stream, line)
        matches = {key: rule.match(found) for key, rule in self._rules.items()}
        url, up, failure = self.reading.url, self.reading.up, self.reading.failure
        if self._known is None:
            rules = [rule for rule in self._urls if url is None or not rule.fallback]
            url = next((text for rule in rules if (text := self._url(rule, matches[id(rule)]))), url)
        if any(matches[id(rule)] is not None for rule in self._spec.up):
            up, failure = True, None
        elif not self._spec.up:
            up = url is not None and self._known is None
        for rule in self._spec.failures:
            text = matches[id(rule)]
            if text is not None:
                message = filled(rule.message, {**self._values, "found": shortened(text, WORDS_MAX)})
                failure = Failure(message=message, ends=rule.ends, retry=rule.retry)
                break
        self.reading = Reading(url=url, up=up, failure=failure)
        return self.reading

    def _url(self, rule: UrlRule, text: str | None) -> str | None:
        if not text:
            return None
        return public_url(filled(rule.url, {**self._values, "found": text}), self._spec.not_hosts)


class _Line:
    """A line, and the JSON object that it is."""

    def __init__(self, stream: str, text: str) -> None:
        self.stream, self.text = stream, text

    @cached_property
    def fields(self) -> dict[str, Any]:
        try:
            fields = json.loads(self.text) if self.text.startswith("{") else {}
        except (ValueError, RecursionError):
            fields = {}
        return fields if isinstance(fields, dict) else {}


class _Rule:
    """A compiled rule, which remembers whether the line it waits for was printed."""

    def __init__(self, rule: UrlRule | FailureRule | LineRule, values: Mapping[str, str]) -> None:
        self._stream, self._where = rule.stream, rule.where
        self._key = rule.key if isinstance(rule, UrlRule) else ""
        # A rule about an option that has no value matches nothing.
        self.usable = is_complete(rule.pattern, values)
        self._pattern = re.compile(filled(rule.pattern, values, re.escape)) if rule.pattern else None
        self._after = filled(rule.after, values)

    def match(self, line: _Line) -> str | None:
        """Group 1 of the pattern, or the JSON value; "" where there is none; None for no match."""
        if not self.usable or self._stream not in ("any", line.stream):
            return None
        if self._after:
            if self._after in line.text:
                self._after = ""
            return None
        if self._pattern is not None:
            found = self._pattern.search(line.text)
            return None if found is None else (found[1] or "") if self._pattern.groups else ""
        if any(line.fields.get(name) != value for name, value in self._where.items()):
            return None
        value = line.fields.get(self._key) if self._key else ""
        if isinstance(value, list):
            value = next(iter(value), None)
        return value if isinstance(value, str) else None
