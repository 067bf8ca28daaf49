"""`hookline targets` and `hookline target`: list, create, show, change, switch, pause and delete targets."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from app.cli.call import Call
from app.cli.command import Commands, whole_number
from app.cli.errors import CliError, Exit
from app.cli.field_options import PREFIX, add_fields, given_fields
from app.cli.identifiers import SLUG_HELP, TARGET_HELP, slug_given, target_named
from app.cli.output import DIM, GREEN, RED, Column, Output, add_yes, confirm_delete
from app.core.record import fields_of
from app.core.target import RETRY_ON, RetryRule, TargetDraft, is_retry_on
from app.core.text import count_of, exact_duration, ms_text
from app.core.worst_state import State, target_state, worst

if TYPE_CHECKING:
    from hookline.calls import Call as ApiCall
    from hookline.records import Endpoint, Target
    from hookline.records import RetryRule as RetryOut

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
CODES = {"on": GREEN, "off": DIM, "-": DIM}
FULL_STATES = {
    "off": "off (nothing is queued for it)",
    "paused": "paused (deliveries stay queued)",
    "paused (failures)": "paused after too many failures in a row; deliveries stay queued",
}
WORDS = {State.PAUSED: "paused", State.FAILED: "failing", State.OK: "on", State.NONE: "off"}
"""Of an endpoint's targets. Failing: the last delivery to one failed."""


def state_text(target: Target) -> str:
    """`on`, `off`, `paused` or `paused (failures)`."""
    if not target.active:
        return "off"
    if target.paused is None:
        return "on"
    return "paused (failures)" if target.paused == "failures" else "paused"


COLUMNS: tuple[Column[Target], ...] = (
    Column("ID", lambda one: str(one.id)),
    Column("URL", lambda one: one.url, least=14),
    Column("STATE", state_text, code=lambda one: CODES.get(state_text(one), RED)),
    Column("QUEUED", lambda one: str(one.queued), left_out=2, empty="0"),
    Column("RETRIES", lambda one: retry_text(one.retry), least=8, left_out=1),
    Column("LAST ERROR", lambda one: one.last_error or "-", least=12, left_out=3, empty="-"),
)


def add_parser(commands: Commands) -> None:
    """Add `hookline targets`, and the noun with its verbs, to the command line."""
    parser = commands.add("targets", LIST_HELP, examples=LIST_EXAMPLES, run=list_targets)
    parser.add_argument("which", metavar="SLUG", help=SLUG_HELP)
    verb = commands.noun("target", HELP, examples=EXAMPLES, which=("TARGET", TARGET_HELP))
    add = verb("add", make, "add a target to an endpoint", of_one=False)
    add.add_argument("which", metavar="SLUG", help=SLUG_HELP)
    add.add_argument(f"{PREFIX}url", metavar="URL", help="where to forward each request")
    add_target_fields(add)
    verb("show", show, "show one target")
    edit = verb("edit", change, "change a target; options you leave out change nothing")
    edit.add_argument("--url", dest=f"{PREFIX}url", metavar="URL", help="where to forward each request")
    edit.add_argument("--position", dest=f"{PREFIX}position", type=whole_number, metavar="N", help=POSITION_HELP)
    add_target_fields(edit)
    verb("on", lambda call: _update(call, active=True), "switch a target on: new requests are queued for it again")
    verb("off", lambda call: _update(call, active=False), "switch a target off: nothing new is queued for it")
    verb(
        "pause", lambda call: _send(call, call.api.targets.asked.pause), "pause a target: deliveries to it stay queued"
    )
    verb(
        "resume",
        lambda call: _send(call, call.api.targets.asked.resume),
        "resume a target: the queued deliveries are sent",
    )
    add_yes(verb("rm", remove, "delete a target; deliveries queued for it are not sent"))


def list_targets(call: Call) -> int:
    slug = slug_given(call.options.which)
    nothing = f"No targets yet. Add one: hookline target add {slug} URL"
    call.show_list(call.api.targets.asked.list(slug), COLUMNS, nothing)
    return Exit.DONE


def make(call: Call) -> int:
    slug = slug_given(call.options.which)
    asked = call.api.targets.asked.create(slug, **given_fields(call.options))
    return call.send(asked, partial(_describe, slug))


