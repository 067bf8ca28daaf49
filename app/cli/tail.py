"""The line that `serve --tail` prints for each captured request."""

from __future__ import annotations

from app.cli.text import local_seconds, visible
from app.core.model import Summary
from app.core.request_target import below_slug
from app.core.text import size_text


def format_tail(summary: Summary, slug: str) -> str:
    """Local time, slug, method, provider, event or else gist, target below the slug, size, content type; one line."""
    path = below_slug(summary.target)
    title = summary.event or summary.gist or ""
    words = [
        local_seconds(summary.received_at)[11:],
        slug,
        f"{summary.method:<7}",
        summary.provider or "",
        "" if title == path else title,
        path,
        size_text(summary.size),
        summary.content_type,
        "" if summary.complete else "(incomplete: the sender disconnected)",
    ]
    return "  ".join(visible(word) for word in words if word)
