"""Targets: the URLs that an endpoint's requests are forwarded to, and when a failed attempt is repeated."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Literal

from app.core.forward_target import forwarded_url
from app.core.record import Headers, Record

RETRY_ON = ("connection", "timeout", "tls", "protocol", "3xx", "4xx", "5xx")
"""The results that a retry rule can name, besides single statuses from 300 to 599."""
RETRY_ON_PATTERN = f"^(?:{'|'.join(RETRY_ON)}|[345][0-9]{{2}})$"
_RETRY_ON = re.compile(RETRY_ON_PATTERN)


class RetryRule(Record, frozen=True):
    """When and how often a failed attempt is repeated, if its result is named in `on`.

    The n-th of at most `retries` waits a random time of up to `first_delay_ms` * 2^(n - 1), at most `longest_delay_ms`;
    a `Retry-After` of the target is obeyed. Attempts that could not connect, so that nothing was sent, are not counted:
    each waits a random time of up to what the delivery has taken so far, within the two delays. All attempts and the
    waits between them take at most `total_ms`, until the last one starts.
    """

    retries: int = 4
    on: tuple[str, ...] = ("connection",)
    first_delay_ms: int = 1_000
    longest_delay_ms: int = 30_000
    total_ms: int = 600_000


def is_retry_on(name: str) -> bool:
    return _RETRY_ON.fullmatch(name) is not None


class TargetDraft(Record, frozen=True):
    """What the user can set on a target.

    `append_path` and `keep_query`: the captured path below the slug, and the query, are added to `url`. `set_headers`
    replace all of their name, `add_headers` come in addition; both after `remove_headers` were removed.
    `client_certificate` and `client_key` are paths of PEM files; the key may be in the certificate's file. The
    authorities in the PEM file `ca_certificate` are trusted too. `parallel`: how many are sent at once, at most; None
    keeps the order: one after the other, and one that waits for its retry
    holds up those after it. `rate_limit`: at most so many requests a second. `attempt_header` names a header with the
    number of the attempt, from 1. After `pause_after` failed deliveries in a row it is paused (0: never); with
    `auto_resume` the first one that waits is then tried again from time to time, and resumes the target.
    """

    url: str
    active: bool = True
    append_path: bool = True
    keep_query: bool = True
    set_headers: Headers = ()
    add_headers: Headers = ()
    remove_headers: tuple[str, ...] = ()
    attempt_header: str | None = None
    host: Literal["target", "sender"] = "target"
    timeout_ms: int = 10_000
    verify_tls: bool = True
    client_certificate: str | None = None
    client_key: str | None = None
    ca_certificate: str | None = None
    follow_redirects: bool = False
    retry: RetryRule = RetryRule()
    parallel: int | None = None
    rate_limit: float | None = None
    pause_after: int = 10
    auto_resume: bool = False

    @property
    def own_headers(self) -> frozenset[str]:
        """The names of the headers that it adds, in lower case."""
        return frozenset(name.lower() for name, _ in (*self.set_headers, *self.add_headers))

    def request_url(self, captured_target: str) -> str:
        """The URL that a capture with this raw target is sent to."""
        return forwarded_url(self.url, captured_target, append_path=self.append_path, keep_query=self.keep_query)


class PausedBy(StrEnum):
    """Who paused a target: the user, or too many failures in a row."""

    USER = "user"
    FAILURES = "failures"


class TargetCounts(Record, frozen=True):
    """The deliveries that wait for a target, and how many failed in a row. `deleted` counts those whose requests were
    deleted before they were sent, until a day passes without one."""

    queued: int = 0
    failures: int = 0
    last_error: str | None = None
    deleted: int = 0


class Target(TargetDraft, frozen=True, kw_only=True):
    """A stored target of an endpoint. While it is paused, deliveries to it stay queued."""

    id: int
    endpoint_id: int
    paused: PausedBy | None = None

    def draft(self) -> TargetDraft:
        """The settable part."""
        return TargetDraft(**{name: getattr(self, name) for name in TargetDraft.__struct_fields__})
