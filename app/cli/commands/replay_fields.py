"""The options of `hookline replay`, and the fields of the replay made from them."""

from __future__ import annotations

import argparse
import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.argument_types import (
    moment,
    number,
    scale,
    seconds_between,
    share,
    whole_number,
    whole_number_between,
)
from app.cli.commands.requests import QUERY_HELP
from app.cli.errors import CliError, Exit
from app.cli.field_options import header_of
from app.core.hop_by_hop import end_to_end
from app.core.replay.spec import CONCURRENCY_MAX, DELAY_MAX_MS, GAP_MAX_MS, RATE_MAX, TIMES_MAX

if TYPE_CHECKING:
    from hookline.records import RequestHead

STDIN = Path("-")
TIME_HELP = "a time such as 2026-11-01T09:30, a day, or how long ago, such as 2h"
FAULTS = (
    ("--duplicate", "duplicate", "send this share of requests twice, such as 5%%"),
    ("--swap", "swap", "exchange this share with the next request"),
    ("--drop", "drop", "leave out this share"),
    ("--delay", "delay", "send this share late, without holding up the others"),
    ("--cut-off", "cut_off", "close the connection in the middle of the body of this share"),
)
SELECTING = {"query": "-q", "after": "--after", "before": "--before"}
EDITING = {"method": "--method", "headers": "--header", "body": "--body", "body_file": "--body-file"}
"""Options by their names in the namespace."""


def add_fields(parser: argparse.ArgumentParser) -> None:
    """Add all options. The parser must leave out absent ones."""
    selecting = parser.add_argument_group("which requests of an endpoint")
    selecting.add_argument("--endpoint", metavar="SLUG", help="all requests of this endpoint, oldest first")
    selecting.add_argument("-q", dest="query", metavar="QUERY", help=QUERY_HELP)
    selecting.add_argument("--after", type=moment, metavar="TIME", help=f"only requests received since: {TIME_HELP}")
    selecting.add_argument("--before", type=moment, metavar="TIME", help="only requests received before: likewise")
    text = "also send requests whose sender disconnected before the end; without this they are left out"
    parser.add_argument("--incomplete", action="store_true", help=text)
    to = parser.add_argument_group("where they are sent").add_mutually_exclusive_group()
    text = "send them to this URL, not to their endpoint's targets; sub-path and query are added to it"
    to.add_argument("--to", dest="url", metavar="URL", help=text)
    to.add_argument("--to-endpoint", metavar="SLUG", help="send them to this endpoint of Hookline, which captures them")
    _add_edits(parser.add_argument_group("what is sent in place of what was captured, for one request"))
    _add_pace(parser.add_argument_group("when they are sent"))
    faults = parser.add_argument_group("faults made on purpose")
    for option, name, text in FAULTS:
        faults.add_argument(option, dest=name, type=share, metavar="SHARE", help=text)
    text = "how late --delay sends at most (1)"
    late = seconds_between(0, DELAY_MAX_MS)
    faults.add_argument("--delay-max", dest="delay_max_ms", type=late, metavar="SECONDS", help=text)
    faults.add_argument("--seed", type=whole_number, metavar="N", help="the same seed makes the same faults (0)")


def _add_edits(group: Any) -> None:
    group.add_argument("--method", metavar="METHOD", help="send this method")
    group.add_argument(
        "--header",
        dest="headers",
        action="append",
        metavar="HEADER",
        help='send this header, as "Name: value", in place of all captured ones of that name; may be repeated',
    )
    body = group.add_mutually_exclusive_group()
    body.add_argument("--body", metavar="TEXT", help="send this text as the body")
    body.add_argument("--body-file", type=Path, metavar="FILE", help="send this file as the body; - for standard input")


def _add_pace(group: Any) -> None:
    group.add_argument(
        "--gaps", choices=("none", "original"), help="each as soon as possible (the default), or spaced as received"
    )
    group.add_argument(
        "--speed", dest="scale", type=scale, metavar="FACTOR", help="original gaps, this much faster, such as 2x"
    )
    group.add_argument(
        "--longest-gap",
        dest="longest_gap_ms",
        type=seconds_between(0, GAP_MAX_MS),
        metavar="SECONDS",
        help="original gaps, but none longer than this",
    )
    group.add_argument("--rate", type=number, metavar="N", help=f"this many per second, up to {RATE_MAX:,}")
    group.add_argument(
        "--parallel",
        dest="concurrency",
        type=whole_number_between(1, CONCURRENCY_MAX),
        metavar="N",
        help=f"how many are sent at once, 1 to {CONCURRENCY_MAX}; 1 keeps their order (1)",
    )
    group.add_argument(
        "--times", type=whole_number, metavar="N", help=f"send each this often, up to {TIMES_MAX:,} times (1)"
    )


