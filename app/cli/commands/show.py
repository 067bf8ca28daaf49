"""`hookline show`: one captured request, or one part of it."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import TYPE_CHECKING

from app.cli.call import Call
from app.cli.command import Commands
from app.cli.commands.deliveries import next_text, result_text
from app.cli.errors import CliError, Exit
from app.cli.identifiers import ID_HELP, request_id
from app.cli.output import Output, is_text, write_bytes
from app.core.clock import microseconds
from app.core.curl import PASTE_MAX, SentRequest, body_file, curl_command
from app.core.raw_request import head_bytes, trailer_bytes
from app.core.text import ms_text, size_text, source_text, time_text

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
    """Add the command to the command line."""
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
