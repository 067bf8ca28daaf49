"""`hookline requests`: list or search captured requests, newest first; `hookline refused`: those that were not
captured, and why."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from app.cli.call import Call
from app.cli.command import Commands, add_count, whole_number
from app.cli.errors import CliError, Exit
from app.cli.identifiers import LAST, is_last, request_id
from app.cli.output import RED, Column, Output, brief_time, state_text, visible, when_text, write_bytes
from app.core.ids import id_beginning
from app.core.raw_request import below_slug
from app.core.rules import slug_error
from app.core.search.parse import parse
from app.core.search.query import QueryError
from app.core.text import size_text, unexamined_text

if TYPE_CHECKING:
    from hookline.records import Refusal, Summary

HELP = "list or search requests, newest first"
DETAILS = (
    f"{HELP}. TITLE is the event, or a summary if the event is unknown. MARK is * for starred, + for a note."
    " A size such as >12 kB means that the sender disconnected there. On a terminal the table shows the columns that"
    " fit, and shortens IDs; in a file or pipe there is no heading, nothing is shortened, and tabs separate the"
    " fields."
)
EXAMPLES = (
    ("See the last five requests of an endpoint", "hookline requests stripe -n 5"),
    ("Find unread Stripe requests in all endpoints", 'hookline requests -q "provider:stripe is:unread"'),
    ("List the newest request", "hookline requests @last"),
)


def sent_size(request: Summary) -> str:
    """`12 kB`, or `>12 kB` if the sender disconnected there."""
    return ("" if request.complete else ">") + size_text(request.size)


COLUMNS: tuple[Column[Summary], ...] = (
    Column("ID", lambda one: one.id),
    Column("RECEIVED", lambda one: when_text(one.received_at), left_out=2, short=brief_time, shortened=7),
    Column("ENDPOINT", lambda one: one.endpoint, least=10, left_out=3),
    Column("METHOD", lambda one: one.method),
    Column(
        "STATUS",
        lambda one: str(one.response.status),
        code=lambda one: Output.status_code(one.response.status),
        left_out=6,
    ),
    Column("DELIVERY", lambda one: "-" if one.delivery == "none" else state_text(one.delivery), left_out=5, empty="-"),
    Column("SIZE", sent_size, left_out=10),
    Column("PROVIDER", lambda one: one.provider or "-", least=8, left_out=8, empty="-"),
    Column("TITLE", lambda one: one.event or one.gist, least=20, left_out=1),
    Column("MARK", lambda one: ("*" if one.starred else "") + ("+" if one.note else "") or "-", left_out=9, empty="-"),
    Column("TARGET", lambda one: one.target, lambda one: below_slug(one.target), least=12, left_out=4, empty="/"),
)
OF_ONE = tuple(column for column in COLUMNS if column.title != "ENDPOINT")
QUERY_HELP = (
    "only requests that match these words and filters: method:POST path:/orders header:x-id=7 status:5xx size:>10k"
    " json:data.amount>1000 since:2h is:unread is:starred; - negates, OR combines terms"
)
WHICH_HELP = (
    f"the endpoint (all endpoints if omitted); or the first 8 or more characters of a request's ID, to list all"
    f" requests whose ID starts with them; or {LAST}"
)
REFUSED_HELP = "list refused requests and why they were not captured, newest first"
REFUSED_DETAILS = f"{REFUSED_HELP}. Hookline keeps the newest 1,000 until it quits."
REFUSED_EXAMPLES = (
    ("See why the latest requests were refused", "hookline refused -n 5"),
    ("Show the third refused request as received", "hookline refused --raw 3"),
)
REFUSED_COLUMNS: tuple[Column[Refusal], ...] = (
    Column("ID", lambda one: str(one.id)),
    Column("TIME", lambda one: when_text(one.at), left_out=2),
    Column("STATUS", lambda one: str(one.status), code=lambda one: RED),
    Column("FROM", lambda one: one.source.address, left_out=4),
    Column("METHOD", lambda one: one.method or "-", least=6, left_out=3),
    Column("TARGET", lambda one: one.target or "-", least=12, left_out=1),
    Column("REASON", lambda one: one.reason, least=20),
)


def add_parser(commands: Commands) -> None:
    """Add the commands to the command line."""
    parser = commands.add("requests", HELP, DETAILS, EXAMPLES, run=list_requests)
    parser.add_argument("which", metavar="SLUG", nargs="?", help=WHICH_HELP)
    parser.add_argument("-q", dest="query", metavar="QUERY", default="", help=QUERY_HELP)
    add_count(parser)
    parser = commands.add("refused", REFUSED_HELP, REFUSED_DETAILS, REFUSED_EXAMPLES, run=list_refused)
    add_count(parser)
    text = "write one refused request as received, up to 64 KiB"
    parser.add_argument("--raw", type=whole_number, metavar="N", help=text)


def list_requests(call: Call) -> int:
    which, query = call.options.which, checked_query(call.options.query)
    by_id = which is not None and _is_id(call, which)
    if by_id and query:
        raise CliError("-q searches one endpoint or all, and cannot be combined with a request's ID.", Exit.USAGE)
    unexamined: list[int] = []
    nothing: str | CliError
    if by_id:
        if is_last(which):
            which = request_id(call.api, which)
        asked = call.api.requests.asked.list(id_start=which, count=call.options.count)
        text = f"No endpoint has the slug {which!r}, and no request has an ID that starts with it."
        nothing = CliError(text, Exit.FAILURE)
    else:
        asked = call.api.requests.asked.list(which, query, call.options.count)
        nothing = _nothing(which, query)
    columns = COLUMNS if which is None or by_id else OF_ONE
    call.show_list(asked, columns, nothing, unexamined.append, short_ids=True)
    if count := sum(unexamined):
        call.out.message(unexamined_text(count))
    return Exit.DONE


def _is_id(call: Call, which: str) -> bool:
    """Whether `which` is a request's id rather than a slug; CliError when it can be neither."""
    if is_last(which):
        return True
    beginning = id_beginning(which)
    if slug_error(which) and beginning is None:
        raise CliError(f"No endpoint has the slug {which!r}. See hookline endpoint list.", Exit.FAILURE)
    return beginning is not None and which not in {endpoint.slug for endpoint in call.api.all_endpoints()}


def checked_query(text: str) -> str:
    """The search; CliError that points at what is wrong with it."""
    try:
        parse(text)
    except QueryError as error:
        before, wrong = visible(text[: error.start]), visible(text[error.start : error.end])
        pointer = " " * len(before) + "^" * max(1, len(wrong))
        raise CliError(error.message, Exit.USAGE, (f"  {visible(text)}", f"  {pointer}")) from error
    return text.strip()


def _nothing(slug: str | None, query: str) -> str:
    if query:
        return "No requests match."
    if slug is None:
        return "No requests are stored yet."
    return f"This endpoint has no requests yet. To see its URL: hookline endpoint show {slug}"


def list_refused(call: Call) -> int:
    """Print them, or the bytes of one; without a running program there are none."""
    if call.options.raw is not None:
        if call.out.as_json:
            raise CliError("--raw writes bytes and cannot be combined with --json.", Exit.USAGE)
        write_bytes(call.out, call.api.bytes_of("refused", str(call.options.raw), "raw"))
        return Exit.DONE
    if not call.show_list(call.api.asked.refused(call.options.count), REFUSED_COLUMNS) and not call.out.as_json:
        is_running = call.api.status().pid != os.getpid()
        call.out.message(
            "No refused requests." if is_running else "Hookline is not running, so there are no refused requests."
        )
    return Exit.DONE