def check_options(options: argparse.Namespace) -> None:
    """CliError for options that do not go together."""
    endpoint = hasattr(options, "endpoint")
    if endpoint == bool(options.ids):
        raise CliError("Name requests, or use --endpoint. See hookline replay --help.", Exit.USAGE)
    if not endpoint and (wrong := _given(options, SELECTING)):
        raise CliError(f"{wrong[0]} only works with --endpoint.", Exit.USAGE)
    if (wrong := _given(options, EDITING)) and (endpoint or len(options.ids) > 1):
        raise CliError(f"{wrong[0]} only works with a single request.", Exit.USAGE)
    gaps = _given(options, {"scale": "--speed", "longest_gap_ms": "--longest-gap"})
    if gaps and getattr(options, "gaps", "") == "none":
        raise CliError(f"{gaps[0]} cannot be combined with --gaps none.", Exit.USAGE)
    if hasattr(options, "rate") and (gaps or getattr(options, "gaps", "") == "original"):
        raise CliError(f"--rate cannot be combined with {(*gaps, '--gaps original')[0]}.", Exit.USAGE)


def sending_fields(options: argparse.Namespace) -> dict[str, Any]:
    """Where and when, and with which faults."""
    names = (
        "url",
        "to_endpoint",
        "gaps",
        "scale",
        "longest_gap_ms",
        "rate",
        "concurrency",
        "times",
        "seed",
        "incomplete",
    )
    fields: dict[str, Any] = {name: getattr(options, name) for name in names if hasattr(options, name)}
    if "scale" in fields or "longest_gap_ms" in fields:
        fields["gaps"] = "original"
    faults = (*(name for _, name, _ in FAULTS), "delay_max_ms")
    given = {name: getattr(options, name) for name in faults if hasattr(options, name)}
    return {**fields, "faults": given} if given else fields


def selecting_fields(options: argparse.Namespace) -> dict[str, Any]:
    """Which requests of `--endpoint`."""
    fields: dict[str, Any] = {"endpoint": options.endpoint, "q": getattr(options, "query", "")}
    return fields | {name: getattr(options, name) for name in ("after", "before") if hasattr(options, name)}


def is_edited(options: argparse.Namespace) -> bool:
    return bool(_given(options, EDITING))


def edit_of(options: argparse.Namespace, request: RequestHead) -> dict[str, Any]:
    """What is sent in place of what `request` has; CliError for what cannot be read."""
    edit: dict[str, Any] = {"method": options.method} if hasattr(options, "method") else {}
    body = _body(options)
    if body is not None:
        edit["body_base64"] = base64.b64encode(body).decode()
    headers = _headers(options, request.headers.pairs, new_body=body is not None)
    return edit if headers is None else {**edit, "headers": headers}


def _headers(
    options: argparse.Namespace, captured: tuple[tuple[str, str], ...], *, new_body: bool
) -> list[tuple[str, str]] | None:
    """None: as captured. A new body is not compressed as the captured one was."""
    given = [header_of(line, "--header") for line in getattr(options, "headers", [])]
    replaced = {name.lower() for name, _ in given}
    compressed = new_body and any(name.lower() == "content-encoding" for name, _ in captured)
    if not given and not compressed:
        return None
    replaced |= {"host", "content-encoding"} if compressed else {"host"}
    kept = [(name, value) for name, value in end_to_end(captured) if name.lower() not in replaced]
    return [*kept, *((name, value) for name, value in given)]


def _body(options: argparse.Namespace) -> bytes | None:
    if hasattr(options, "body"):
        text: str = options.body
        return text.encode()
    if not hasattr(options, "body_file"):
        return None
    file: Path = options.body_file
    try:
        return sys.stdin.buffer.read() if file == STDIN else file.expanduser().read_bytes()
    except OSError as error:
        raise CliError(f"The body cannot be read from {file}: {error.strerror}.", Exit.ENVIRONMENT) from error


def _given(options: argparse.Namespace, names: dict[str, str]) -> list[str]:
    return [option for name, option in names.items() if hasattr(options, name)]
