"""`hookline requests`: list or search captured requests, newest first."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from app.cli.argument_types import row_count
from app.cli.call import Call
from app.cli.errors import CliError, Exit
from app.cli.identifiers import LAST, is_last, request_id, with_short_ids
from app.cli.output import Output
from app.cli.table import Column, Row
from app.cli.text import brief_time, state_text, visible, when_text
from app.core.ids import id_beginning
from app.core.raw_request import below_slug
from app.core.rules import slug_error
from app.core.search.parse import parse
from app.core.search.query import QueryError
from app.core.text import size_text, unexamined_text

if TYPE_CHECKING:
    from hookline.records import Summary

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
COLUMNS = (
    Column("ID"),
    Column("RECEIVED", left_out=2, short=brief_time, shortened=7),
    Column("METHOD"),
    Column("STATUS", left_out=6),
    Column("DELIVERY", left_out=5, empty="-"),
    Column("SIZE", left_out=10),
    Column("PROVIDER", least=8, left_out=8, empty="-"),
    Column("TITLE", least=20, left_out=1),
    Column("MARK", left_out=9, empty="-"),
    Column("TARGET", least=12, left_out=4, empty="/"),
)
OF_ALL = (*COLUMNS[:2], Column("ENDPOINT", least=10, left_out=3), *COLUMNS[2:])
QUERY_HELP = (
    "only requests that match these words and filters: method:POST path:/orders header:x-id=7 status:5xx size:>10k"
    " json:data.amount>1000 since:2h is:unread is:starred; - negates, OR combines terms"
)
WHICH_HELP = (
    f"the endpoint (all endpoints if omitted); or the first 8 or more characters of a request's ID, to list all"
    f" requests whose ID starts with them; or {LAST}"
)


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("requests", parents=shared, help=HELP, description=DETAILS, examples=EXAMPLES)
    parser.set_defaults(run=list_requests)
    parser.add_argument("which", metavar="SLUG", nargs="?", help=WHICH_HELP)
    parser.add_argument("-q", dest="query", metavar="QUERY", default="", help=QUERY_HELP)
    parser.add_argument("-n", dest="count", type=row_count, metavar="N", default=50, help="maximum number to list (50)")


async def list_requests(call: Call) -> int:
    which, query = call.options.which, checked_query(call.options.query)
    by_id = which is not None and await _is_id(call, which)
    if by_id and query:
        raise CliError("-q searches one endpoint or all, and cannot be combined with a request's ID.", Exit.USAGE)
    unexamined: list[int] = []
    if by_id:
        if is_last(which):
            which = await request_id(call.api, which)
        asked = call.api.requests.asked.list(id_start=which, count=call.options.count)
    else:
        asked = call.api.requests.asked.list(which, query, call.options.count)
    of_all = which is None or by_id

    async def rows(found: AsyncIterator[Summary]) -> AsyncIterator[Row]:
        async for identity, request in with_short_ids(call.out, found):
            yield _row(call.out, request, identity, of_all)

    nothing = _no_such_id(which) if by_id else _nothing(which, query)
    await call.show_list(asked, OF_ALL if of_all else COLUMNS, rows, nothing, unexamined.append)
    _say_unexamined(call, sum(unexamined))
    return Exit.DONE


def _say_unexamined(call: Call, count: int) -> None:
    if count:
        call.out.message(unexamined_text(count))


async def _is_id(call: Call, which: str) -> bool:
    """Whether `which` is a request's id rather than a slug; CliError when it can be neither."""
    if is_last(which):
        return True
    beginning = id_beginning(which)
    if slug_error(which) and beginning is None:
        raise CliError(f"No endpoint has the slug {which!r}. See hookline endpoint list.", Exit.FAILURE)
    return beginning is not None and which not in {endpoint.slug for endpoint in await call.api.all_endpoints()}


def checked_query(text: str) -> str:
    """The search; CliError that points at what is wrong with it."""
    try:
        parse(text)
    except QueryError as error:
        before, wrong = visible(text[: error.start]), visible(text[error.start : error.end])
        pointer = " " * len(before) + "^" * max(1, len(wrong))
        raise CliError(error.message, Exit.USAGE, (f"  {visible(text)}", f"  {pointer}")) from error
    return text.strip()


def _no_such_id(text: str) -> CliError:
    said = f"No endpoint has the slug {text!r}, and no request has an ID that starts with it."
    return CliError(said, Exit.FAILURE)


def _nothing(slug: str | None, query: str) -> str:
    if query:
        return "No requests match."
    if slug is None:
        return "No requests are stored yet."
    return f"This endpoint has no requests yet. To see its URL: hookline endpoint show {slug}"


def _row(out: Output, request: Summary, identity: str, of_all: bool) -> Row:
    response = request.response.status
    endpoint = (request.endpoint,) if of_all else ()
    cells = (
        identity,
        when_text(request.received_at),
        *endpoint,
        request.method,
        str(response),
        "-" if request.delivery == "none" else state_text(request.delivery),
        ("" if request.complete else ">") + size_text(request.size),
        request.provider or "-",
        request.event or request.gist,
        ("*" if request.starred else "") + ("+" if request.note else "") or "-",
        below_slug(request.target) if out.terminal else request.target,
    )
    return cells, ("", "", "", *("" for _ in endpoint), out.status_code(response))
