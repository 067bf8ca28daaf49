"""A copy of one store in another."""

from __future__ import annotations

from app.core.record import Record
from app.core.text import count_of


class CopiedStore(Record, frozen=True):
    """What the copy holds. `queued` deliveries are still to be sent. `damaged` are the ids of requests whose bodies do
    not match their SHA-256, in the original either."""

    endpoints: int
    requests: int
    queued: int
    damaged: tuple[str, ...]


def progress_text(step: str, done: int, total: int) -> str:
    """`Copying: 1,204 of 98,000 requests.`"""
    doing = "Checking the copy" if step == "checking" else "Copying"
    return f"{doing}: {done:,} of {count_of(max(done, total), 'request')}."