def show(call: Call) -> int:
    endpoint, target = _named(call)
    for answer in call.api.answers(call.api.targets.asked.list(endpoint.slug)):
        if answer.value.id == target.id:
            return call.show(answer, partial(_describe, endpoint.slug))
    raise CliError(f"Target {target.id} was deleted.", Exit.FAILURE)


def change(call: Call) -> int:
    fields = given_fields(call.options)
    if not fields:
        raise CliError("Nothing to change. See hookline target edit --help for the options.", Exit.USAGE)
    return _update(call, **fields)


def _update(call: Call, **changes: Any) -> int:
    return _send(call, call.api.targets.asked.update, **changes)


def _send(call: Call, ask: Callable[..., ApiCall[Target]], **changes: Any) -> int:
    """Make a call of the API about the target that is named."""
    endpoint, target = _named(call)
    return call.send(ask(endpoint.slug, target.id, **changes), partial(_describe, endpoint.slug))


def remove(call: Call) -> int:
    endpoint, target = _named(call)
    queued = count_of(target.queued, "queued delivery", "queued deliveries")
    lost = f" {queued} will not be sent." if target.queued else ""
    confirm_delete(call.options, f"Delete the target {target.url} of {endpoint.name}?{lost}")
    call.api.targets.delete(endpoint.slug, target.id)
    return call.done({"deleted": target.id}, f"Deleted the target {target.url} of {endpoint.name}.")


def _named(call: Call) -> tuple[Endpoint, Target]:
    return target_named(call.api, call.options.which)


def _describe(slug: str, out: Output, target: Target) -> None:
    """What a target is set to; what is off is left out."""
    state = state_text(target)
    deleted = f"{count_of(target.deleted, 'request')} before being sent" if target.deleted else None
    added = [what for what, kept in (("path", target.append_path), ("query", target.keep_query)) if kept]
    headers = [("Sets header", pair) for pair in target.set_headers.pairs]
    headers += [("Adds header", pair) for pair in target.add_headers.pairs]
    fields = (
        ("Target", str(target.id)),
        ("Endpoint", slug),
        ("URL", target.url),
        ("State", FULL_STATES.get(state, state)),
        ("Queued", f"{target.queued:,}"),
        ("Last error", target.last_error),
        ("Deleted", deleted),
        ("Adds", f"{' and '.join(added)} of the request" if added else "nothing of the request's path or query"),
        ("Host", "as the sender sent it" if target.host == "sender" else None),
        *((label, f"{name}: {value}") for label, (name, value) in headers),
        ("Removes", ", ".join(target.remove_headers)),
        ("Timeout", ms_text(target.timeout_ms)),
        ("Retries", full_retry_text(target.retry)),
        ("Parallel", "no, in order" if target.parallel is None else f"up to {target.parallel}"),
        ("Rate limit", None if target.rate_limit is None else f"{target.rate_limit:g} a second"),
        ("Attempt", f"its number is sent as {target.attempt_header}" if target.attempt_header else None),
        ("Pauses", _pauses_text(target)),
        ("TLS", None if target.verify_tls else "certificate not verified"),
        ("Certificate", target.client_certificate),
        ("Key", target.client_key),
        ("CA", target.ca_certificate),
        ("Redirects", "followed" if target.follow_redirects else None),
    )
    for label, value in fields:
        out.field(label, value)


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


def worst_state(targets: Sequence[Target]) -> str:
    """The worst state of an endpoint's targets, in one word; `-` without any."""
    if not targets:
        return "-"
    states = (target_state(active=one.active, paused=one.paused is not None, failures=one.failures) for one in targets)
    return WORDS[worst(states)]


def retry_text(retry: RetryOut) -> str:
    """`4 times on connection, 5xx`."""
    if not retry.retries or not retry.on:
        return "never"
    return f"{'once' if retry.retries == 1 else count_of(retry.retries, 'time')} on {', '.join(retry.on)}"


def full_retry_text(retry: RetryOut) -> str:
    """The same, with its delays."""
    text = retry_text(retry)
    if text == "never":
        return text
    first, longest = exact_duration(retry.first_delay_ms), exact_duration(retry.longest_delay_ms)
    return f"{text}; first after up to {first}, then up to {longest}, within {exact_duration(retry.total_ms)}"


def _pauses_text(target: Target) -> str:
    if not target.pause_after:
        return "never by itself"
    text = f"after {count_of(target.pause_after, 'failed delivery', 'failed deliveries')} in a row"
    return f"{text}, resumes by itself" if target.auto_resume else text
