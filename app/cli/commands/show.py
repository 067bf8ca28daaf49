"""`hookline show`: one captured request, or one part of it; `hookline mark`: mark requests read or unread, star them,
write a note; `hookline rm` and `hookline clear`: delete single requests, or all of an endpoint."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from app.cli.call import Call
from app.cli.command import Commands
from app.cli.commands.deliveries import next_text, result_text
from app.cli.errors import CliError, Exit
from app.cli.identifiers import ID_HELP, SLUG_HELP, each_id, request_id, slug_given
from app.cli.output import Output, add_yes, confirm_delete, is_text, write_bytes
from app.core.clock import microseconds
from app.core.curl import PASTE_MAX, SentRequest, body_file, curl_command
from app.core.model import Mark
from app.core.raw_request import head_bytes, trailer_bytes
from app.core.rules import NOTE_MAX
from app.core.text import count_of, ms_text, size_text, source_text, time_text

if TYPE_CHECKING:
    from hookline.records import Delivery, RequestHead

HELP = "show one request, or a part of it"
EXAMPLES = (
    ("See the newest request", "hookline show @last"),
    ("Send the newest request again, byte for byte", "hookline show @last --curl | sh"),
    ("Save a body to a file", "hookline show @last:stripe --body > body.json"),
)
PREVIEW = 16 * 1024
"""Bytes of a text body that are printed with the rest of the request."""


def add_parser(commands: Commands) -> None:
    """Add the commands to the command line."""
    _add_show(commands)
    _add_mark(commands)
    _add_deleting(commands)


def _add_show(commands: Commands) -> None:
    parser = commands.add("show", HELP, examples=EXAMPLES, run=show, part=None)
    parser.add_argument("id", metavar="ID", help=ID_HELP)
    part = parser.add_mutually_exclusive_group()
    for name, text in (
        ("body", "the body as it was sent"),
        ("headers", "the headers as they were sent"),
        ("curl", "the request as a curl command"),
        ("raw", "the whole request as bytes: request line, headers, body and trailers"),
    ):
        part.add_argument(f"--{name}", dest="part", action="store_const", const=name, help=f"print {text}")
    parser.add_argument("--damaged", action="store_true", help="print a damaged body too, as it is stored")


def show(call: Call) -> int:
    part = call.options.part
    if part and call.out.as_json:
        raise CliError(f"--json prints the whole request as JSON and cannot be combined with --{part}.", Exit.USAGE)
    answer = call.api.answer(call.api.requests.asked.head(request_id(call.api, call.options.id)))
    if call.out.as_json:
        call.out.json(answer.json)
        return Exit.DONE
    request = answer.value
    if part == "headers":
        _headers(call.out, request)
    elif part == "body":
        _write(call, request)
    elif part == "raw":
        head = head_bytes(request.method, request.target, request.http_version, request.headers.pairs)
        _write(call, request, head, trailer_bytes(request.trailers.pairs))
    elif part == "curl":
        _curl(call, request)
    else:
        print_request(call, request, damaged=call.options.damaged)
    return Exit.DONE


def _write(call: Call, request: RequestHead, before: bytes = b"", after: bytes = b"") -> None:
    write_bytes(call.out, _body(call, request, call.options.damaged), before, after)


def _body(call: Call, request: RequestHead, damaged: bool) -> Iterator[bytes]:
    params = {"damaged": "true"} if damaged else {}
    return call.api.bytes_of("requests", request.id, "body", **params)


def _curl(call: Call, request: RequestHead) -> None:
    sent = SentRequest(
        method=request.method,
        target=request.target,
        http_version=request.http_version,
        headers=request.headers.pairs,
        size=request.size,
        id=request.id,
    )
    body = None
    if request.size <= PASTE_MAX:
        body = b"".join(_body(call, request, call.options.damaged))
    command = curl_command(sent, body, call.api.status().base_url) + "\n"
    if call.out.terminal:
        call.out.untrusted(command)
    else:
        call.out.data(command.encode())  # in any locale
    if body is None:
        call.out.message(f"The command reads the body from a file: hookline show {sent.id} --body > {body_file(sent)}")


def _headers(out: Output, request: RequestHead) -> None:
    for name, value in request.headers.pairs:
        out.line(f"{name}: {value}")


def print_request(call: Call, request: RequestHead, *, damaged: bool = False) -> None:
    """Print all of it, and the beginning of a text body; of a damaged one only if `damaged`."""
    out = call.out
    out.line(f"{request.method} {request.target} HTTP/{request.http_version}")
    out.field("ID", request.id)
    out.field("Endpoint", request.endpoint)
    out.field("Received", time_text(microseconds(request.received_at), None))
    source = request.source
    out.field("From", source_text(source.address, source.port))
    out.field("Provider", request.provider)
    out.field("Event", request.event)
    out.field("Delivery ID", request.delivery_id)
    out.field("Size", size_text(request.size) + ("" if request.complete else ", then the sender disconnected"))
    out.field("SHA-256", request.sha256)
    if request.damaged:
        out.field("Damaged", "the stored body does not match the SHA-256. An older backup may have it intact.")
    response = request.response
    took = "" if response.ms is None else f" after {ms_text(response.ms)}"
    out.field("Response", f"{response.status}{took}")
    _marks(out, request)
    for delivery in request.deliveries:
        delivery_lines(out, delivery)
    out.line()
    _headers(out, request)
    if request.trailers:
        out.line()
        out.line("Trailers, sent after the body:")
        for name, value in request.trailers.pairs:
            out.line(f"{name}: {value}")
    if request.damaged and not damaged:
        out.line()
        out.line(f"(To print what is stored of the body: hookline show {request.id} --damaged)")
    elif request.size:
        out.line()
        _preview(call, request, damaged)


def _marks(out: Output, request: RequestHead) -> None:
    """Print the user's marks."""
    if request.starred:
        out.field("Starred", f"by {request.starred_by}" if request.starred_by else "yes")
    if request.note:
        first, *rest = request.note.splitlines()
        out.field("Note", f"{first} (by {request.noted_by})" if request.noted_by else first)
        for line in rest:
            out.line(f"  {line}")


