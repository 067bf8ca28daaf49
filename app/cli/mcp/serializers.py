"""The API's objects as the tools return them: without secrets, of bounded size."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import overload

from app.cli.mcp.shapes import (
    AttemptShape,
    BodyShape,
    DeliveryShape,
    EndpointShape,
    RequestShape,
    StatusShape,
    SummaryShape,
)
from app.core.clock import microseconds, rfc3339
from app.core.delivery_text import reason_text
from app.core.gist.words import MORE, shortened
from app.core.redaction.in_text import redacted_headers, redacted_text, redacted_url
from hookline.records import Attempt, Delivery, Endpoint, RequestHead, Status, Summary

TEXT_MAX = 2_000
"""Characters of a text; in a list `LISTED_MAX`."""
LISTED_MAX = 500
HEADERS_MAX = 16 * 1024
"""Characters of all headers of a message."""
DELIVERIES_MAX = 20
TARGETS_MAX = 20

_QUOTATION = re.compile(r"(illegal [\w -]{1,40}): .*", re.DOTALL)
"""In an error, of what a target sent."""


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
        return StatusShape(
            version=status.version,
            running=status.capture_url is not None,
            capture_url=status.capture_url,
            base_url=status.base_url,
            tunnel=status.tunnel,
            plan=status.plan,
            requests=status.counts.requests,
            problems=[self.text(problem) for problem in problems],
        )

    def endpoint(self, endpoint: Endpoint) -> EndpointShape:
        return EndpointShape(
            slug=endpoint.slug,
            name=self.text(endpoint.name),
            description=self.text(endpoint.description, LISTED_MAX),
            tags=[self.text(tag) for tag in endpoint.tags],
            url=endpoint.url,
            tunnel=endpoint.tunnel,
            active=endpoint.active,
            retention_days=endpoint.retention_days,
            request_count=endpoint.request_count,
            last_request_at=_time(endpoint.last_request_at),
            targets=[self.url(target.url, LISTED_MAX) for target in endpoint.targets[:TARGETS_MAX]],
        )

    def summary(self, row: Summary) -> SummaryShape:
        return SummaryShape(
            id=row.id,
            endpoint=row.endpoint,
            received_at=_time(row.received_at),
            method=row.method,
            target=self.url(row.target, LISTED_MAX),
            content_type=self.text(row.content_type, LISTED_MAX),
            size=row.size,
            response_status=row.response.status,
            delivery=row.delivery,
            provider=row.provider,
            event=self._optional(row.event),
            summary=self._optional(row.gist),
            note=self._optional(row.note),
        )

    def request(self, found: RequestHead, body: BodyShape, secret: str) -> RequestShape:
        """`secret` is the name of the header that the endpoint asks senders for, or empty."""
        deliveries = found.deliveries
        return RequestShape(
            id=found.id,
            endpoint=found.endpoint,
            received_at=_time(found.received_at),
            method=found.method,
            target=self.url(found.target, HEADERS_MAX),
            http_version=found.http_version,
            source_address=found.source.address,
            complete=found.complete,
            headers=self.headers(found.headers.pairs, secret),
            body=body,
            response_status=found.response.status,
            provider=found.provider,
            event=self._optional(found.event),
            note=None if found.note is None else self.text(found.note),
            delivery_count=len(deliveries),
            deliveries=[self.delivery(one) for one in deliveries[-DELIVERIES_MAX:]],
            redacted=not self.show_secrets,
        )

    def delivery(self, row: Delivery) -> DeliveryShape:
        return DeliveryShape(
            id=row.id,
            request=row.request,
            endpoint=row.endpoint,
            url=self.url(row.url, LISTED_MAX),
            state=row.state,
            attempts=row.attempt_count,
            status=row.status,
            ms=row.ms,
            error=self._optional(reason_text(self._unquoted(row.error), row.next_step) or None),
            replay=row.replay is not None,
            queued_at=_time(row.queued_at),
            next_attempt_at=_time(row.due_at),
        )

    def attempt(self, row: Attempt, secret: str) -> AttemptShape:
        """`secret` as in `request`."""
        return AttemptShape(
            number=row.number,
            trigger=row.trigger,
            started_at=_time(row.started_at),
            ms=row.ms,
            method=row.method,
            url=self.url(row.url),
            headers=self.headers(row.headers.pairs, secret),
            status=row.status,
            response_headers=self.headers(row.response_headers.pairs),
            response_size=row.response_size,
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


@overload
def _time(moment: datetime) -> str: ...


@overload
def _time(moment: None) -> None: ...


@overload
def _time(moment: datetime | None) -> str | None: ...


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else rfc3339(microseconds(moment))
