"""The values of a program's options: what is allowed, and which are secret."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence

from app.core.errors import check_fields
from app.core.rules import FieldError
from app.core.tunnel.spec import COMMAND, AddressHeader, ProgramSpec, TunnelOption, TunnelProgram, filled

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
        message = _error(options[name], value) if name in options else _unknown(program, name)
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


def _error(option: TunnelOption, value: str) -> str | None:
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
