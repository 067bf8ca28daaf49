"""The metadata of a request and its deliveries, as rows of text."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote_plus

from app.core.model import Capture, MirrorState
from app.core.raw_request import query_pairs
from app.core.text import clock_time, count_of, day_text, day_time, full_time, ms_text, size_text, time_text

STATE_WORDS = {
    MirrorState.NONE: "Not mirrored",
    MirrorState.QUEUED: "Waiting",
    MirrorState.DELIVERED: "Delivered",
    MirrorState.FAILED: "Failed",
}


def info_rows(capture: Capture, providers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Everything recorded besides headers and body; `providers` has the providers' names by ID."""
    sender = {
        "Provider": providers.get(capture.provider, capture.provider) if capture.provider else None,
        "Event": capture.event,
        "Delivery ID": capture.delivery_id,
    }
    reply = str(capture.reply_status)
    if capture.reply_ms is not None:
        reply += f" after {ms_text(capture.reply_ms)}"
    whole = "Yes" if capture.complete else "No: the sender disconnected before the end of the body"
    return [
        ("Received", time_text(capture.received_at, None)),
        ("In UTC", time_text(capture.received_at)),
        *((name, value) for name, value in sender.items() if value),
        ("Method", capture.method),
        ("Target", capture.target),
        ("HTTP version", capture.http_version),
        ("Scheme", capture.scheme),
        ("Source", f"{capture.source_address} port {capture.source_port}"),
        ("Reply", reply),
        ("Content type", capture.content_type or "None"),
        ("Body", "1 byte" if capture.size == 1 else f"{capture.size:,} bytes"),
        ("SHA-256", capture.sha256),
        ("Complete", whole),
        ("ID", capture.id),
    ]


def query_rows(target: str) -> list[tuple[str, str, str]]:
    """Decoded name and value, and the pair as it was sent; order and duplicates kept."""
    return [
        (unquote_plus(name, errors="replace"), unquote_plus(value, errors="replace"), sent)
        for name, value, sent in query_pairs(target)
    ]


def head_lines(capture: Capture, now: int) -> tuple[str, ...]:
    """Time, size and source in one line, then shorter versions of it; the time is kept longest."""
    size, at = size_text(capture.size), capture.received_at
    time, day = day_time(at, now), day_text(at, now)
    short = clock_time(at) if day == "Today" else f"{day} {clock_time(at)[:5]}"
    return (
        f"{size} · {time} · from {capture.source_address}",
        f"{size} · {time}",
        time,
        f"{size} · {short}",
        short,
    )


def head_meaning(capture: Capture) -> str:
    """The full text, in lines."""
    source = f"{capture.source_address} port {capture.source_port}"
    return f"{count_of(capture.size, 'byte')} from {source}\n{full_time(capture.received_at)}"
