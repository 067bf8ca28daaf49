"""`hookline compare`: what differs between the responses of two targets to the same requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.cli.call import Call
from app.cli.command import Commands, add_count, whole_number
from app.cli.errors import CliError, Exit
from app.cli.identifiers import SLUG_HELP, short_id, slug_given
from app.cli.output import DIM, GREEN, RED, JsonList, when_text
from app.core.text import count_of, ms_text, signed_ms_text

if TYPE_CHECKING:
    from hookline.records import ComparedRequest

HELP = "compare the responses of two targets, such as an old and a new handler"
DETAILS = (
    f"{HELP}. Each request that both have responded to is compared, by the newest response of each. Headers that"
    " always differ, such as Date and X-Request-Id, are ignored. Exit code 0: nothing differs, 1: something does."
)
EXAMPLES = (
    ("Compare the first two targets of an endpoint", "hookline compare stripe"),
    ("Ignore what may differ", "hookline compare stripe 3 4 --ignore-path data.id"),
    ("Count the requests that differ", "hookline compare stripe --json | jq length"),
)
TARGET_HELP = "as hookline targets lists it (default: the endpoint's first two targets)"
SAME, DIFFERENT, NEITHER = "=", "≠", "-"


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add("compare", HELP, DETAILS, EXAMPLES, run=compare)
    parser.add_argument("which", metavar="SLUG", help=SLUG_HELP)
    for name in ("first", "second"):
        parser.add_argument(
            name, type=whole_number, metavar="TARGET", nargs="?", help=f"the {name} target's number, {TARGET_HELP}"
        )
    text = "ignore this header; may be repeated"
    parser.add_argument("--ignore-header", dest="headers", metavar="NAME", action="append", default=[], help=text)
    text = "ignore the JSON values that this path selects, such as data.id or $..timestamp; may be repeated"
    parser.add_argument("--ignore-path", dest="paths", metavar="PATH", action="append", default=[], help=text)
    text = "compare also the headers that always differ"
    parser.add_argument("--all-headers", action="store_true", default=False, help=text)
    text = "list also the requests whose responses are the same"
    parser.add_argument("--all", action="store_true", default=False, help=text)
    add_count(parser, "maximum number of requests to compare, newest first", 1000)


def compare(call: Call) -> int:
    options = call.options
    slug = slug_given(options.which)
    first, second = _targets(call, slug)
    asked = call.api.endpoints.asked.compare(
        slug,
        first,
        second,
        ignore_headers=options.headers,
        ignore_paths=options.paths,
        all_headers=options.all_headers,
        count=options.count,
    )
    array = JsonList(call.out) if call.out.as_json else None
    counts: dict[bool | None, int] = {True: 0, False: 0, None: 0}
    for answer in call.api.answers(asked):
        one = answer.value
        counts[one.same] += 1
        if array is not None:
            if options.all or one.same is False:
                array.add(answer.json)
        elif options.all or one.same is False:
            _print(call, one)
    if array is not None:
        array.end()
    else:
        _print_counts(call, counts)
    return Exit.FAILURE if counts[False] else Exit.DONE


def _targets(call: Call, slug: str) -> tuple[int | None, int | None]:
    """CliError unless none is given, or both and the endpoint has them."""
    first, second = call.options.first, call.options.second
    if first is None:
        return None, None
    if second is None:
        raise CliError("Name both targets by their numbers, or none. See hookline targets SLUG.", Exit.USAGE)
    if first == second:
        raise CliError("A target cannot be compared with itself.", Exit.USAGE)
    known = {target.id for target in call.api.endpoints.get(slug).targets}
    for number in (first, second):
        if number not in known:
            raise CliError(f"Endpoint {slug!r} has no target {number}. See hookline targets {slug}.", Exit.FAILURE)
    return first, second


def _print(call: Call, one: ComparedRequest) -> None:
    """A line for the request, and one for each difference."""
    request = one.request
    identity = short_id(request.id) if call.out.terminal else request.id
    sides = ((one.first_status, one.first_ms), (one.second_status, one.second_ms))
    responses = " → ".join(_side(status, ms) for status, ms in sides)
    if one.ms_difference is not None:
        responses += f" ({signed_ms_text(one.ms_difference)})"
    mark, code = {True: (SAME, GREEN), False: (DIFFERENT, RED), None: (NEITHER, DIM)}[one.same]
    what = f"{identity}  {when_text(request.received_at)}  {request.method} {request.target}  {responses}"
    call.out.marked(mark, code, what)
    for difference in one.differences:
        call.out.line(f"   {difference.text}")
    if one.more:
        call.out.line("   and more")
    for note in one.notes:
        call.out.line(f"   {note}")


def _side(status: int | None, ms: float | None) -> str:
    if status is None:
        return "no response"
    return str(status) if ms is None else f"{status} in {ms_text(ms)}"


def _print_counts(call: Call, counts: dict[bool | None, int]) -> None:
    total = sum(counts.values())
    if not total:
        call.out.message("No request has been sent to both targets yet.")
        return
    neither = f", {counts[None]:,} without a response from either" if counts[None] else ""
    text = f"{counts[False]:,} different, {counts[True]:,} the same{neither}"
    call.out.line(f"Compared {count_of(total, 'request')}: {text}.")
