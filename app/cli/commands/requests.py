"""`hookline requests`: what was captured, or what a search finds of it, newest first."""

from __future__ import annotations

import argparse
import json
from typing import Any

from app.cli.call import Call
from app.cli.errors import CliError, Exit
from app.cli.output import Column, Table
from app.cli.text import visible, when_text
from app.cli.views import SummaryView
from app.core.rules import slug_error
from app.core.search.parse import parse
from app.core.search.query import QueryError
from app.core.targets import below_slug
from app.core.wording import size_text

HELP = "list or search what was captured, newest first"
DETAILS = f"{HELP}. MARK: * starred, + with a note. A size such as >12 kB: the sender broke off there."
COLUMNS = (
    Column("ID", 36),
    Column("RECEIVED", 19),
    Column("METHOD", 7),
    Column("REPLY", 5),
    Column("MIRROR", 9),
    Column("SIZE", 7),
    Column("PROVIDER", 8),
    Column("EVENT", 20),
    Column("MARK", 2),
    Column("TARGET"),
)
OF_ALL = (*COLUMNS[:2], Column("ENDPOINT", 24), *COLUMNS[2:])
QUERY_HELP = (
    "only those with these words, or that filters find: method:POST path:/orders header:x-id=7 status:5xx size:>10k"
    " json:data.amount>1000 since:2h is:unread is:starred; - negates, OR between terms"
)


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("requests", parents=shared, help=HELP, description=DETAILS)
    parser.set_defaults(run=list_requests)
    parser.add_argument("which", metavar="SLUG", nargs="?", help="the endpoint; without one, all of them")
    parser.add_argument("-q", dest="query", metavar="QUERY", default="", help=QUERY_HELP)
    parser.add_argument("-n", dest="count", type=_count, metavar="N", default=50, help="how many at most (50)")


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count} is not a number of requests; give 1 or more")
    return count


async def list_requests(call: Call) -> int:
    """Print them as they arrive from the store: there may be a million."""
    slug = call.options.which
    if slug is not None and slug_error(slug):
        raise CliError(f"No endpoint has the slug {slug!r}. See hookline endpoint list.", Exit.NO)
    query = _checked(call.options.query)
    table, shown = Table(call.out, OF_ALL if slug is None else COLUMNS), 0
    async for request in call.api.requests(slug, call.options.count, query):
        if call.out.as_json:
            # A JSON array, written row by row.
            print("[" if shown == 0 else ",", json.dumps(request, indent=2), sep="\n", file=call.out.out)
        else:
            _row(call, table, request)
        shown += 1
    if call.out.as_json:
        print("]" if shown else "[]", file=call.out.out)
    elif not shown:
        call.out.note(_nothing(slug, query))
    return Exit.DONE


def _checked(text: str) -> str:
    """The search as given; CliError that points at what is wrong with it."""
    try:
        parse(text)
    except QueryError as error:
        before, wrong = visible(text[: error.start]), visible(text[error.start : error.end])
        pointer = " " * len(before) + "^" * max(1, len(wrong))
        raise CliError(error.message, Exit.USAGE, (f"  {visible(text)}", f"  {pointer}")) from error
    return text.strip()


def _nothing(slug: str | None, query: str) -> str:
    if query:
        return "No stored request is found by this search."
    if slug is None:
        return "No requests are stored yet."
    return f"This endpoint holds no requests yet. Its URL: hookline endpoint show {slug}"


def _row(call: Call, table: Table, request: SummaryView) -> None:
    reply = request["reply"]["status"]
    endpoint = () if call.options.which else (request["endpoint"],)
    table.row(
        request["id"],
        when_text(request["received_at"]),
        *endpoint,
        request["method"],
        str(reply),
        "-" if request["mirror"] == "none" else request["mirror"],
        ("" if request["complete"] else ">") + size_text(request["size"]),
        request["provider"] or "-",
        request["event"] or "-",
        ("*" if request["starred"] else "") + ("+" if request["note"] else "") or "-",
        below_slug(request["target"]) if call.out.terminal else request["target"],
        codes=("", "", "", *("" for _ in endpoint), call.out.status_code(reply)),
    )
