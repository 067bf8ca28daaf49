"""The options of `hookline target add` and `edit`, and the target fields made from them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from app.cli.argument_types import seconds_between, whole_number
from app.cli.commands.endpoint_fields import header_of
from app.core.rules import (
    PARALLEL_MAX,
    PAUSE_AFTER_MAX,
    RATE_LIMIT_MAX,
    RATE_LIMIT_MIN,
    RETRIES_MAX,
    RETRY_DELAY_MAX_MS,
    RETRY_TOTAL_MAX_MS,
    TIMEOUT_MAX_MS,
    TIMEOUT_MIN_MS,
)
from app.core.target import RETRY_ON, is_retry_on

FLAT = (
    *("url", "position", "timeout_ms", "parallel", "rate_limit", "pause_after", "remove_headers"),
    *("attempt_header", "auto_resume"),
    *("verify_tls", "append_path", "keep_query", "follow_redirects"),
)
RETRY = {
    "retries": "retries",
    "retry_on": "on",
    "retry_delay": "first_delay_ms",
    "retry_longest_delay": "longest_delay_ms",
    "retry_time": "total_ms",
}
"""The fields of the retry rule by the names of their options."""
FILES = {"client_cert": "client_certificate", "client_key": "client_key", "ca_cert": "ca_certificate"}


def add_fields(parser: argparse.ArgumentParser) -> None:
    """Add the options that `add` and `edit` share. The parser must leave out absent options."""
    _add_request(parser)
    _add_connection(parser)
    limit = f"0 to {RETRIES_MAX}"
    parser.add_argument(
        "--retries",
        type=whole_number,
        metavar="N",
        help=f"how often a failed attempt is repeated, {limit} (4); those that could not connect do not count",
    )
    parser.add_argument(
        "--retry-on",
        type=_kinds,
        metavar="RESULTS",
        help=f"what is repeated, separated by commas: {', '.join(RETRY_ON)}, or statuses such as 503 (connection)",
    )
    for option, most_ms, text in (
        ("--retry-delay", RETRY_DELAY_MAX_MS, "longest delay before the first retry, doubled for each other one (1)"),
        ("--retry-longest-delay", RETRY_DELAY_MAX_MS, "what the delay is doubled to at most (30)"),
        ("--retry-time", RETRY_TOTAL_MAX_MS, "how long a delivery is retried, its waits included (600)"),
    ):
        parser.add_argument(option, type=seconds_between(0, most_ms), metavar="SECONDS", help=text)
    order = parser.add_mutually_exclusive_group()
    order.add_argument(
        "--in-order",
        action="store_const",
        const=None,
        dest="parallel",
        help="send one after the other, as captured; one that waits for its retry holds up the others (the default)",
    )
    order.add_argument(
        "--parallel",
        type=whole_number,
        metavar="N",
        help=f"send up to N at once, 1 to {PARALLEL_MAX}; while one waits for its retry, the others go on",
    )
    parser.add_argument(
        "--pause-after",
        type=whole_number,
        metavar="N",
        help=f"pause the target after this many failed deliveries in a row, up to {PAUSE_AFTER_MAX:,}; 0: never (10)",
    )
    text = "after such a pause, try the first delivery again from time to time, and resume once it is delivered"
    _switch(parser, "auto_resume", "--auto-resume", text)
    rate = parser.add_mutually_exclusive_group()
    text = f"send at most so many requests a second, {RATE_LIMIT_MIN:g} to {RATE_LIMIT_MAX:,}"
    rate.add_argument("--rate-limit", type=float, metavar="N", help=text)
    rate.add_argument(
        "--no-rate-limit", action="store_const", const=None, dest="rate_limit", help="use no --rate-limit"
    )


def _add_request(parser: argparse.ArgumentParser) -> None:
    for verb, text in (
        ("set", "replaces all the sender's headers of that name"),
        ("add", "in addition to the sender's"),
    ):
        headers = parser.add_mutually_exclusive_group()
        headers.add_argument(
            f"--{verb}-header",
            action="append",
            metavar="HEADER",
            dest=f"{verb}_headers",
            help=f'send this header, as "Name: value"; {text}; may be repeated; replaces all previous --{verb}-header',
        )
        headers.add_argument(
            f"--no-{verb}-headers",
            action="store_const",
            const=[],
            dest=f"{verb}_headers",
            help=f"forget all --{verb}-header",
        )
    removed = parser.add_mutually_exclusive_group()
    removed.add_argument(
        "--remove-header",
        action="append",
        metavar="NAME",
        dest="remove_headers",
        help="leave out the sender's headers of this name; may be repeated; replaces all previous --remove-header",
    )
    removed.add_argument(
        "--no-remove-headers",
        action="store_const",
        const=[],
        dest="remove_headers",
        help="forget all --remove-header",
    )
    number = parser.add_mutually_exclusive_group()
    text = "send the number of the attempt in this header, such as X-Hookline-Attempt"
    number.add_argument("--attempt-header", metavar="NAME", help=text)
    number.add_argument(
        "--no-attempt-header", action="store_const", const=None, dest="attempt_header", help="use no --attempt-header"
    )
    _switch(parser, "append_path", "--append-path", "add the captured path below the slug to the URL (the default)")
    _switch(parser, "keep_query", "--query", "add the captured query to the URL (the default)")
    parser.add_argument(
        "--host",
        choices=("target", "sender"),
        dest="host_header",  # `host` is an option of `serve`
        help="the Host header: the target's own (the default), or the sender's",
    )


def _add_connection(parser: argparse.ArgumentParser) -> None:
    limits = f"{TIMEOUT_MIN_MS / 1000:g} to {TIMEOUT_MAX_MS // 1000} s"
    parser.add_argument(
        "--timeout",
        type=seconds_between(TIMEOUT_MIN_MS, TIMEOUT_MAX_MS),
        metavar="SECONDS",
        dest="timeout_ms",
        help=f"maximum time for one attempt, {limits} (10)",
    )
    tls = parser.add_mutually_exclusive_group()
    tls.add_argument(
        "--insecure", action="store_const", const=False, dest="verify_tls", help="accept any certificate of the target"
    )
    tls.add_argument(
        "--no-insecure", action="store_const", const=True, dest="verify_tls", help="verify it (the default)"
    )
    for name, text in (
        ("client-cert", "present the certificate in this PEM file"),
        ("client-key", "the key of --client-cert, unless it is in the same file"),
        ("ca-cert", "also trust the authorities in this PEM file"),
    ):
        group = parser.add_mutually_exclusive_group()
        group.add_argument(f"--{name}", type=Path, metavar="FILE", help=text)
        dest = name.replace("-", "_")
        group.add_argument(f"--no-{name}", action="store_const", const=None, dest=dest, help=f"use no --{name}")
    _switch(parser, "follow_redirects", "--follow-redirects", "follow redirects within the time limit")


def _switch(parser: argparse.ArgumentParser, field: str, option: str, text: str) -> None:
    """Add an option for a field that is true or false, and its opposite."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(option, action="store_const", const=True, dest=field, help=text)
    no = f"--no-{option.removeprefix('--')}"
    group.add_argument(no, action="store_const", const=False, dest=field, help=f"the opposite of {option}")


def given_fields(options: argparse.Namespace) -> dict[str, Any]:
    """The target fields given on the command line; CliError when a value cannot be read."""
    fields: dict[str, Any] = {name: getattr(options, name) for name in FLAT if hasattr(options, name)}
    if hasattr(options, "host_header"):
        fields["host"] = options.host_header
    for verb in ("set", "add"):
        if hasattr(options, f"{verb}_headers"):
            lines = getattr(options, f"{verb}_headers")
            fields[f"{verb}_headers"] = [header_of(line, f"--{verb}-header") for line in lines]
    for option, name in FILES.items():
        if hasattr(options, option):
            file: Path | None = getattr(options, option)
            # The program that reads it may run in another folder.
            fields[name] = None if file is None else str(file.expanduser().absolute())
    given = {option: name for option, name in RETRY.items() if hasattr(options, option)}
    retry = {name: getattr(options, option) for option, name in given.items()}
    if retry:
        fields["retry"] = retry
    return fields


def _kinds(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if not is_retry_on(name):
            known = ", ".join(RETRY_ON)
            raise argparse.ArgumentTypeError(f"{name!r} is not a result; use any of {known}, or a status such as 503")
    return list(dict.fromkeys(names))
