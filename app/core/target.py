"""Targets: the URLs that an endpoint's requests are forwarded to, when a failed attempt is repeated, and the URL of a
delivery: the forward URL, as it may be typed, plus the raw sub-path and query of the capture."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Literal
from urllib.parse import quote, unquote, urlsplit

from app.core.record import Field, Headers, Record

RETRY_ON = ("connection", "timeout", "tls", "protocol", "3xx", "4xx", "5xx")
"""The results that a retry rule can name, besides single statuses from 300 to 599."""
RETRY_ON_PATTERN = f"^(?:{'|'.join(RETRY_ON)}|[345][0-9]{{2}})$"
RETRY_DELAY_MAX_MS = 24 * 3_600_000
_RETRY_ON = re.compile(RETRY_ON_PATTERN)


class RetryRule(Record, frozen=True):
    """When and how often a failed attempt is repeated, if its result is named in `on`.

    The n-th of at most `retries` waits a random time of up to `first_delay_ms` * 2^(n - 1), at most `longest_delay_ms`;
    a `Retry-After` of the target is obeyed. Attempts that could not connect, so that nothing was sent, are not counted:
    each waits a random time of up to what the delivery has taken so far, within the two delays. All attempts and the
    waits between them take at most `total_ms`, until the last one starts.
    """

    retries: Annotated[
        int,
        Field(
            title="Retries",
            help="How often a failed attempt is repeated; those that could not connect do not count.",
            low=0,
            high=50,
        ),
    ] = 4
    on: Annotated[
        tuple[str, ...],
        Field(
            title="Retry on",
            help=f"What is repeated, separated by commas: {', '.join(RETRY_ON)}, or statuses such as 503.",
        ),
    ] = ("connection",)
    first_delay_ms: Annotated[
        int,
        Field(
            title="First delay",
            help="Longest delay before the first retry, doubled for each other one.",
            low=0,
            high=RETRY_DELAY_MAX_MS,
            unit="ms",
        ),
    ] = 1_000
    longest_delay_ms: Annotated[
        int,
        Field(
            title="Longest delay",
            help="What the delay is doubled to at most.",
            low=0,
            high=RETRY_DELAY_MAX_MS,
            unit="ms",
        ),
    ] = 30_000
    total_ms: Annotated[
        int,
        Field(
            title="Total time",
            help="How long a delivery is retried, its waits included.",
            low=0,
            high=7 * 24 * 3_600_000,
            unit="ms",
        ),
    ] = 600_000


def is_retry_on(name: str) -> bool:
    return _RETRY_ON.fullmatch(name) is not None


class TargetDraft(Record, frozen=True):
    """What the user can set on a target.

    `append_path` and `keep_query`: the captured path below the slug, and the query, are added to `url`. `set_headers`
    replace all of their name, `add_headers` come in addition; both after `remove_headers` were removed.
    `client_certificate` and `client_key` are paths of PEM files; the key may be in the certificate's file. The
    authorities in the PEM file `ca_certificate` are trusted too. `parallel`: how many are sent at once, at most; None
    keeps the order: one after the other, and one that waits for its retry
    holds up those after it. `rate_limit`: at most this many requests a second. `attempt_header` names a header with the
    number of the attempt, from 1. After `pause_after` failed deliveries in a row it is paused (0: never); with
    `auto_resume` the first one that waits is then tried again from time to time, and resumes the target.
    """

    url: Annotated[str, Field(title="Target URL")]
    active: bool = True
    append_path: Annotated[
        bool, Field(title="Append path", help="Add the captured path below the slug to the URL.")
    ] = True
    keep_query: Annotated[bool, Field(title="Keep query", help="Add the captured query to the URL.")] = True
    set_headers: Annotated[
        Headers,
        Field(title="Set headers", help="Send this header; replaces all the sender's headers of that name."),
    ] = ()
    add_headers: Annotated[
        Headers, Field(title="Add headers", help="Send this header in addition to the sender's.")
    ] = ()
    remove_headers: Annotated[
        tuple[str, ...], Field(title="Remove headers", help="Leave out the sender's headers of this name.")
    ] = ()
    attempt_header: Annotated[
        str | None,
        Field(
            title="Attempt header",
            help="Send the number of the attempt in this header, such as X-Hookline-Attempt.",
        ),
    ] = None
    host: Annotated[
        Literal["target", "sender"],
        Field(
            title="Host",
            help="The Host header: the target's own, or the sender's.",
            choices=("The target’s", "As the sender sent it"),
        ),
    ] = "target"
    timeout_ms: Annotated[
        int, Field(title="Timeout", help="Maximum time for one attempt.", low=100, high=600_000, unit="ms")
    ] = 10_000
    verify_tls: Annotated[bool, Field(title="Verify TLS", help="Verify the target's certificate.")] = True
    client_certificate: Annotated[
        str | None,
        Field(title="Client certificate", help="Present the certificate in this PEM file.", unit="file"),
    ] = None
    client_key: Annotated[
        str | None,
        Field(title="Client key", help="The key of the certificate, unless it is in the same file.", unit="file"),
    ] = None
    ca_certificate: Annotated[
        str | None,
        Field(title="CA certificate", help="Also trust the authorities in this PEM file.", unit="file"),
    ] = None
    follow_redirects: Annotated[
        bool, Field(title="Follow redirects", help="Follow redirects within the time limit.")
    ] = False
    retry: RetryRule = RetryRule()
    parallel: Annotated[
        int | None,
        Field(
            title="Parallel deliveries",
            help="Send this many at once; while one waits for its retry, the others go on.",
            low=1,
            high=64,
        ),
    ] = None
    rate_limit: Annotated[
        float | None,
        Field(
            title="Rate limit",
            help="Send at most this many.",
            low=0.01,
            high=1_000,
            unit="requests a second",
        ),
    ] = None
    pause_after: Annotated[
        int,
        Field(
            title="Pause after",
            help="Pause the target after this many failed deliveries in a row; 0: never.",
            low=0,
            high=10_000,
        ),
    ] = 10
    auto_resume: Annotated[
        bool,
        Field(
            title="Resume by itself",
            help="After such a pause, try the first delivery again from time to time, and resume once it is delivered.",
        ),
    ] = False

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


_AUTHORITY = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]*://[^/?]*")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_UNSEEN = re.compile(r"[\x00-\x20\x7f]")
_PORT_ALONE = re.compile(r":?([0-9]+(?:[/?].*)?)", re.DOTALL)
_WITHOUT_SCHEME = re.compile(
    r"(?!https?:)([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]+(?:[/?].*)?|localhost(?:[/?].*)?", re.DOTALL
)
_READINGS = 3
"""As sent, decoded once, decoded twice."""


def full_url(typed: str) -> str:
    """The URL that was meant: `3000`, `:3000` and `localhost:3000` are `http://localhost:3000`. Any other text stays as
    it is, for `forward_url_error`."""
    if found := _PORT_ALONE.fullmatch(typed):
        return f"http://localhost:{found[1]}"
    return f"http://{typed}" if _WITHOUT_SCHEME.fullmatch(typed) else typed


def target_below(forward_url: str, captured: str, *, append_path: bool = True, keep_query: bool = True) -> str:
    """The request target to send: nothing is decoded, resolved or re-encoded.

    Only bytes that are not allowed in a request line (blanks, controls, beyond ASCII) are percent-encoded. `captured`
    is the raw target `/catch/{slug}…` with one Latin-1 character per byte; `append_path` and `keep_query` say which
    parts of it are sent.
    """
    own = urlsplit(forward_url)
    below = sub_path(captured) if append_path else ""
    _, mark, query = captured.partition("?") if keep_query else ("", "", "")
    own_path = own.path.removesuffix("/") if below else own.path
    queries = [part for part in (sendable(own.query, "utf-8"), sendable(query, "latin-1")) if part]
    mark = "?" if queries else mark
    return (sendable(own_path, "utf-8") + sendable(below, "latin-1") or "/") + mark + "&".join(queries)


def forwarded_url(forward_url: str, captured: str, *, append_path: bool = True, keep_query: bool = True) -> str:
    """The URL that a capture is delivered to: the forward URL combined by `target_below`.

    Only the forward URL if nothing is sent because of `escapes_path`.
    """
    if append_path and escapes_path(captured):
        return forward_url
    own = urlsplit(forward_url)
    target = target_below(forward_url, captured, append_path=append_path, keep_query=keep_query)
    return f"{own.scheme}://{own.netloc}{target}"


def sendable(text: str, encoding: str = "utf-8") -> str:
    """A URL, or a part of one, with the characters percent-encoded that are not allowed in a request line."""
    return quote(text, safe=_PRINTABLE, encoding=encoding)


def sub_path(captured: str) -> str:
    """The path after `/catch/{slug}` in a raw target, with its leading slash; empty without one."""
    path = _AUTHORITY.sub("", captured, count=1).partition("?")[0]
    _, slash, below = path.partition("/catch/")[2].partition("/")
    return slash + below


def escapes_path(captured: str) -> bool:
    """Whether the sub-path of a raw target could lead above the path of the forward URL on any server.

    Servers differ in how often they decode a path, and in how they treat `%2F`, backslashes, `;parameters` and
    controls. So a segment counts as one level down at most, as sent, and as many up as the widest reading finds.
    """
    below = sub_path(captured)
    if "." not in below and "%" not in below:
        return False
    depth = 0
    for segment in below.split("/"):
        up, down = _steps(segment)
        depth -= up
        if depth < 0:
            return True
        depth += down
    return False


def _steps(segment: str) -> tuple[int, int]:
    """How many levels a raw segment goes up at most, and down at least."""
    up, down = 0, 1
    for _ in range(_READINGS):
        pieces = [re.split("[;?#]", piece)[0] for piece in re.split(r"[/\\]", _UNSEEN.sub("", segment))]
        up = max(up, pieces.count(".."))
        if all(piece in ("", ".", "..") for piece in pieces) or up:
            down = 0
        segment = unquote(segment, encoding="latin-1")
    return up, down
