"""Requests without their secrets, as a search and a list see them."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any

from peewee import Database

from app.core.bodies.gist import gist
from app.core.model import Description
from app.core.record import Headers
from app.core.redaction.body import AFTER_BYTES, Searchable, redacted_body, searchable_body
from app.core.redaction.in_text import redacted_headers, redacted_url
from app.core.redaction.secret import HOLE, SecretHeaders
from app.db.body_parts import FIRST_PART
from app.db.models import decode_headers
from app.db.raw_sql import execute, json_list
from app.db.search.candidate import BODY_LIMIT, Candidate, UnpackBudget, body_text, decoded_body

DESCRIBED_BYTES = 64 * 1024
"""How much of a body is read to describe it."""


class RedactedCandidate(Candidate):
    """All is made of the redacted request alone, so that no condition, negated or not, tells what is in a secret.

    `secret_header` is the name of the header in which the endpoint asks for a secret, or empty. Other parts of a
    body than the first are not read: agents do not see them."""

    def __init__(self, *, target: str, event: str | None, secret_header: str, **fields: Any) -> None:
        super().__init__(target=redacted_url(target, HOLE), budget=UnpackBudget(), **fields)
        self._sent_target, self._event, self._secret_header = target, event, secret_header

    @cached_property
    def headers(self) -> Headers:
        return tuple(redacted_headers(self._sent_headers, self._secret_header, HOLE))

    @cached_property
    def shown_event(self) -> str | None:
        """The event, if what it was taken from is shown."""
        return self._event if self._event and self.has(self._event.casefold()) else None

    def description(self, method: str, size: int, *, complete: bool) -> Description:
        """`size` is the whole body's, as sent."""
        plain = self._decoded
        cut = not complete or len(plain) >= DESCRIBED_BYTES
        shown = redacted_body(plain, self.content_type, 0, max(0, len(plain) - AFTER_BYTES) if cut else None).data
        headers = redacted_headers(self._sent_headers, self._secret_header)
        decoded = [one for one in headers if not plain or one[0].lower() != "content-encoding"]
        text = gist(
            method,
            redacted_url(self._sent_target),
            tuple(decoded),
            self.content_type,
            shown,
            size=size if cut or not shown else len(shown),
            complete=not cut,
        )
        return Description(event=self.shown_event, gist=text)

    @cached_property
    def _sent_headers(self) -> Headers:
        return decode_headers(self._headers)

    @cached_property
    def _decoded(self) -> bytes:
        return decoded_body(self._sent_headers, self._data, self._budget)

    @cached_property
    def _searchable(self) -> Searchable:
        # A secret that shows by what follows it may reach beyond.
        end = len(self._decoded) - AFTER_BYTES if len(self._decoded) == BODY_LIMIT else None
        return searchable_body(self._decoded, self.content_type, end)

    @cached_property
    def _plain(self) -> bytes:
        return self._searchable.words

    @cached_property
    def _is_long(self) -> bool:
        return False

    @property
    def _json_text(self) -> str:
        return body_text(self.content_type, self._searchable.json).text


_ROWS = (
    "SELECT capture.id, endpoint_id, source_address, method, target, headers, content_type, size, complete, event, data"
    f" FROM capture LEFT JOIN capture_body ON key = {FIRST_PART}"
    " WHERE capture.id IN names(?)"
)


def describe(database: Database, ids: Collection[str], secret_headers: SecretHeaders) -> dict[str, Description]:
    """By the requests' ids."""
    rows = execute(database, _ROWS, (json_list(ids),))
    return {
        name: RedactedCandidate(
            target=target,
            event=event,
            secret_header=secret_headers.get(endpoint_id, ""),
            source=source,
            headers=headers,
            content_type=content_type,
            data=data and data[:DESCRIBED_BYTES],
            column_results={},
        ).description(method, size, complete=bool(complete))
        for name, endpoint_id, source, method, target, headers, content_type, size, complete, event, data in rows
    }
