"""The options of `hookline endpoint add` and `edit`, and the endpoint fields made from them."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from app.cli.argument_types import seconds_between, size_or_none, whole_number
from app.cli.errors import CliError, Exit
from app.core.forward_target import full_url
from app.core.model import WhenFull
from app.core.rules import (
    DELAY_MAX_MS,
    RETENTION_DEFAULT,
    RETENTION_MAX,
    RETENTION_MIN,
    TIMEOUT_MAX_MS,
    TIMEOUT_MIN_MS,
    WAIT_MAX_MS,
    WAIT_MIN_MS,
)

FLAT = ("name", "slug", "description", "retention_days", "storage_limit", "when_full", "forward_url", "position")
SECRET_VARIABLE = "HOOKLINE_AUTH_SECRET"
STDIN = Path("-")
RETENTION_HELP = (
    f"how many days to keep requests, {RETENTION_MIN} to {RETENTION_MAX} (new endpoints: {RETENTION_DEFAULT})"
)
LIMIT_HELP = "how much it may store, such as 500 MB or 2 GiB, or none for no limit of its own (the default)"
WHEN_FULL_HELP = (
    "at its storage limit: delete its oldest requests, starred ones too, or stop capturing (senders get 503)"
)
AUTH_HELP = (
    "the credentials senders need: none, basic:USER, bearer or header:NAME. To keep the secret out of the shell's"
    f" history, it is prompted for, or read from --auth-secret-file or {SECRET_VARIABLE}"
)


def add_fields(parser: argparse.ArgumentParser) -> None:
    """Add the options that `add` and `edit` share. The parser must leave out absent options."""
    parser.add_argument("--description", metavar="TEXT", help="what the endpoint is for")
    parser.add_argument("--retention-days", type=whole_number, metavar="DAYS", help=RETENTION_HELP)
    parser.add_argument("--storage-limit", type=size_or_none, metavar="SIZE", help=LIMIT_HELP)
    parser.add_argument("--when-full", choices=get_args(WhenFull), help=WHEN_FULL_HELP)
    forward = parser.add_mutually_exclusive_group()
    forward.add_argument(
        "--forward-url",
        metavar="URL",
        help="forward each request to this URL, such as localhost:3000: the first target's, if there are several",
    )
    forward.add_argument(
        "--no-forward-url", action="store_const", const=None, dest="forward_url", help="remove the first target"
    )
    limits = f"{TIMEOUT_MIN_MS / 1000:g} to {TIMEOUT_MAX_MS // 1000}"
    parser.add_argument(
        "--forward-timeout",
        type=seconds_between(TIMEOUT_MIN_MS, TIMEOUT_MAX_MS),
        metavar="SECONDS",
        help=f"maximum time for one delivery, {limits} s",
    )
    _add_response(parser)
    parser.add_argument("--auth", metavar="KIND", help=AUTH_HELP)
    parser.add_argument(
        "--auth-secret-file", type=Path, metavar="FILE", help="read the secret from this file (-: standard input)"
    )


def _add_response(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--response-status", type=whole_number, metavar="STATUS", help="status of the response, 200 to 599"
    )
    headers = parser.add_mutually_exclusive_group()
    headers.add_argument(
        "--response-header",
        action="append",
        metavar="HEADER",
        dest="response_headers",
        help='header of the response, as "Name: value"; may be repeated; replaces all previous headers',
    )
    headers.add_argument(
        "--no-response-headers",
        action="store_const",
        const=[],
        dest="response_headers",
        help="send no headers but Hookline's own",
    )
    body = parser.add_mutually_exclusive_group()
    body.add_argument("--response-body", metavar="TEXT", help="body of the response")
    body.add_argument(
        "--response-body-file",
        type=Path,
        metavar="FILE",
        help="read the body of the response from this file (-: standard input)",
    )
    body.add_argument(
        "--no-response-body",
        action="store_const",
        const=None,
        dest="response_body",
        help="send the default body, which contains the request's id",
    )
    limit = f"0 to {DELAY_MAX_MS // 1000} s"
    parser.add_argument(
        "--response-delay",
        type=seconds_between(0, DELAY_MAX_MS),
        metavar="SECONDS",
        help=f"wait this long before responding, {limit}",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--response-from-target",
        action="store_const",
        const=True,
        help="respond with what the first target responds; the response above is sent only if none comes in time",
    )
    source.add_argument(
        "--no-response-from-target",
        action="store_const",
        const=False,
        dest="response_from_target",
        help="respond without waiting for a target",
    )
    limit = f"{WAIT_MIN_MS / 1000:g} to {WAIT_MAX_MS // 1000} s"
    parser.add_argument(
        "--response-wait",
        type=seconds_between(WAIT_MIN_MS, WAIT_MAX_MS),
        metavar="SECONDS",
        help=f"how long to wait for the target's response, {limit}",
    )


def given_fields(options: argparse.Namespace) -> dict[str, Any]:
    """The endpoint fields given on the command line; CliError when a value cannot be read."""
    fields: dict[str, Any] = {name: getattr(options, name) for name in FLAT if hasattr(options, name)}
    response: dict[str, Any] = {}
    if hasattr(options, "response_status"):
        response["status"] = options.response_status
    if hasattr(options, "response_headers"):
        response["headers"] = [header_of(line, "--response-header") for line in options.response_headers]
    if hasattr(options, "response_body"):
        response["body"] = options.response_body
    if hasattr(options, "response_body_file"):
        response["body"] = _text_of(options.response_body_file)
    for option, name in (
        ("response_delay", "delay_ms"),
        ("response_from_target", "from_target"),
        ("response_wait", "wait_ms"),
    ):
        if hasattr(options, option):
            response[name] = getattr(options, option)
    if response:
        fields["response"] = response
    if hasattr(options, "forward_timeout"):
        fields["forward"] = {"timeout_ms": options.forward_timeout}
    if hasattr(options, "auth") or hasattr(options, "auth_secret_file"):
        fields["auth"] = _auth(options)
    return fields


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """As they are stored."""
    if "name" in fields:
        fields = {**fields, "name": fields["name"].strip()}
    if url := fields.get("forward_url"):
        fields = {**fields, "forward_url": full_url(url)}
    return fields


def changed_fields(endpoint: Mapping[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Those of `fields` whose values differ from those of the API's JSON of an endpoint, without its slug."""
    given = _given(fields)
    return {name: value for name, value in given.items() if name != "slug" and not _has(endpoint[name], value)}


