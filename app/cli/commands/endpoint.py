"""`hookline endpoint`: list, create, show, change, switch and delete endpoints."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.call import Call
from app.cli.command import Commands, text_in, whole_number
from app.cli.commands.target import CODES, state_text, worst_state
from app.cli.errors import CliError, Exit
from app.cli.field_options import PREFIX, add_fields, given_fields
from app.cli.identifiers import SLUG_HELP, slug_given
from app.cli.output import DIM, GREEN, RED, Column, Output, add_yes, confirm_delete, when_text
from app.core.model import EndpointDraft
from app.core.record import fields_of
from app.core.rules import NAME_MAX
from app.core.target import full_url
from app.core.text import count_of, ms_text, size_text, use_text
from app.core.tunnel import marked_url

if TYPE_CHECKING:
    from app.cli.client import Answer
    from hookline.records import Auth, Endpoint, ResponseSettings

HELP = "list, create and change endpoints"
NAME_HELP = f"a label, 1 to {NAME_MAX} characters"
POSITION_HELP = "position in the list of endpoints, counted from 1"
ENSURE_HELP = (
    "if an endpoint with that slug (without --slug: with that name) exists, change it to what is given here, leave the"
    " rest as it is, and print it"
)
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "list": (("List only the URLs", "hookline endpoint list | cut -f7"),),
    "add": (
        (
            "Create an endpoint that forwards each request to your server",
            "hookline endpoint add Stripe --forward-url http://localhost:3000",
        ),
        (
            "Create it in a script that may run more than once",
            "hookline endpoint add Stripe --slug stripe --ensure --json",
        ),
    ),
    "edit": (
        (
            "Make senders retry, to see how they do it",
            "hookline endpoint edit stripe --response-status 503",
        ),
        (
            "Capture only requests with a bearer token, read from a file",
            "hookline endpoint edit stripe --auth bearer --auth-secret-file token",
        ),
        ("Move it to the top of the list", "hookline endpoint edit stripe --position 1"),
    ),
    "rm": (("Delete an endpoint in a script", "hookline endpoint rm stripe --yes"),),
}
FIELD_NAMES = {
    **{name: field.title[0].lower() + field.title[1:] for name, field in fields_of(EndpointDraft).items()},
    "when_full": "what happens at the storage limit",
    "response": "response",
    "forward": "forward timeout",
    "auth": "credentials",
}


def url_text(endpoint: Endpoint) -> str:
    """Its URL, marked while it begins with that of a tunnel that is not up."""
    return marked_url(endpoint.url, endpoint.tunnel)


COLUMNS: tuple[Column[Endpoint], ...] = (
    Column("SLUG", lambda one: one.slug),
    Column("NAME", lambda one: one.name, least=7, left_out=1),
    Column("STATE", lambda one: "on" if one.active else "off", code=lambda one: GREEN if one.active else DIM),
    Column(
        "FORWARDING",
        lambda one: worst_state(one.targets),
        code=lambda one: CODES.get(worst_state(one.targets), RED),
        left_out=1,
        empty="-",
    ),
    Column("REQUESTS", lambda one: str(one.request_count), left_out=1),
    Column("LAST REQUEST", lambda one: when_text(one.last_request_at), left_out=3),
    Column("URL", url_text, left_out=2),
)


def add_parser(commands: Commands) -> None:
    """Add the noun and its verbs to the command line."""
    verb = commands.noun("endpoint", HELP, examples=EXAMPLES, which=("SLUG", SLUG_HELP))
    listed = verb("list", list_all, "list all endpoints", of_one=False)
    listed.add_argument("--tag", metavar="TAG", default="", help="only those with this tag")
    add = verb("add", make, "create an endpoint and print its URL", of_one=False)
    add.set_defaults(creates=True)
    add.add_argument(f"{PREFIX}name", metavar="NAME", help=NAME_HELP)
    add.add_argument(
        "--slug", dest=f"{PREFIX}slug", metavar="SLUG", help="the slug; a random one that is hard to guess if omitted"
    )
    add.add_argument("--ensure", action="store_true", default=False, help=ENSURE_HELP)
    add_endpoint_fields(add)
    verb("show", show, "show one endpoint")
    edit = verb("edit", change, "change an endpoint; options you leave out change nothing")
    edit.add_argument("--name", dest=f"{PREFIX}name", metavar="NAME", help=NAME_HELP)
    edit.add_argument("--position", dest=f"{PREFIX}position", type=whole_number, metavar="N", help=POSITION_HELP)
    add_endpoint_fields(edit)
    verb("on", lambda call: _update(call, active=True), "switch an endpoint on: requests are captured again")
    verb(
        "off",
        lambda call: _update(call, active=False),
        "switch an endpoint off: senders get 503, stored requests are kept",
    )
    add_yes(verb("rm", remove, "delete an endpoint and all its requests"))


def list_all(call: Call) -> int:
    tag = call.options.tag
    nothing = f"No endpoint has the tag {tag}." if tag else "No endpoints yet. Create one: hookline endpoint add NAME"
    call.show_list(call.api.endpoints.asked.list(tag=tag or None), COLUMNS, nothing)
    return Exit.DONE


def make(call: Call) -> int:
    """Create an endpoint, or with `--ensure` change an existing one."""
    fields = given_endpoint_fields(call.options)
    ensured = call.options.ensure
    call.show(
        (_ensured(call, fields) if ensured else call.api.answer(call.api.endpoints.asked.create(**fields))),
        _describe,
    )
    if not call.api.status().captures:
        call.out.message(
            "Hookline is not running, so nothing is captured yet. Start it with hookline, or hookline serve."
        )
    return Exit.DONE


def _ensured(call: Call, fields: dict[str, Any]) -> Answer[Endpoint]:
    """The endpoint that `fields` identify, created or changed so that it has all of them."""
    present = _present(call, fields)
    if present is None:
        try:
            return call.api.answer(call.api.endpoints.asked.create(**fields))
        except CliError:
            present = _present(call, fields)  # another may have made it in the meantime
            if present is None:
                raise
    changes = changed_fields(present.json, fields)
    slug = present.value.slug
    if not changes:
        call.out.message(f"Endpoint {slug} already exists. Nothing to change.")
        return present
    endpoint = call.api.answer(call.api.endpoints.asked.update(slug, **changes))
    changed = ", ".join(FIELD_NAMES.get(name, name) for name in changes)
    call.out.message(f"Endpoint {slug} already exists. Changed: {changed}.")
    return endpoint


def _present(call: Call, fields: dict[str, Any]) -> Answer[Endpoint] | None:
    """The endpoint with that slug, or without a slug the first with that name."""
    slug, name = fields.get("slug"), fields["name"].strip()
    for answer in call.api.answers(call.api.endpoints.asked.list()):
        if answer.value.slug == slug if slug else answer.value.name == name:
            return answer
    return None


def show(call: Call) -> int:
    return call.send(call.api.endpoints.asked.get(slug_given(call.options.which)), _describe)


def change(call: Call) -> int:
    fields = given_endpoint_fields(call.options)
    if not fields:
        raise CliError("Nothing to change. See hookline endpoint edit --help for the options.", Exit.USAGE)
    return _update(call, **fields)


def _update(call: Call, **changes: Any) -> int:
    slug = slug_given(call.options.which)
    return call.send(call.api.endpoints.asked.update(slug, **changes), _describe)


def remove(call: Call) -> int:
    slug = slug_given(call.options.which)
    endpoint = call.api.endpoints.get(slug)
    count = count_of(endpoint.request_count, "request")
    confirm_delete(call.options, f"Delete {endpoint.name} ({slug}) with {count}?")
    call.api.endpoints.delete(slug)
    return call.done({"deleted": slug}, f"Deleted {endpoint.name} with {count}.")


def _describe(out: Output, endpoint: Endpoint) -> None:
    out.field("URL", url_text(endpoint))
    out.field("Name", endpoint.name)
    out.field("Slug", endpoint.slug)
    out.field("Description", endpoint.description)
    out.field("Tags", ", ".join(endpoint.tags))
    out.field("State", "on" if endpoint.active else "off (senders get 503)")
    out.field("Kept for", count_of(endpoint.retention_days, "day"))
    if endpoint.storage_limit is not None:
        out.field("Storage", _storage(endpoint))
    out.field("Response", _response_text(endpoint.response))
    out.field("Credentials", _auth_text(endpoint.auth))
    for target in endpoint.targets:
        state = state_text(target)
        others = [] if state == "on" else [state]
        if target.queued:
            others.append(f"{target.queued:,} queued")
        if target.failures:
            others.append(f"{target.failures:,} failed in a row")
        if target.deleted:
            others.append(f"{target.deleted:,} deleted before being sent")
        out.field("Forwarded to", ", ".join([target.url, f"timeout {ms_text(target.timeout_ms)}", *others]))
    if not endpoint.targets:
        out.field("Forwarded to", "-")
    last = f", last {when_text(endpoint.last_request_at)}" if endpoint.last_request_at else ""
    out.field("Requests", f"{endpoint.request_count:,}{last}")


def _response_text(response: ResponseSettings) -> str:
    """`503, 1 header, body of 12 B, after 1.5 s`."""
    parts = [str(response.status)]
    if response.headers:
        parts.append(count_of(len(response.headers), "header"))
    if response.body is not None:
        parts.append(f"body of {size_text(len(response.body.encode()))}")
    if response.delay_ms:
        parts.append(f"after {ms_text(response.delay_ms)}")
    own = ", ".join(parts)
    if response.from_target:
        return f"the first target's; if none comes within {ms_text(response.wait_ms)}: {own}"
    return own


def _auth_text(auth: Auth) -> str:
    """The credentials that senders must send, without the secret."""
    if auth.kind == "basic":
        return f"Basic, user {auth.name}"
    if auth.kind == "header":
        return f"header {auth.name}"
    return "bearer token" if auth.kind == "bearer" else "none"


def _storage(endpoint: Endpoint) -> str:
    use = use_text(endpoint.stored_bytes, endpoint.storage_limit)
    stops = endpoint.when_full == "stop_capturing"
    if endpoint.storage_limit_reached:
        return f"{use}: {'full, senders get 503' if stops else 'full, its oldest requests are being deleted'}"
    return f"{use}, then {'senders get 503' if stops else 'its oldest requests are deleted'}"


SECRET_VARIABLE = "HOOKLINE_AUTH_SECRET"
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
        fields.setdefault("response", {})["body"] = text_in(options.response_body_file)
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
        return text_in(options.auth_secret_file).removesuffix("\n").removesuffix("\r")
    if secret := os.environ.get(SECRET_VARIABLE):
        return secret
    if not sys.stdin.isatty():
        message = f"The secret is missing and cannot be prompted for. Use --auth-secret-file or {SECRET_VARIABLE}."
        raise CliError(message, Exit.USAGE)
    return getpass.getpass("Secret: ")