def delivery_lines(out: Output, delivery: Delivery) -> None:
    """Print the result of one delivery of a request, and how to see its attempts."""
    result, upcoming = result_text(delivery), next_text(delivery)
    if upcoming not in ("-", "now"):
        result = f"{result.removesuffix('.')}. Next attempt: {upcoming}"
    label = "Forwarded to" if delivery.replay is None else "Replayed to"
    out.field(label, f"{delivery.url}: {result}")
    if delivery.attempt_count:
        out.line(f"  Attempts: hookline delivery {delivery.id}")


def _preview(call: Call, request: RequestHead, damaged: bool) -> None:
    """Print the body's beginning if it is text, otherwise how to get it."""
    start = b""
    for piece in _body(call, request, damaged):
        start += piece
        if len(start) > PREVIEW:
            break
    complete = len(start) <= PREVIEW
    # A character cut in two by the limit does not make the body binary.
    text = codecs.getincrementaldecoder("utf-8")("backslashreplace").decode(start[:PREVIEW], final=complete)
    text = text.replace("\r\n", "\n")
    rest = f"hookline show {request.id} --body{' --damaged' if damaged else ''} > FILE"
    if not is_text(text):
        call.out.line(f"({size_text(request.size)} that are not text. To get them: {rest})")
        return
    call.out.untrusted(text if text.endswith("\n") else text + "\n")
    if not complete:
        call.out.line(f"(The first {size_text(PREVIEW)} of {size_text(request.size)}. All of it: {rest})")


T = TypeVar("T")

MARK_HELP = "mark requests as read or unread, star them, or add a note"
MARK_DETAILS = f"{MARK_HELP}. Marks do not protect a request from retention."
MARK_EXAMPLES = (
    ("Star the newest request and add a note", 'hookline mark @last --star --note "charged twice"'),
    ("Mark all requests of an endpoint as read", "hookline mark --endpoint stripe --read"),
    ("Find all starred requests", "hookline requests -q is:starred"),
)
MARKS = ("read", "starred", "note")


def _add_mark(commands: Commands) -> None:
    # Marks that are not given stay.
    parser = commands.add("mark", MARK_HELP, MARK_DETAILS, MARK_EXAMPLES, only_given=True, run=mark)
    parser.add_argument("ids", metavar="ID", nargs="*", default=[], help=ID_HELP)
    text = "with --read, in place of IDs: all requests of this endpoint"
    parser.add_argument("--endpoint", metavar="SLUG", help=text)
    for (yes, yes_help), (no, no_help), dest in (
        (("--read", "mark as read"), ("--unread", "mark as unread"), "read"),
        (("--star", "add a star"), ("--unstar", "remove the star"), "starred"),
    ):
        pair = parser.add_mutually_exclusive_group()
        pair.add_argument(yes, dest=dest, action="store_const", const=True, help=yes_help)
        pair.add_argument(no, dest=dest, action="store_const", const=False, help=no_help)
    note = parser.add_mutually_exclusive_group()
    note.add_argument("--note", metavar="TEXT", help=f"set the note, up to {NOTE_MAX:,} characters")
    note.add_argument("--no-note", dest="note", action="store_const", const=None, help="remove the note")


