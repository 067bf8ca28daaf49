"""`hookline tail`: requests as they come."""

from __future__ import annotations

import argparse
import json
import shutil
from contextlib import aclosing
from typing import Any, cast

from app.cli.argument_types import row_limit
from app.cli.call import LocalCall
from app.cli.commands.requests import QUERY_HELP, checked_query
from app.cli.errors import Exit
from app.cli.output import DIM, Output
from app.cli.table import cell_count, cut_to_cells
from app.cli.text import visible, when_text
from app.cli.views import SummaryView
from app.core.raw_request import below_slug
from app.core.text import size_text

HELP = "print requests as they come"
DETAILS = (
    f"{HELP}, until Ctrl-C. When Hookline is restarted, it continues where it was. On a terminal a line is cut to its"
    " width; in a file or pipe tabs separate the fields: ID, time, endpoint, method, status, size, provider, title and"
    " target."
)
EXAMPLES = (
    ("Follow all endpoints", "hookline tail"),
    ("Follow failed payments of one endpoint", 'hookline tail stripe -q "event:invoice.payment_failed"'),
    ("Stop after the next request", "hookline tail stripe -n 0 --json | head -1"),
)
SLUG_HELP = "the endpoint (all endpoints if omitted)"
BEFORE = 10
SLUG_CELLS, METHOD_CELLS, SIZE_CELLS = 16, 7, 8


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("tail", parents=shared, help=HELP, description=DETAILS, examples=EXAMPLES)
    parser.set_defaults(run_local=tail)
    parser.add_argument("slug", metavar="SLUG", nargs="?", help=SLUG_HELP)
    parser.add_argument("-q", dest="query", metavar="QUERY", default="", help=QUERY_HELP)
    text = f"how many requests to print that are there already ({BEFORE})"
    parser.add_argument("-n", dest="count", type=row_limit, metavar="N", default=BEFORE, help=text)


async def tail(call: LocalCall) -> int:
    """Print until Ctrl-C, or until nobody reads it."""
    import asyncio  # start-up time, as below

    from app.cli.closed_pipe import until_closed  # as above

    printing = asyncio.create_task(_print_all(call), name="print requests")
    closing = asyncio.create_task(until_closed(call.out.out), name="watch the pipe")
    await asyncio.wait((printing, closing), return_when=asyncio.FIRST_COMPLETED)
    if closing.done():
        raise BrokenPipeError
    closing.cancel()
    return await printing


async def _print_all(call: LocalCall) -> int:
    from app.cli.client import ApiClient  # start-up time: httpx is for commands that run
    from app.cli.live import RunningProgram, events  # as above
    from app.cli.transport import query_of  # as above

    slug, query = call.options.slug, checked_query(call.options.query)
    program = RunningProgram(call.folder, call.out)
    address = await program.require("hookline tail")
    printed: set[str] = set()
    params = query_of(endpoint=slug, q=query, types="captured")
    async with aclosing(events(program, address, params)) as stream:
        async for event in stream:
            if event.type == "position" and not printed and call.options.count:
                # Listed after the stream began, so that none is between the two; the stream repeats some then.
                async with ApiClient(address) as api:
                    newest = [one async for one in api.requests(slug, call.options.count, query)]
                call.options.count = 0
                printed = {one["id"] for one in newest}
                for request in reversed(newest):
                    _print(call.out, request, of_all=slug is None)
            elif event.type == "captured":
                request = cast(SummaryView, json.loads(event.data))
                if request["id"] in printed:
                    printed.discard(request["id"])
                    continue
                _print(call.out, request, of_all=slug is None)
            elif event.type == "gap":
                call.out.message(f"Requests may be missing here. {json.loads(event.data)['reason']}")
    return Exit.DONE


def _print(out: Output, request: SummaryView, *, of_all: bool) -> None:
    if out.as_json:
        out.json_line(request)
    elif out.terminal:
        print(terminal_line(out, request, shutil.get_terminal_size().columns, of_all=of_all), file=out.out, flush=True)
    else:
        print("\t".join(map(visible, _fields(request))), file=out.out, flush=True)


def _fields(request: SummaryView) -> tuple[str, ...]:
    """The same whatever is followed, for scripts."""
    return (
        request["id"],
        when_text(request["received_at"]),
        request["endpoint"],
        request["method"],
        str(request["reply"]["status"]),
        _size(request),
        request["provider"] or "-",
        request["event"] or request["gist"] or "-",
        request["target"],
    )


def _size(request: SummaryView) -> str:
    return ("" if request["complete"] else ">") + size_text(request["size"])


def terminal_line(out: Output, request: SummaryView, width: int, *, of_all: bool) -> str:
    """One line of at most `width` cells."""
    status, path = request["reply"]["status"], below_slug(request["target"])
    title = request["event"] or request["gist"] or ""
    cells = [
        (when_text(request["received_at"])[11:], 0, DIM),
        *([(request["endpoint"], SLUG_CELLS, "")] if of_all else []),
        (request["method"], METHOD_CELLS, ""),
        (str(status), 0, out.status_code(status)),
        (_size(request), -SIZE_CELLS, ""),
        (request["provider"] or "", 0, ""),
        ("" if title == path else title, 0, ""),
        (path, 0, DIM),
    ]
    parts, room = [], width
    for text, padded, code in cells:
        if not text or room <= 0:
            continue
        cell = cut_to_cells(_padded(visible(text), padded), room)
        parts.append(out.style(cell, code) if code else cell)
        room -= cell_count(cell) + 2
    return "  ".join(parts).rstrip()


def _padded(text: str, cells: int) -> str:
    """`text` in a column of so many cells, to the right of it if that is negative; 0: as wide as it is."""
    shown = cut_to_cells(text, cells) if cells > 0 else text
    blank = " " * (abs(cells) - cell_count(shown))
    return blank + shown if cells < 0 else shown + blank
