"""What a user may do in a team's store."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """A `CAPTURE` node stores requests, and reads none; a `READER` changes nothing; a `MEMBER` does all. One's own
    store has no other users: there one is a member."""

    CAPTURE = "capture"
    READER = "reader"
    MEMBER = "member"


NOT_ALLOWED = {
    Role.CAPTURE: "Your role in the team's store may only capture.",
    Role.READER: "Your role in the team's store may only read.",
    Role.MEMBER: "Your role in the team's store may not do that.",
}
