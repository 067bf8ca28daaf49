"""Where a caller wants to begin: a position it was told, or a request's ID."""

from __future__ import annotations

from uuid import UUID

from app.server.api.event_log import POSITION_PATTERN, Position, parse_position
from app.server.api.parameters import text
from app.server.api.problems import Problem, parameter_problem
from app.server.api.services import ApiServices

_ID_PATTERN = "[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
AFTER = text(
    "after",
    "Only what is newer: a position as events and Hookline-Position have it, or a request's ID.",
    pattern=f"^({POSITION_PATTERN}|{_ID_PATTERN})$",
)
_NO_RUN = "0"
"""The run of a position that was made from a request's ID: only what the store holds is known to be newer."""


async def start_of(services: ApiServices, name: str, text: str) -> Position:
    """The position that the parameter or header `name` has; a Problem for another text, or an unknown request."""
    if (position := parse_position(text)) is not None:
        return position
    try:
        capture_id = str(UUID(text))
    except ValueError:
        detail = f"{name} must be a position as events and the header Hookline-Position have it, or a request's ID."
        raise parameter_problem(name, detail) from None
    stored = await services.store.captures.seq_of(capture_id)
    if stored is None:
        detail = f"No request has the ID {text!r}, so it is not known what is newer. A position stays known."
        raise Problem(404, "not-found", detail)
    return Position(run=_NO_RUN, number=0, capture=stored)
