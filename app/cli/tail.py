"""The line that `serve --tail` prints for each captured request."""

from __future__ import annotations

from app.cli.text import local_seconds, visible
from app.core.model import Summary
from app.core.targets import below_slug
from app.core.wording import size_text


def format_tail(summary: Summary, slug: str) -> str:
    """Local time, slug, method, provider and event, target below the slug, size, content type; one printable line."""
    words = [
        local_seconds(summary.received_at)[11:],
        slug,
        f"{summary.method:<7}",
        summary.provider or "",
        summary.event or "",
        below_slug(summary.target),
        size_text(summary.size),
        summary.content_type,
        "" if summary.complete else "(incomplete: the sender broke off)",
    ]
    return "  ".join(visible(word) for word in words if word)
