"""`hookline targets` and `hookline target`: list, create, show, change, switch, pause and delete targets."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Any

from app.cli.argument_types import whole_number
from app.cli.call import Call
from app.cli.commands.target_text import described, retry_text, state_code, state_text
from app.cli.confirm import add_yes, confirm_delete
from app.cli.errors import CliError, Exit
from app.cli.field_options import PREFIX, add_fields, given_fields
from app.cli.identifiers import SLUG_HELP, TARGET_HELP, slug_given, target_named
from app.cli.noun import Noun
from app.cli.output import Output
from app.cli.table import Column, Row
from app.core.fields import fields_of
from app.core.target import RETRY_ON, RetryRule, TargetDraft, is_retry_on
from app.core.text import count_of

if TYPE_CHECKING:
    from hookline.calls import Call as ApiCall
    from hookline.records import Endpoint, Target

LIST_HELP = "list the targets of an endpoint: the URLs to which its requests are forwarded"
HELP = "create and change targets"
POSITION_HELP = "position among the endpoint's targets, counted from 1; senders can get the first one's response"
LIST_EXAMPLES = (("List only the URLs", "hookline targets stripe | cut -f2"),)
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "add": (
        ("Forward each request to a second URL as well", "hookline target add stripe http://localhost:3001"),
        (
            "Forward to a server whose certificate nobody signed",
            "hookline target add stripe https://localhost:8443 --insecure",
        ),
    ),
    "edit": (
        ("Send a header that your server expects", "hookline target edit 3 --set-header 'X-Env: dev'"),
        ("Repeat also what ends with a 5xx", "hookline target edit 3 --retries 8 --retry-on connection,5xx"),
    ),
    "pause": (("Keep what comes in queued while your server is down", "hookline target pause 3"),),
}
COLUMNS = (
    Column("ID"),
    Column("URL", least=14),
    Column("STATE"),
    Column("QUEUED", left_out=2, empty="0"),
    Column("RETRIES", least=8, left_out=1),
    Column("LAST ERROR", least=12, left_out=3, empty="-"),
)


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add `hookline targets`, and the noun with its verbs, to the command line."""
    parser = commands.add_parser(
        "targets", parents=shared, help=LIST_HELP, description=LIST_HELP, examples=LIST_EXAMPLES
    )
    parser.set_defaults(run=list_targets)
    parser.add_argument("which", metavar="SLUG", help=SLUG_HELP)
    verb = Noun(commands, "target", HELP, shared, examples=EXAMPLES, which=("TARGET", TARGET_HELP)).verb
    add = verb("add", make, "add a target to an endpoint", which=False)
    add.add_argument("which", metavar="SLUG", help=SLUG_HELP)
    add.add_argument(f"{PREFIX}url", metavar="URL", help="where to forward each request")
    add_target_fields(add)
    verb("show", show, "show one target")
    edit = verb("edit", change, "change a target; options you leave out change nothing")
    edit.add_argument("--url", dest=f"{PREFIX}url", metavar="URL", help="where to forward each request")
    edit.add_argument("--position", dest=f"{PREFIX}position", type=whole_number, metavar="N", help=POSITION_HELP)
    add_target_fields(edit)
    verb("on", switch_on, "switch a target on: new requests are queued for it again")
    verb("off", switch_off, "switch a target off: nothing new is queued for it")
    verb("pause", pause, "pause a target: deliveries to it stay queued")
    verb("resume", resume, "resume a target: the queued deliveries are sent")
    add_yes(verb("rm", remove, "delete a target; deliveries queued for it are not sent"))


async def list_targets(call: Call) -> int:
    slug = slug_given(call.options.which)
    nothing = f"No targets yet. Add one: hookline target add {slug} URL"
    await call.show_list(call.api.targets.asked.list(slug), COLUMNS, _rows, nothing)
    return Exit.DONE


async def _rows(found: AsyncIterator[Target]) -> AsyncIterator[Row]:
    async for target in found:
        cells = (str(target.id), target.url, state_text(target), str(target.queued))
        yield (*cells, retry_text(target.retry), target.last_error or "-"), ("", "", state_code(target))


