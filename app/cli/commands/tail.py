"""`hookline tail`: requests and deliveries as they come, a line for each; `hookline wait`: the next request in full."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from app.cli.call import Call, LocalCall
from app.cli.command import Commands, add_count, seconds
from app.cli.commands.requests import QUERY_HELP, checked_query, sent_size
from app.cli.commands.show import print_request
from app.cli.errors import CliError, Exit, UnavailableError
from app.cli.identifiers import request_id
from app.cli.output import (
    DIM,
    GREEN,
    RED,
    YELLOW,
    Output,
    cell_count,
    cut_to_cells,
    seconds_text,
    state_text,
    terminal_cells,
    visible,
    when_closed,
    when_text,
)
from app.core.clock import microseconds, now_us
from app.core.delivery import reason_text
from app.core.raw_request import below_slug
from app.core.retry import wait_text
from app.core.target_text import paused_text, resume_advice
from app.core.text import ms_text

if TYPE_CHECKING:
    from app.cli.client import Answer, RunningProgram
    from hookline.records import DeliverySummary, Endpoint, Summary

HELP = "print requests and deliveries as they come"
DETAILS = (
    f"{HELP}, until Ctrl-C. When Hookline is restarted, it continues where it was. On a terminal a line is cut to its"
    " width; in a file or pipe tabs separate the fields: ID, time, endpoint, method, status, size, provider, title and"
    " target. A line that begins with --> is about a delivery: request ID, endpoint, method, URL and result. With"
    " --json, a delivery is an object with the field request. With -q, only deliveries of printed requests are printed."
)
EXAMPLES = (
    ("Follow all endpoints", "hookline tail"),
    ("Follow failed payments of one endpoint", 'hookline tail stripe -q "event:invoice.payment_failed"'),
    ("Stop after the next request", "hookline tail stripe -n 0 --no-deliveries | head -1"),
)
SLUG_HELP = "the endpoint (all endpoints if omitted)"
BEFORE = 10
REMEMBERED = 10_000
SLUG_CELLS, METHOD_CELLS, SIZE_CELLS = 16, 7, 8
ARROW = "-->"
URL_CELLS = 32
"""A URL is cut to this at least, before the line takes a second one on a terminal."""
WAIT_HELP = "wait for a request, and print it"
WAIT_DETAILS = (
    f"{WAIT_HELP}. Waits for the next request that matches; with --after, for the first one stored after that request,"
    " and with --from-start for the first one of all, which may be there already. Exit code 1 if none came in time."
)
WAIT_EXAMPLES = (
    ("Wait for the next request of an endpoint", "hookline wait orders"),
    ("Give a test ten seconds to call back", 'hookline wait orders -q "path:/callback" --timeout 10 --json'),
    ("Wait for the one after that", "hookline wait orders --after ID"),
    ("Check that one came, or comes soon", "hookline wait orders --from-start --timeout 10"),
)
TIMEOUT_S = 30.0
CALL_S = 60.0
"""The longest single call: a longer wait is made of several."""
FROM_START = "0-0-0"
"""The position before all requests."""
_POSITION = re.compile(r"[0-9a-z]+-\d+-\d+")


def add_parser(commands: Commands) -> None:
    """Add the commands to the command line."""
    parser = commands.add("tail", HELP, DETAILS, EXAMPLES, run_local=tail)
    parser.add_argument("slug", metavar="SLUG", nargs="?", help=SLUG_HELP)
    parser.add_argument("-q", dest="query", metavar="QUERY", default="", help=QUERY_HELP)
    text = "print requests only"
    parser.add_argument("--no-deliveries", dest="deliveries", action="store_false", default=True, help=text)
    add_count(parser, "how many requests to print that are there already", BEFORE, least=0)
    parser = commands.add("wait", WAIT_HELP, WAIT_DETAILS, WAIT_EXAMPLES, run_local=wait)
    parser.add_argument("slug", metavar="SLUG", nargs="?", help=SLUG_HELP)
    parser.add_argument("-q", dest="query", metavar="QUERY", default="", help=QUERY_HELP)
    text = f"how long to wait, in seconds ({TIMEOUT_S:.0f}); 0 only looks"
    parser.add_argument("--timeout", type=seconds, metavar="S", default=TIMEOUT_S, help=text)
    begin = parser.add_mutually_exclusive_group()
    text = "only requests stored after this one: its ID, the start of it, or @last"
    begin.add_argument("--after", metavar="ID", help=text)
    text = "all stored requests count, the oldest first"
    begin.add_argument("--from-start", dest="after", action="store_const", const=FROM_START, help=text)


def tail(call: LocalCall) -> int:
    """Print until Ctrl-C, or until nobody reads it."""
    from app.cli.client import RunningProgram  # start-up time: completions load this module

    options = call.options
    follower = Follower(call.out, options.slug, checked_query(options.query), deliveries=options.deliveries)
    program = RunningProgram(call.folder, call.out)
    program.require("hookline tail")
    when_closed(call.out.out, lambda: os._exit(Exit.DONE))
    follower.run(program, options.count)
    return Exit.DONE


def _nothing() -> None:
    """The default for `begun`."""


class Follower:
    """Prints the requests of an endpoint, or of all (None), that match a search, and their deliveries."""

    def __init__(self, out: Output, slug: str | None, query: str = "", *, deliveries: bool = True) -> None:
        self._out, self._slug, self._query, self._deliveries = out, slug, query, deliveries
        self._repeated: set[str] = set()
        """Requests that were listed, and come once more."""
        self._printed: dict[str, None] = {}
        """The last requests that were printed, of those that match a search."""
        self._paused: set[int] = set()
        """Targets that are known to be paused, so that each pause is reported once."""

    def run(self, program: RunningProgram, count: int, begun: Callable[[], None] = _nothing) -> None:
        """Begin with the newest `count` requests of a program that was found, and go on without end. `begun` is called
        once nothing can be missed, before anything is printed."""
        from app.cli.client import Answer  # start-up time, as above
        from hookline.calls import decoded, query_of  # as above
        from hookline.records import DeliverySummary, EndpointChange, Gap, Summary  # as above

        types = "captured,delivered,endpoint" if self._deliveries else "captured"
        following = False
        params = query_of(endpoint=self._slug, q=self._query, types=types)
        for event in program.events(params):
            if event.type == "position" and not following:
                following = True
                begun()
                # Listed after the stream began, so that none is between the two; the stream repeats some then.
                self._begin(program, count)
            elif event.type == "captured":
                request = Answer.of(event.data, Summary)
                if request.value.id not in self._repeated:
                    self._request(request)
                self._repeated.discard(request.value.id)
            elif event.type == "delivered":
                self._delivery(Answer.of(event.data, DeliverySummary))
            elif event.type == "endpoint":
                change = decoded(event.data, EndpointChange)
                if change.change != "deleted":
                    self._tell_paused(program, change.slug)
            elif event.type == "gap":
                gap = decoded(event.data, Gap)
                what = "Requests" if "captured" in gap.types else "Deliveries"
                self._out.message(f"{what} may be missing here. {gap.reason}")
                if "endpoint" in gap.types:
                    self._tell_paused(program, self._slug)

    def _begin(self, program: RunningProgram, count: int) -> None:
        if count:
            with program.client() as api:
                newest = list(api.answers(api.requests.asked.list(self._slug, self._query, count)))
            self._repeated = {one.value.id for one in newest}
            for request in reversed(newest):
                self._request(request)
        if self._deliveries:
            self._tell_paused(program, self._slug)

    def _tell_paused(self, program: RunningProgram, slug: str | None) -> None:
        """Of one endpoint, or of all (None)."""
        with suppress(CliError), program.client() as api:  # it was deleted, or the program is stopping
            for endpoint in api.all_endpoints() if slug is None else [api.endpoints.get(slug)]:
                self._tell_newly_paused(endpoint)

    def _tell_newly_paused(self, endpoint: Endpoint) -> None:
        """A sentence for each target that is paused now and was not before."""
        for target in endpoint.targets:
            if target.paused is None:
                self._paused.discard(target.id)
            elif target.id not in self._paused:
                self._paused.add(target.id)
                self._out.message(f"{paused_text([target], target.queued)} {resume_advice(target.id)}")

    def _request(self, request: Answer[Summary]) -> None:
        _print(self._out, request, of_all=self._slug is None)
        if self._query:
            self._printed[request.value.id] = None
            if len(self._printed) > REMEMBERED:
                del self._printed[next(iter(self._printed))]

    def _delivery(self, answer: Answer[DeliverySummary]) -> None:
        out, delivery = self._out, answer.value
        if self._query and delivery.request not in self._printed:
            return
        if out.as_json:
            out.json_line(answer.json)
            return
        if out.terminal:
            line = delivery_line(out, delivery, terminal_cells())
        else:
            fields = (ARROW, delivery.request, delivery.endpoint, delivery.method, delivery.url)
            line = "\t".join(map(visible, (*fields, result_text(delivery))))
        print(line, file=out.out, flush=True)


def _print(out: Output, answer: Answer[Summary], *, of_all: bool) -> None:
    if out.as_json:
        out.json_line(answer.json)
        return
    request = answer.value
    if out.terminal:
        print(terminal_line(out, request, terminal_cells(), of_all=of_all), file=out.out, flush=True)
    else:
        print("\t".join(map(visible, _fields(request))), file=out.out, flush=True)


def _fields(request: Summary) -> tuple[str, ...]:
    """The same whatever is followed, for scripts."""
    return (
        request.id,
        when_text(request.received_at),
        request.endpoint,
        request.method,
        str(request.response.status),
        sent_size(request),
        request.provider or "-",
        request.event or request.gist,
        request.target,
    )


def terminal_line(out: Output, request: Summary, width: int, *, of_all: bool) -> str:
    """One line of at most `width` cells."""
    status, path = request.response.status, below_slug(request.target)
    title = request.event or request.gist
    cells = [
        (when_text(request.received_at)[11:], 0, DIM),
        *([(request.endpoint, SLUG_CELLS, "")] if of_all else []),
        (request.method, METHOD_CELLS, ""),
        (str(status), 0, out.status_code(status)),
        (sent_size(request), -SIZE_CELLS, ""),
        (request.provider or "", 0, ""),
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


def result_text(delivery: DeliverySummary) -> str:
    """`200 in 12 ms`; `failed in 2.0 ms: Nothing is listening at localhost:3000 (connection refused). Next attempt in
    1.5 s.`"""
    took = "" if delivery.ms is None else f" in {ms_text(delivery.ms)}"
    replay = "" if delivery.replay is None else " (replay)"
    if delivery.state == "delivered":
        again = f", attempt {delivery.attempt_count}" if delivery.attempt_count > 1 else ""
        return f"{delivery.status}{took}{again}{replay}"
    if delivery.state == "queued" and delivery.error is None:
        return "queued again"
    next_step = delivery.next_step
    if delivery.state == "queued":
        wait_us = 0 if delivery.due_at is None else microseconds(delivery.due_at) - now_us()
        next_step = f"Next attempt {f'in {wait_text(wait_us)}' if wait_us > 0 else 'now'}."
    failed = "failed" if delivery.state == "queued" else state_text(delivery.state)
    return f"{failed}{took}{replay}: {reason_text(delivery.error, next_step)}"


def delivery_line(out: Output, delivery: DeliverySummary, width: int | None = None) -> str:
    """`--> POST http://localhost:3000/ 200 in 12 ms`, the result in its colour. The URL is cut where that keeps the
    line within `width` cells; the result never."""
    result = visible(result_text(delivery))
    start, url = f"{ARROW} {visible(delivery.method)} ", visible(delivery.url)
    if width is not None:
        url = cut_to_cells(url, max(URL_CELLS, width - cell_count(start) - cell_count(result) - 1))
    if delivery.state == "delivered":
        result = out.style(result, GREEN)
    elif delivery.error is not None:
        result = out.style(result, YELLOW if delivery.state == "not_sent" else RED)
    return f"{start}{url} {result}"


def wait(call: LocalCall) -> int:
    from app.cli.client import RunningProgram  # start-up time: completions load this module
    from hookline.client.requests import wait_call  # as above

    options, query = call.options, checked_query(call.options.query)
    program = RunningProgram(call.folder, call.out)
    until = time.monotonic() + options.timeout
    program.require("hookline wait")
    is_running, after = True, options.after
    while is_running:
        with program.client() as api:
            try:
                if after is not None and not _POSITION.fullmatch(after):
                    after = request_id(api, after)
                # The first call only asks for the position: without it, a restart would leave a gap.
                left_s = max(0.0, until - time.monotonic()) if after is not None else 0.0
                begins = after is None
                answer = api.answer(wait_call(options.slug, query, after, min(left_s, CALL_S), body=False))
                found, after = answer.value
            except UnavailableError:
                is_running = program.again(until)
                continue
            program.connected()
            if found is not None:
                if call.out.as_json:
                    call.out.json(answer.json)
                else:
                    print_request(Call(options=options, out=call.out, api=api), found)
                return Exit.DONE
        if not begins and time.monotonic() >= until:
            break
    text = f"No request came within {seconds_text(options.timeout)}." if options.timeout else "No request matches."
    raise CliError(text, Exit.FAILURE)
