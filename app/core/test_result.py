"""The result of a test request that the user sent to an endpoint."""

from __future__ import annotations

from app.core.model import Record


class SentTest(Record, frozen=True):
    """`status` is Hookline's response. `place` is the public base URL it was sent through, or the capture port's
    `host:port` without one."""

    status: int
    place: str
    public: bool


def sent_text(sent: SentTest, name: str) -> str:
    """The destination and the response, in a sentence."""
    way = "through" if sent.public else "to"
    return f"Test request for “{name}” sent {way} {sent.place}: {sent.status}."