async def make(call: Call) -> int:
    slug = slug_given(call.options.which)
    return await _send(call, slug, call.api.targets.asked.create(slug, **given_fields(call.options)))


async def show(call: Call) -> int:
    endpoint, target = await _named(call)
    async for answer in call.api.answers(call.api.targets.asked.list(endpoint.slug)):
        if answer.value.id == target.id:
            return call.show(answer, partial(_describe, endpoint.slug))
    raise CliError(f"Target {target.id} was deleted.", Exit.FAILURE)


async def change(call: Call) -> int:
    fields = given_fields(call.options)
    if not fields:
        raise CliError("Nothing to change. See hookline target edit --help for the options.", Exit.USAGE)
    return await _update(call, **fields)


async def switch_on(call: Call) -> int:
    return await _update(call, active=True)


async def switch_off(call: Call) -> int:
    return await _update(call, active=False)


async def _update(call: Call, **changes: Any) -> int:
    endpoint, target = await _named(call)
    return await _send(call, endpoint.slug, call.api.targets.asked.update(endpoint.slug, target.id, **changes))


async def pause(call: Call) -> int:
    endpoint, target = await _named(call)
    return await _send(call, endpoint.slug, call.api.targets.asked.pause(endpoint.slug, target.id))


async def resume(call: Call) -> int:
    endpoint, target = await _named(call)
    return await _send(call, endpoint.slug, call.api.targets.asked.resume(endpoint.slug, target.id))


async def remove(call: Call) -> int:
    endpoint, target = await _named(call)
    queued = count_of(target.queued, "queued delivery", "queued deliveries")
    lost = f" {queued} will not be sent." if target.queued else ""
    confirm_delete(call.options, f"Delete the target {target.url} of {endpoint.name}?{lost}")
    await call.api.targets.delete(endpoint.slug, target.id)
    if call.out.as_json:
        call.out.json({"deleted": target.id})
    else:
        call.out.line(f"Deleted the target {target.url} of {endpoint.name}.")
    return Exit.DONE


async def _named(call: Call) -> tuple[Endpoint, Target]:
    return await target_named(call.api, call.options.which)


async def _send(call: Call, slug: str, asked: ApiCall[Target]) -> int:
    return await call.send(asked, partial(_describe, slug))


def _describe(slug: str, out: Output, target: Target) -> None:
    out.field("Target", str(target.id))
    out.field("Endpoint", slug)
    for name, value in described(target):
        out.field(name, value)


FLAGS = {
    "keep_query": "--query",
    "verify_tls": "--no-insecure",
    "client_certificate": "--client-cert",
    "ca_certificate": "--ca-cert",
    "retry.retries": "--retries",
    "retry.first_delay_ms": "--retry-delay",
    "retry.longest_delay_ms": "--retry-longest-delay",
    "retry.total_ms": "--retry-time",
}
"""The options that are not named as their field is."""


OPPOSITES = {
    "parallel": (
        "--in-order",
        "send one after the other, as captured; one that waits for its retry holds up the others (the default)",
    ),
    "verify_tls": ("--insecure", "accept any certificate of the target"),
}


def add_target_fields(parser: argparse.ArgumentParser) -> None:
    """Add the options that `add` and `edit` share. The parser must leave out absent options."""
    add_fields(parser, TargetDraft, flags=FLAGS, opposites=OPPOSITES, without=("url", "retry.on"))
    parser.add_argument(
        "--retry-on",
        type=_kinds,
        metavar="RESULTS",
        dest=f"{PREFIX}retry.on",
        help=f"{fields_of(RetryRule)['on'].help.lower()[:-1]} (default: connection)",
    )


def _kinds(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if not is_retry_on(name):
            known = ", ".join(RETRY_ON)
            raise argparse.ArgumentTypeError(f"{name!r} is not a result; use any of {known}, or a status such as 503")
    return list(dict.fromkeys(names))
