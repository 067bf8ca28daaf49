"""Secrets in headers."""

from __future__ import annotations

from collections.abc import Iterable

from app.core.redaction.in_text import redacted_text
from app.core.redaction.names import is_secret_header
from app.core.redaction.secret import REDACTED, without_secret


def redacted_headers(
    headers: Iterable[tuple[str, str]], secret: str = "", mark: str = REDACTED
) -> list[tuple[str, str]]:
    """The headers without the values of secret ones, and without the secrets in others; an authentication scheme such
    as `Bearer` stays. `secret` is the name of one that is known to be secret."""
    return [
        (
            name,
            without_secret(value, mark)
            if is_secret_header(name, value) or name.lower() == secret.lower()
            else redacted_text(value, mark),
        )
        for name, value in headers
    ]
