"""Backups of the database: how far one is, and what a file holds that may be restored. And copies of one store in
another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from app.core.record import Record
from app.core.text import count_of, size_text, time_text

BackupStep = Literal["copying", "checking"]
Report = Callable[[BackupStep, int, int], None]
"""Called again and again with the step, the bytes done and all bytes. What it raises ends the work."""


class WorkCancelledError(Exception):
    """Raised by a report: the user has cancelled the work, or Hookline is closing."""


class Backup(Record, frozen=True):
    """The last backup of this run of the program. `problem` is set once it has failed; `size` is the file's, 0 until
    it is done; `total_bytes` is 0 until it is known. `damaged_bodies` do not match their SHA-256: they were damaged
    before."""

    path: str
    state: Literal["running", "done", "failed", "cancelled"] = "running"
    step: BackupStep = "copying"
    done_bytes: int = 0
    total_bytes: int = 0
    size: int = 0
    damaged_bodies: int = 0
    problem: str | None = None


class BackupContents(Record, frozen=True):
    """What a checked backup holds. `newest_at` is when its newest request was received, None without one.

    `expired` requests are past their retention and are deleted after a start; `queued` deliveries are sent then.
    `damaged_bodies` do not match their SHA-256.
    """

    size: int
    endpoints: int
    requests: int
    newest_at: int | None
    expired: int
    queued: int
    damaged_bodies: int = 0


def progress_text(step: str, done: int, total: int) -> str:
    """`Copying: 340 MiB of 1.2 GiB.`, `Checking the copy.`"""
    if step == "checking":
        return "Checking the copy."
    return f"Copying: {size_text(done)} of {size_text(total)}." if total else "Copying."


def contents_text(contents: BackupContents) -> str:
    """`3 endpoints and 1,204 requests, the newest from 2026-11-20 09:00:00 (12 MiB)`"""
    newest = "" if contents.newest_at is None else f", the newest from {time_text(contents.newest_at, None)[:19]}"
    counts = f"{count_of(contents.endpoints, 'endpoint')} and {count_of(contents.requests, 'request')}"
    return f"{counts}{newest} ({size_text(contents.size)})"


def damaged_text(bodies: int) -> str:
    """That a backup has so many damaged bodies; empty for none."""
    if not bodies:
        return ""
    verb = "does" if bodies == 1 else "do"
    return f"{count_of(bodies, 'body', 'bodies')} in it {verb} not match the SHA-256 of what was received."


def start_text(contents: BackupContents) -> str:
    """What the next start does to a restored backup; empty if nothing."""
    parts = []
    if contents.expired:
        verb = "is" if contents.expired == 1 else "are"
        parts.append(f"{count_of(contents.expired, 'request')} past retention {verb} deleted")
    if contents.queued:
        verb = "is" if contents.queued == 1 else "are"
        parts.append(f"{count_of(contents.queued, 'queued delivery', 'queued deliveries')} {verb} sent")
    return f"When Hookline starts with it, {' and '.join(parts)}." if parts else ""


class CopiedStore(Record, frozen=True):
    """What the copy of a store holds. `queued` deliveries are still to be sent. `damaged` are the ids of requests whose
    bodies do not match their SHA-256, in the original either."""

    endpoints: int
    requests: int
    queued: int
    damaged: tuple[str, ...]


def copy_progress_text(step: str, done: int, total: int) -> str:
    """`Copying: 1,204 of 98,000 requests.`"""
    doing = "Checking the copy" if step == "checking" else "Copying"
    return f"{doing}: {done:,} of {count_of(max(done, total), 'request')}."
