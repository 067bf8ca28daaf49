"""`hookline endpoint`: list, make, show, change, switch and delete endpoints."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from app.cli.call import Call, Command
from app.cli.errors import CliError, Exit
from app.cli.output import DIM, GREEN, Column, Output, Table
from app.cli.text import when_text
from app.cli.views import EndpointFields, EndpointView
from app.core.rules import NAME_MAX, RETENTION_DEFAULT, RETENTION_MAX, RETENTION_MIN, slug_error
from app.core.wording import count_of

FIELDS = ("name", "slug", "description", "retention_days", "forward_url")
HELP = "list, make and change endpoints"
NAME_HELP = f"a label, 1 to {NAME_MAX} characters"
RETENTION_HELP = (
    f"whole days to keep requests, {RETENTION_MIN} to {RETENTION_MAX}; a new endpoint has {RETENTION_DEFAULT}"
)


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the noun and its verbs to the command line."""
    noun = commands.add_parser("endpoint", help=HELP, description=HELP)
    verbs = noun.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)

    def verb(name: str, run: Command, text: str, slug: bool = True) -> argparse.ArgumentParser:
        # What is not given is absent from the options, so that an edit changes nothing else.
        parser: argparse.ArgumentParser = verbs.add_parser(
            name, parents=shared, help=text, description=text, argument_default=argparse.SUPPRESS
        )
        parser.set_defaults(run=run)
        if slug:
            parser.add_argument("which", metavar="SLUG", help="the last part of the endpoint's URL")
        return parser

    verb("list", list_all, "list all endpoints", slug=False)
    add = verb("add", make, "make an endpoint and print its URL", slug=False)
    add.add_argument("name", metavar="NAME", help=NAME_HELP)
    add.add_argument("--slug", help="a slug of your own; without it one that nobody can guess is made")
    _add_fields(add)
    verb("show", show, "show one endpoint")
    edit = verb("edit", change, "change an endpoint; what is not named stays as it is")
    edit.add_argument("--name", help=NAME_HELP)
    forward = _add_fields(edit)
    forward.add_argument(
        "--no-forward-url", action="store_const", const=None, dest="forward_url", help="mirror no longer"
    )
    verb("on", switch_on, "capture requests again")
    verb("off", switch_off, "capture no more requests (senders get 503); what is stored stays")
    rm = verb("rm", remove, "delete an endpoint and all its requests")
    rm.add_argument("--yes", action="store_true", default=False, help="do not ask")


def _add_fields(parser: argparse.ArgumentParser) -> Any:
    """Add what both `add` and `edit` set; answers the group in which one option of the forward URL may be given."""
    parser.add_argument("--description", metavar="TEXT", help="what it is for")
    parser.add_argument("--retention-days", type=int, metavar="DAYS", help=RETENTION_HELP)
    forward = parser.add_mutually_exclusive_group()
    forward.add_argument("--forward-url", metavar="URL", help="mirror each request to this server")
    return forward


async def list_all(call: Call) -> int:
    """Print every endpoint."""
    endpoints = await call.api.endpoints()
    if call.out.as_json:
        call.out.json(endpoints)
        return Exit.DONE
    if not endpoints:
        call.out.note("There are no endpoints yet. Make one: hookline endpoint add NAME")
    width = max((len(endpoint["slug"]) for endpoint in endpoints), default=0)
    name = min(max((len(endpoint["name"]) for endpoint in endpoints), default=0), 24)
    table = Table(
        call.out,
        [
            Column("SLUG", width),
            Column("NAME", name),
            Column("STATE", 3),
            Column("REQUESTS", 8),
            Column("LAST REQUEST", 19),
            Column("URL", whole=True),
        ],
    )
    for endpoint in endpoints:
        state, code = ("on", GREEN) if endpoint["active"] else ("off", DIM)
        count, last = str(endpoint["request_count"]), when_text(endpoint["last_request_at"])
        codes = ("", "", code)
        table.row(endpoint["slug"], endpoint["name"], state, count, last, endpoint["url"], codes=codes)
    return Exit.DONE


async def make(call: Call) -> int:
    """Make an endpoint."""
    endpoint = await call.api.create(_given(call))
    if call.out.as_json:
        call.out.json(endpoint)
    else:
        _describe(call.out, endpoint)
    if (await call.api.status())["capture_url"] is None:
        call.out.note("Nothing is captured yet: start the program with hookline, or hookline serve.")
    return Exit.DONE


async def show(call: Call) -> int:
    """Print one endpoint."""
    return _print(call.out, await call.api.endpoint(_slug(call)))


async def change(call: Call) -> int:
    """Change what is named."""
    fields = _given(call)
    if not fields:
        raise CliError("Name what to change; hookline endpoint edit --help lists it.", Exit.USAGE)
    return _print(call.out, await call.api.change(_slug(call), fields))


async def switch_on(call: Call) -> int:
    """Capture again."""
    return _print(call.out, await call.api.change(_slug(call), {"active": True}))


async def switch_off(call: Call) -> int:
    """Stop capturing."""
    return _print(call.out, await call.api.change(_slug(call), {"active": False}))


async def remove(call: Call) -> int:
    """Delete, after asking."""
    slug = _slug(call)
    endpoint = await call.api.endpoint(slug)
    if not call.options.yes and not _agreed(endpoint):
        raise CliError("Nothing was deleted.", Exit.NO)
    await call.api.remove(slug)
    if call.out.as_json:
        call.out.json({"deleted": slug})
    else:
        call.out.line(f"Deleted {endpoint['name']} with {count_of(endpoint['request_count'], 'request')}.")
    return Exit.DONE


def _agreed(endpoint: EndpointView) -> bool:
    if not sys.stdin.isatty():
        raise CliError("Deleting asks first, and there is no terminal to ask on. Add --yes.", Exit.USAGE)
    held = count_of(endpoint["request_count"], "request")
    print(f"Delete {endpoint['name']} ({endpoint['slug']}) with {held}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _slug(call: Call) -> str:
    """The slug given; one that no endpoint can have is answered like one that none has."""
    slug: str = call.options.which
    if slug_error(slug):
        raise CliError(f"No endpoint has the slug {slug!r}. See hookline endpoint list.", Exit.NO)
    return slug


def _given(call: Call) -> EndpointFields:
    """The endpoint fields named on the command line."""
    return {field: getattr(call.options, field) for field in FIELDS if hasattr(call.options, field)}


def _print(out: Output, endpoint: EndpointView) -> int:
    if out.as_json:
        out.json(endpoint)
    else:
        _describe(out, endpoint)
    return Exit.DONE


def _describe(out: Output, endpoint: EndpointView) -> None:
    out.field("URL", endpoint["url"])
    out.field("Name", endpoint["name"])
    out.field("Slug", endpoint["slug"])
    if endpoint["description"]:
        out.field("Description", endpoint["description"])
    out.field("State", "on" if endpoint["active"] else "off (senders get 503)")
    out.field("Kept for", count_of(endpoint["retention_days"], "day"))
    out.field("Mirrored to", endpoint["forward_url"] or "-")
    last = f", last {when_text(endpoint['last_request_at'])}" if endpoint["last_request_at"] else ""
    out.field("Requests", f"{endpoint['request_count']:,}{last}")
