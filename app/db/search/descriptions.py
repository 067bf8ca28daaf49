"""What a list says of stored requests without their secrets."""

from __future__ import annotations

from collections.abc import Collection

from peewee import Database

from app.core.model import Description
from app.core.redaction.secret import SecretHeaders
from app.db.body_parts import FIRST_PART
from app.db.raw_sql import execute, json_list
from app.db.search.redacted import DESCRIBED_BYTES, RedactedCandidate

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