def _has(present: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return all(present[name] == value for name, value in expected.items())
    return bool(present == expected)


def header_of(line: str, option: str) -> list[str]:
    """The name and value in `Name: value`; CliError when there is no colon."""
    name, colon, value = line.partition(":")
    if not colon:
        message = f'{option} takes a name and a value, as "Retry-After: 5"; {line!r} has no colon.'
        raise CliError(message, Exit.USAGE)
    return [name.strip(), value.strip()]


def _auth(options: argparse.Namespace) -> dict[str, str]:
    if not hasattr(options, "auth"):
        raise CliError("--auth-secret-file requires --auth.", Exit.USAGE)
    kind, colon, name = options.auth.partition(":")
    if kind not in ("none", "basic", "bearer", "header"):
        raise CliError(f"--auth must be none, basic:USER, bearer or header:NAME, not {kind!r}.", Exit.USAGE)
    if kind in ("basic", "header") and not name:
        expected = "user, as basic:USER" if kind == "basic" else "header's name, as header:NAME"
        raise CliError(f"--auth {kind} needs a {expected}.", Exit.USAGE)
    if ":" in name or (colon and kind in ("none", "bearer")):
        where = f"it is prompted for, or read from --auth-secret-file or {SECRET_VARIABLE}"
        raise CliError(f"--auth must not contain the secret: {where}.", Exit.USAGE)
    return {"kind": kind, "name": name, "secret": "" if kind == "none" else _secret(options)}


def _secret(options: argparse.Namespace) -> str:
    if hasattr(options, "auth_secret_file"):
        return _text_of(options.auth_secret_file).removesuffix("\n").removesuffix("\r")
    if secret := os.environ.get(SECRET_VARIABLE):
        return secret
    if not sys.stdin.isatty():
        message = f"The secret is missing and cannot be prompted for. Use --auth-secret-file or {SECRET_VARIABLE}."
        raise CliError(message, Exit.USAGE)
    return getpass.getpass("Secret: ")


def _text_of(file: Path) -> str:
    try:
        data = sys.stdin.buffer.read() if file == STDIN else file.read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise CliError(f"{file} cannot be read: {error.strerror}.", Exit.ENVIRONMENT) from error
    except UnicodeDecodeError as error:
        raise CliError(f"{file} is not UTF-8 text.", Exit.USAGE) from error
