"""Replays in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.core.text import count_of

if TYPE_CHECKING:
    from hookline.records import Replay


def progress_text(replay: Replay) -> str:
    """`340 of 1,000 sent, 3 failed, 52.5 per second`."""
    progress, state = replay.progress, replay.state
    if state == "queued":
        return "Waiting for another replay to end."
    parts = [sent_text(replay)]
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    if progress.dropped:
        parts.append(f"{progress.dropped:,} dropped")
    if progress.incomplete:
        parts.append(f"{progress.incomplete:,} incomplete left out")
    parts.append("paused" if state == "paused" else f"{progress.rate:,g} per second")
    return ", ".join(parts)


def sent_text(replay: Replay) -> str:
    """`340 of 1,000 sent`."""
    progress = replay.progress
    total = "" if progress.total is None else f" of {progress.total:,}"
    return f"{progress.sent:,}{total} sent"


def outcome_text(replay: Replay) -> str:
    """`Cancelled: 12 of 300 sent, 11 delivered, 1 failed.`"""
    progress = replay.progress
    failed = f", {progress.delivered:,} delivered, {progress.failed:,} failed" if progress.failed else ""
    return f"{replay.state.capitalize()}: {sent_text(replay)}{failed}."


def all_delivered(replay: Replay) -> bool:
    """Whether it ended by itself and nothing failed."""
    return replay.state == "done" and not replay.progress.failed and bool(replay.progress.sent)


def selection_text(replay: Replay) -> str:
    """`3 requests`, `orders`, `orders: path:/x`, `all endpoints`."""
    if replay.id_count is not None:
        return count_of(replay.id_count, "request")
    return (replay.endpoint or "all endpoints") + (f": {replay.q}" if replay.q else "")


def destination_text(replay: Replay) -> str:
    if replay.url is not None:
        return replay.url
    return "their targets" if replay.to_endpoint is None else f"endpoint {replay.to_endpoint}"
