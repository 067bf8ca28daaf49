"""The options of `hookline endpoint add` and `edit`, and the endpoint fields made from them."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.cli.errors import CliError, Exit
from app.cli.field_options import add_fields, given_fields
from app.core.forward_target import full_url
from app.core.model import EndpointDraft

SECRET_VARIABLE = "HOOKLINE_AUTH_SECRET"
STDIN = Path("-")
AUTH_HELP = (
    "the credentials senders need: none, basic:USER, bearer or header:NAME. To keep the secret out of the shell's"
    f" history, it is prompted for, or read from --auth-secret-file or {SECRET_VARIABLE}"
)


OPPOSITES = {
    "forward_url": ("--no-forward-url", "remove the first target"),
    "response.body": ("--no-response-body", "send the default body, which contains the request's ID"),
    "response.headers": ("--no-response-headers", "send no headers but Hookline's own"),
}


def add_endpoint_fields(parser: argparse.ArgumentParser) -> None:
    """Add the options that `add` and `edit` share. The parser must leave out absent options."""
    groups = add_fields(parser, EndpointDraft, opposites=OPPOSITES, without=("name", "slug", "auth"))
    groups["response.body"].add_argument(
        "--response-body-file",
        type=Path,
        metavar="FILE",
        help="read the body of the response from this file (-: standard input)",
    )
    parser.add_argument("--auth", metavar="KIND", help=AUTH_HELP)
    parser.add_argument(
        "--auth-secret-file", type=Path, metavar="FILE", help="read the secret from this file (-: standard input)"
    )


def given_endpoint_fields(options: argparse.Namespace) -> dict[str, Any]:
    """The endpoint fields given on the command line; CliError when a value cannot be read."""
    fields = given_fields(options)
    if hasattr(options, "response_body_file"):
        fields.setdefault("response", {})["body"] = _text_of(options.response_body_file)
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
