"""Describes a row in words for screen readers."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.model import DeliveryState, Summary
from app.core.text import count_of, size_text, span_text
from app.ui.request.title import title_of

MINUTE = 60_000_000
STATE_WORDS = {
    DeliveryState.QUEUED: "waiting to be forwarded",
    DeliveryState.DELIVERED: "forwarded",
    DeliveryState.NOT_SENT: "not sent",
    DeliveryState.FAILED: "forwarding failed",
}


def forwarding_words(summary: Summary) -> str:
    """How it was forwarded to the worst of its targets; empty if it was not."""
    return STATE_WORDS.get(summary.delivery, "")


def row_text(
    summary: Summary, providers: Mapping[str, str], names: Mapping[int, str] | None, forwarding: str | None = None
) -> str:
    """`Unread. invoice.paid from Stripe, POST, 1.2 kB, 2 minutes ago, forwarded`.

    `providers` names providers by ID, `names` endpoints if the list has several; `forwarding` says how it was forwarded
    in other words than those for the worst of its targets.
    """
    title = title_of(summary, providers)
    marks = (("Unread", not summary.read), ("Starred", summary.starred), ("Has a note", bool(summary.note)))
    parts = [
        f"{title.main} from {title.sender}" if title.sender else title.main,
        escape(summary.method[:20]),
        title.path,
        f"endpoint {names[summary.endpoint_id]}" if names and summary.endpoint_id in names else "",
        size_text(summary.size) if summary.size else "no body" if title.main != "no body" else "",
        "" if summary.complete else "cut off",
        _age(summary.received_at),
        forwarding_words(summary) if forwarding is None else forwarding,
    ]
    return "".join(f"{word}. " for word, true in marks if true) + ", ".join(part for part in parts if part)


def _age(received_at: int) -> str:
    passed = now_us() - received_at
    if passed < 2_000_000:
        return "just now"
    return f"{count_of(passed // 1_000_000, 'second') if passed < MINUTE else span_text(passed)} ago"
