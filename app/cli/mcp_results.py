"""What the tools of an agent return: the API's objects without secrets, of bounded size, and parts of bodies, without
content coding too. Times are RFC 3339 texts."""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, TypeVar

from app.core.bodies.decompressor import Decompressor, codings, unsupported_reason
from app.core.bodies.gist_json import MORE
from app.core.bodies.media_types import content_type_of
from app.core.clock import microseconds, rfc3339
from app.core.delivery import reason_text
from app.core.redaction.body import AFTER_BYTES, redacted_body
from app.core.redaction.in_text import redacted_headers, redacted_text, redacted_url
from app.core.text import shortened
from hookline.records import Attempt, Delivery, Endpoint, RequestHead, Status, Summary

S = TypeVar("S", bound="Shape")

TEXT_MAX = 2_000
"""Characters of a text; in a list `LISTED_MAX`."""
LISTED_MAX = 500
HEADERS_MAX = 16 * 1024
"""Characters of all headers of a message."""
DELIVERIES_MAX = 20
TARGETS_MAX = 20

_QUOTATION = re.compile(r"(illegal [\w -]{1,40}): .*", re.DOTALL)
"""In an error, of what a target sent."""


@dataclass(frozen=True)
class Shape:
    """What is made of one of the API's records."""


@dataclass(frozen=True)
class StatusShape(Shape):
    """`running`: whether requests are captured, by this Hookline or another node of a team's store. `capture_url` is
    None while this one does not capture."""

    version: str
    running: bool
    capture_url: str | None
    base_url: str
    tunnel: str | None
    plan: str
    requests: int
    problems: list[str]


@dataclass(frozen=True)
class EndpointShape(Shape):
    """An endpoint. Requests to `url` are captured while it is `active`, and forwarded to the `targets`. If `url` begins
    with a tunnel's URL, `tunnel` is its state, and the URL works only while that is up."""

    slug: str
    name: str
    description: str
    tags: list[str]
    url: str
    tunnel: str | None
    active: bool
    retention_days: int
    request_count: int
    last_request_at: str | None
    targets: list[str]


@dataclass(frozen=True)
class FoundEndpoints:
    """Endpoints in the user's order. `more`: there are others."""

    endpoints: list[EndpointShape]
    more: bool


@dataclass(frozen=True)
class SummaryShape(Shape):
    """A request in a list. `response_status` is what its sender got, `delivery` the state of its deliveries (none,
    queued, delivered, not_sent or failed), `summary` what it holds in a few words, `note` the user's note."""

    id: str
    endpoint: str
    received_at: str
    method: str
    target: str
    content_type: str
    size: int
    response_status: int
    delivery: str
    provider: str | None
    event: str | None
    summary: str | None
    note: str | None


@dataclass(frozen=True)
class FoundRequests:
    """Requests, newest first. `more`: there are older ones that match. `unexamined` counts requests that may match and
    are left out: what their compressed bodies unpack to is too long."""

    requests: list[SummaryShape]
    more: bool
    unexamined: int = 0


@dataclass(frozen=True)
class BodyShape:
    """A part of a body. `text` is None if it is not text; `base64` then holds it. `size` is the whole body's, in bytes
    as sent; `next_offset` is where the rest begins, None at the end. `note` says what is missing, and why."""

    size: int
    offset: int
    text: str | None
    base64: str | None
    next_offset: int | None
    note: str | None


@dataclass(frozen=True)
class DeliveryShape(Shape):
    """A delivery of a request to one target, with the result of its last attempt. `ms` is its duration in
    milliseconds."""

    id: str
    request: str
    endpoint: str
    url: str
    state: str
    attempts: int
    status: int | None
    ms: float | None
    error: str | None
    replay: bool
    queued_at: str
    next_attempt_at: str | None


@dataclass(frozen=True)
class FoundDeliveries:
    """Deliveries, newest first. `more`: there are older ones."""

    deliveries: list[DeliveryShape]
    more: bool


@dataclass(frozen=True)
class AttemptShape(Shape):
    """One try of a delivery: what was sent, and what came back. `error` is None if it succeeded."""

    number: int
    trigger: str
    started_at: str
    ms: float
    method: str
    url: str
    headers: list[tuple[str, str]]
    status: int | None
    response_headers: list[tuple[str, str]]
    response_size: int
    error: str | None


@dataclass(frozen=True)
class FullDelivery:
    """A delivery with its last 5 attempts, and the start of the last response's body."""

    delivery: DeliveryShape
    attempts: list[AttemptShape]
    response_body: BodyShape | None


@dataclass(frozen=True)
class ReplayResults:
    """The deliveries of a replay, one to each target."""

    deliveries: list[FullDelivery]


