"""What became of a test request that the user sent to an endpoint."""

from __future__ import annotations

from app.core.model import Record


class SentTest(Record, frozen=True):
    """Hookline answered it with `status`. `place` is the public base URL it went through, or the capture port's own
    `host:port` where there is none."""

    status: int
    place: str
    public: bool


def sent_text(sent: SentTest, name: str) -> str:
    """Which way it took, and the answer."""
    way = "through" if sent.public else "to"
    return f"Test request for “{name}” sent {way} {sent.place}: {sent.status}."
