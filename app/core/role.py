"""What a user may do in a team's store."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """A `CAPTURE` node stores requests, and reads none; a `READER` changes nothing; a `MEMBER` does all. One's own
    store has no other users: there one is a member."""

    CAPTURE = "capture"
    READER = "reader"
    MEMBER = "member"


def may_only_capture(place: str) -> str:
    """Why a window cannot work on the store at `place`."""
    return (
        f"Your role in the team's store at {place} may only capture, so a window has nothing to show. Use another role,"
        " or capture without a window: hookline serve."
    )


NOT_ALLOWED = {
    Role.CAPTURE: "Your role in the team's store may only capture.",
    Role.READER: "Your role in the team's store may only read.",
    Role.MEMBER: "Your role in the team's store may not do that.",
}