@dataclass(frozen=True)
class RequestShape(Shape):
    """A request in full, with the last 20 of its deliveries. `response_status` is what its sender got; it is not
    `complete` if the sender disconnected within the body; `note` is the user's. `redacted`: secrets in it were replaced
    by `[redacted]`."""

    id: str
    endpoint: str
    received_at: str
    method: str
    target: str
    http_version: str
    source_address: str
    complete: bool
    headers: list[tuple[str, str]]
    body: BodyShape
    response_status: int
    provider: str | None
    event: str | None
    note: str | None
    delivery_count: int
    deliveries: list[DeliveryShape]
    redacted: bool


@dataclass(frozen=True)
class WaitResult:
    """`request` is None when none came within the time. Wait again with `position` as `after`."""

    request: SummaryShape | None
    position: str


@dataclass(frozen=True)
class SentShape:
    """What Hookline responded to a request that was sent to an endpoint, with the start of the body."""

    url: str
    status: int
    body: BodyShape


class Serializer:
    """`show_secrets` switches redaction off."""

    def __init__(self, *, show_secrets: bool) -> None:
        self.show_secrets = show_secrets

    def url(self, url: str, most: int = TEXT_MAX) -> str:
        """A URL or request target."""
        return self._shortened(url, redacted_url, most)

    def text(self, text: str, most: int = TEXT_MAX) -> str:
        """A text that somebody wrote."""
        return self._shortened(text, redacted_text, most)

    def headers(self, headers: Sequence[tuple[str, str]], secret: str = "") -> list[tuple[str, str]]:
        """The first headers, with a line that counts the others if they are too long. `secret` names a secret one."""
        shown: list[tuple[str, str]] = []
        free = HEADERS_MAX
        for name, value in headers:
            pair = [(name, value[: 4 * TEXT_MAX])]
            plain = pair if self.show_secrets else redacted_headers(pair, secret)
            shown += [(shortened(one, LISTED_MAX), shortened(other, TEXT_MAX)) for one, other in plain]
            free -= len(shown[-1][0]) + len(shown[-1][1]) + 2
            if free < 0:
                break
        left = len(headers) - len(shown)
        return [*shown, (MORE, f"{left} more headers")] if left else shown

    def status(self, status: Status) -> StatusShape:
        problems = [*status.warnings, *([status.storage] if status.storage != "ok" else [])]
        return _shape(
            StatusShape,
            status,
            running=status.captures,
            requests=status.counts.requests,
            problems=[self.text(problem) for problem in problems],
        )

    def endpoint(self, endpoint: Endpoint) -> EndpointShape:
        return _shape(
            EndpointShape,
            endpoint,
            name=self.text(endpoint.name),
            description=self.text(endpoint.description, LISTED_MAX),
            tags=[self.text(tag) for tag in endpoint.tags],
            targets=[self.url(target.url, LISTED_MAX) for target in endpoint.targets[:TARGETS_MAX]],
        )

    def summary(self, row: Summary) -> SummaryShape:
        return _shape(
            SummaryShape,
            row,
            target=self.url(row.target, LISTED_MAX),
            content_type=self.text(row.content_type, LISTED_MAX),
            response_status=row.response.status,
            event=self._optional(row.event),
            summary=self._optional(row.gist),
            note=self._optional(row.note),
        )

    def request(self, found: RequestHead, body: BodyShape, secret: str) -> RequestShape:
        """`secret` is the name of the header that the endpoint asks senders for, or empty."""
        deliveries = found.deliveries
        return _shape(
            RequestShape,
            found,
            target=self.url(found.target, HEADERS_MAX),
            source_address=found.source.address,
            headers=self.headers(found.headers.pairs, secret),
            body=body,
            response_status=found.response.status,
            event=self._optional(found.event),
            note=None if found.note is None else self.text(found.note),
            delivery_count=len(deliveries),
            deliveries=[self.delivery(one) for one in deliveries[-DELIVERIES_MAX:]],
            redacted=not self.show_secrets,
        )

    def delivery(self, row: Delivery) -> DeliveryShape:
        return _shape(
            DeliveryShape,
            row,
            url=self.url(row.url, LISTED_MAX),
            attempts=row.attempt_count,
            error=self._optional(reason_text(self._unquoted(row.error), row.next_step) or None),
            replay=row.replay is not None,
            next_attempt_at=_plain(row.due_at),
        )

    def attempt(self, row: Attempt, secret: str) -> AttemptShape:
        """`secret` as in `request`."""
        return _shape(
            AttemptShape,
            row,
            url=self.url(row.url),
            headers=self.headers(row.headers.pairs, secret),
            response_headers=self.headers(row.response_headers.pairs),
            error=None if row.error is None else self.text(self._unquoted(row.error) or ""),
        )

    def _unquoted(self, error: str | None) -> str | None:
        return error if error is None or self.show_secrets else _QUOTATION.sub(r"\1.", error)

    def _optional(self, text: str | None) -> str | None:
        """In a list."""
        return None if text is None else self.text(text, LISTED_MAX)

    def _shortened(self, text: str, redact: Callable[[str], str], most: int) -> str:
        # No more than can be shown is read, and what shows a secret by what follows it.
        return shortened(text if self.show_secrets else redact(text[: 4 * most]), most)


