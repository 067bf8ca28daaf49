"""A request's id as it is given on the command line."""

from __future__ import annotations

from uuid import UUID

from app.cli.errors import CliError, Exit


def request_id(text: str) -> str:
    """The id as the API knows it; one that no request can have is answered like one that none has."""
    try:
        return str(UUID(text))
    except ValueError:
        raise CliError(f"No request has the id {text!r}. See hookline requests SLUG.", Exit.NO) from None