def mark(call: Call) -> int:
    """Mark the requests that exist; exit code 1 when one does not."""
    marks: dict[str, Any] = {name: getattr(call.options, name) for name in MARKS if hasattr(call.options, name)}
    if not marks:
        raise CliError("Nothing to change. See hookline mark --help for the options.", Exit.USAGE)
    if hasattr(call.options, "endpoint"):
        return _mark_endpoint(call, marks)
    if not call.options.ids:
        raise CliError("Name at least one request by its ID, or an endpoint with --endpoint.", Exit.USAGE)
    asked = call.api.requests.asked
    marked, missing = _each(call, lambda identity: call.api.answer(asked.mark(identity, **marks)))
    text = f"Marked {count_of(len(marked), 'request')}." if marked else None
    call.done([answer.json for answer in marked.values()], text)
    return _end(call, missing)


def _mark_endpoint(call: Call, marks: dict[str, Any]) -> int:
    """Mark all requests of an endpoint as read."""
    if call.options.ids or marks != {"read": True}:
        raise CliError("--endpoint works only with --read, and without IDs.", Exit.USAGE)
    endpoint = call.api.endpoints.get(slug_given(call.options.endpoint))
    call.api.requests.mark_all_read(endpoint.slug)
    count = endpoint.unread_count
    return call.done({"read": endpoint.slug, "requests": count}, f"Marked {count_of(count, 'request')}.")


KEPT = {
    ("starred",): "starred requests",
    ("noted",): "requests with notes",
    ("starred", "noted"): "starred requests and those with notes",
}
RM_HELP = "delete captured requests with their bodies and delivery results"
RM_EXAMPLES = (
    ("Delete the newest request", "hookline rm @last"),
    ("Delete every request that a search finds", "hookline rm --yes $(hookline requests -q is:read | cut -f1)"),
)
CLEAR_HELP = "delete all requests of an endpoint; the endpoint is kept"
CLEAR_EXAMPLES = (
    ("Start a test with an empty endpoint", "hookline clear stripe --yes"),
    ("Delete all requests except those you marked", "hookline clear stripe --keep-starred --keep-noted"),
)


def _add_deleting(commands: Commands) -> None:
    rm = commands.add("rm", RM_HELP, examples=RM_EXAMPLES, run=remove)
    rm.add_argument("ids", metavar="ID", nargs="+", help=ID_HELP)
    add_yes(rm)
    clear = commands.add("clear", CLEAR_HELP, examples=CLEAR_EXAMPLES, run=clear_endpoint)
    clear.add_argument("which", metavar="SLUG", help=SLUG_HELP)
    clear.add_argument("--keep-starred", action="store_true", default=False, help="keep starred requests")
    clear.add_argument("--keep-noted", action="store_true", default=False, help="keep requests with a note")
    add_yes(clear)


def remove(call: Call) -> int:
    """Delete the requests that exist; exit code 1 when one does not."""
    found, missing = _each(call, call.api.requests.head)
    if found:
        first = next(iter(found.values()))
        only = f"{first.method} {first.target} ({first.id})"
        confirm_delete(call.options, f"Delete {only if len(found) == 1 else count_of(len(found), 'request')}?")
    for identity in found:
        call.api.requests.delete(identity)
    call.done({"deleted": list(found)}, f"Deleted {count_of(len(found), 'request')}." if found else None)
    return _end(call, missing)


def clear_endpoint(call: Call) -> int:
    """Delete every request of the endpoint, except those kept for their marks."""
    endpoint = call.api.endpoints.get(slug_given(call.options.which))
    count, slug = endpoint.request_count, endpoint.slug
    keep = [mark for mark in get_args(Mark) if getattr(call.options, f"keep_{mark}")]
    but = f" except {KEPT[tuple(keep)]}" if keep else ""
    confirm_delete(
        call.options, f"Delete {count_of(count, 'request')} of {endpoint.name} ({slug}){but}? The endpoint is kept."
    )
    call.api.requests.clear(slug, keep)
    kept = call.api.endpoints.get(slug).request_count if keep else 0
    deleted = max(0, count - kept)
    also = f" Kept {kept:,}." if keep else ""
    return call.done(
        {"cleared": slug, "requests": deleted} | ({"kept": kept} if keep else {}),
        f"Deleted {count_of(deleted, 'request')} of {endpoint.name}.{also}",
    )


def _each(call: Call, change: Callable[[str], T]) -> tuple[dict[str, T], list[CliError]]:
    """What `change` returns for the requests that exist, by their ids, and an error for each other one."""
    ids, missing = each_id(call.api, request_id, call.options.ids)
    changed: dict[str, T] = {}
    for identity in ids:
        try:
            changed[identity] = change(identity)
        except CliError as error:
            if error.code is not Exit.FAILURE:
                raise
            missing.append(error)
    return changed, missing


def _end(call: Call, missing: list[CliError]) -> int:
    """Print what is wrong; returns the exit code."""
    for error in missing:
        call.out.message(str(error))
    return Exit.FAILURE if missing else Exit.DONE
