"""`hookline wait`: holds until a request is stored, and prints it."""

from __future__ import annotations

import re
import time

from app.cli.call import Call, LocalCall
from app.cli.command import Commands, seconds
from app.cli.commands.requests import QUERY_HELP, checked_query
from app.cli.commands.show import print_request
from app.cli.commands.tail import SLUG_HELP
from app.cli.errors import CliError, Exit, UnavailableError
from app.cli.identifiers import request_id
from app.cli.output import seconds_text
from hookline.running import ApiAddress

HELP = "wait for a request, and print it"
DETAILS = (
    f"{HELP}. Waits for the next request that matches; with --after, for the first one stored after that request, and"
    " with --from-start for the first one of all, which may be there already. Exit code 1 if none came in time."
)
EXAMPLES = (
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
    """Add the command to the command line."""
    parser = commands.add("wait", HELP, DETAILS, EXAMPLES, run_local=wait)
    parser.add_argument("slug", metavar="SLUG", nargs="?", help=SLUG_HELP)
    parser.add_argument("-q", dest="query", metavar="QUERY", default="", help=QUERY_HELP)
    text = f"how long to wait, in seconds ({TIMEOUT_S:.0f}); 0 only looks"
    parser.add_argument("--timeout", type=seconds, metavar="S", default=TIMEOUT_S, help=text)
    begin = parser.add_mutually_exclusive_group()
    text = "only requests stored after this one: its ID, the start of it, or @last"
    begin.add_argument("--after", metavar="ID", help=text)
    text = "all stored requests count, the oldest first"
    begin.add_argument("--from-start", dest="after", action="store_const", const=FROM_START, help=text)


async def wait(call: LocalCall) -> int:
    from app.cli.client import ApiClient  # start-up time: httpx is for commands that run
    from app.cli.connect import RunningProgram  # as above
    from hookline.client.requests import wait_call  # as above

    options, query = call.options, checked_query(call.options.query)
    program = RunningProgram(call.folder, call.out)
    until = time.monotonic() + options.timeout
    address: ApiAddress | None = await program.require("hookline wait")
    after: str | None = options.after
    while address is not None:
        async with ApiClient(address) as api:
            try:
                if after is not None and not _POSITION.fullmatch(after):
                    after = await request_id(api, after)
                # The first call only asks for the position: without it, a restart would leave a gap.
                left_s = max(0.0, until - time.monotonic()) if after is not None else 0.0
                begins = after is None
                answer = await api.answer(wait_call(options.slug, query, after, min(left_s, CALL_S), body=False))
                found, after = answer.value
            except UnavailableError:
                address = await program.again(until)
                continue
            program.connected()
            if found is not None:
                if call.out.as_json:
                    call.out.json(answer.json)
                else:
                    await print_request(Call(options=options, out=call.out, api=api), found)
                return Exit.DONE
        if not begins and time.monotonic() >= until:
            break
    text = f"No request came within {seconds_text(options.timeout)}." if options.timeout else "No request matches."
    raise CliError(text, Exit.FAILURE)
