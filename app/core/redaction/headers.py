"""Secrets in headers."""

from __future__ import annotations

from app.core.redaction.in_text import redacted_text
from app.core.redaction.names import is_secret
from app.core.redaction.secret import without_secret


def redacted_headers(headers: list[tuple[str, str]], secret: str = "") -> list[tuple[str, str]]:
    """The headers without the values of secret ones, and without the secrets in others; an authentication scheme such
    as `Bearer` stays. `secret` is the name of one that is known to be secret."""
    return [
        (name, without_secret(value) if is_secret(name) or name.lower() == secret.lower() else redacted_text(value))
        for name, value in headers
    ]