def _shape(kind: type[S], record: object, **shown: Any) -> S:
    """A tool's object with what is `shown`, and else with the fields of the same name in the API's record, as they are:
    none of those is long or can hold a secret."""
    names = [field.name for field in fields(kind) if field.name not in shown]
    return kind(**{name: _plain(getattr(record, name)) for name in names}, **shown)


def _plain(value: Any) -> Any:
    """A time as RFC 3339."""
    return rfc3339(microseconds(value)) if isinstance(value, datetime) else value


REDACTED_MAX = 1024 * 1024
"""How much of a body can be read without its secrets: each part is read from the beginning, for the names above it."""
TOO_LONG = "Without secrets, only the first 1 MiB of a body can be read."
_PIECE = 64 * 1024

Headers = Sequence[tuple[str, str]]


def part_as_sent(pieces: Iterator[bytes], size: int, limit: int, offset: int) -> BodyShape:
    """At most `limit` bytes from `offset`; `size` is the whole body's."""
    data = _read(pieces, Decompressor(()), offset + limit, skip=offset)[0] if limit else b""
    cut_off = _cut_off(data)
    data = data[: len(data) - (cut_off or 0)]
    reached = offset + len(data)
    rest = reached if (data or not limit) and reached < size else None
    return _body_shape(data, is_text=cut_off is not None, size=size, offset=offset, next_offset=rest, note=None)


def part_without_secrets(pieces: Iterator[bytes], headers: Headers, size: int, limit: int, offset: int) -> BodyShape:
    """The same of the decompressed body, with secrets replaced. `headers` are those of the body."""
    names = codings(headers)
    if reason := unsupported_reason(names):
        why = f"{reason} It is not shown, for it may hold secrets."
        return _body_shape(b"", is_text=True, size=size, offset=offset, next_offset=None, note=why)
    if offset >= REDACTED_MAX:
        return _body_shape(b"", is_text=True, size=size, offset=offset, next_offset=None, note=TOO_LONG)
    end = min(offset + limit, REDACTED_MAX)
    data, problem = _read(pieces, Decompressor(names), end + AFTER_BYTES)
    part = data[offset:end]
    cut_off = _cut_off(part)
    end = min(end, len(data)) - (cut_off or 0)
    shown, note = redacted_body(data, content_type_of(headers), offset, max(offset, end))
    more = (bool(part) or not limit) and end < len(data)
    notes = [
        problem,
        note,
        TOO_LONG if end >= REDACTED_MAX and more else None,
        f"Decompressed from {', '.join(names)}; offsets count decompressed bytes." if names else None,
    ]
    rest = end if more and end < REDACTED_MAX and (shown or not note) else None
    told = " ".join(filter(None, notes)) or None
    return _body_shape(shown, is_text=cut_off is not None, size=size, offset=offset, next_offset=rest, note=told)


def _read(pieces: Iterator[bytes], decompressor: Decompressor, most: int, *, skip: int = 0) -> tuple[bytes, str | None]:
    """At most `most` bytes, without the first `skip` of them; and why the rest cannot be decompressed."""
    data, before = bytearray(), skip
    most -= skip
    for piece in pieces:
        decompressor.feed(piece)
        while len(data) < most and (plain := decompressor.read(_PIECE)):
            data += plain[before:]
            before = max(0, before - len(plain))
        if len(data) >= most or decompressor.error:
            break
    else:
        return bytes(data), decompressor.finish()
    return bytes(data[:most]), decompressor.error


def _cut_off(data: bytes) -> int | None:
    """How many bytes at the end begin a character which `data` has not whole; None if it is not UTF-8 text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(data)
    except UnicodeDecodeError:
        return None
    if any(character < " " and character not in "\t\n\r" for character in text):
        return None
    beginning = len(decoder.getstate()[0])
    return beginning if beginning < len(data) or not data else None


def _body_shape(
    data: bytes, *, is_text: bool, size: int, offset: int, next_offset: int | None, note: str | None
) -> BodyShape:
    """`data` that is text is UTF-8."""
    return BodyShape(
        size=size,
        offset=offset,
        text=data.decode("utf-8", "replace") if is_text else None,
        base64=None if is_text else base64.b64encode(data).decode("ascii"),
        next_offset=next_offset,
        note=note,
    )
