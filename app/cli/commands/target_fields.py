"""The options of `hookline target add` and `edit`."""

from __future__ import annotations

import argparse

from app.cli.field_options import PREFIX, add_fields
from app.core.fields import fields_of
from app.core.target import RETRY_ON, RetryRule, TargetDraft, is_retry_on

FLAGS = {
    "keep_query": "--query",
    "verify_tls": "--no-insecure",
    "client_certificate": "--client-cert",
    "ca_certificate": "--ca-cert",
    "retry.retries": "--retries",
    "retry.first_delay_ms": "--retry-delay",
    "retry.longest_delay_ms": "--retry-longest-delay",
    "retry.total_ms": "--retry-time",
}
"""The options that are not named as their field is."""


OPPOSITES = {
    "parallel": (
        "--in-order",
        "send one after the other, as captured; one that waits for its retry holds up the others (the default)",
    ),
    "verify_tls": ("--insecure", "accept any certificate of the target"),
}


def add_target_fields(parser: argparse.ArgumentParser) -> None:
    """Add the options that `add` and `edit` share. The parser must leave out absent options."""
    add_fields(parser, TargetDraft, flags=FLAGS, opposites=OPPOSITES, without=("url", "retry.on"))
    parser.add_argument(
        "--retry-on",
        type=_kinds,
        metavar="RESULTS",
        dest=f"{PREFIX}retry.on",
        help=f"{fields_of(RetryRule)['on'].help.lower()[:-1]} (default: connection)",
    )


def _kinds(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if not is_retry_on(name):
            known = ", ".join(RETRY_ON)
            raise argparse.ArgumentTypeError(f"{name!r} is not a result; use any of {known}, or a status such as 503")
    return list(dict.fromkeys(names))
