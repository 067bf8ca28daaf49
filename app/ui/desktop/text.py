"""The texts of tray, title bar and notifications. What senders wrote is shown plain, escaped and shortened."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.bodies.escape import escape
from app.core.model import Endpoint, Summary
from app.core.raw_request import below_slug
from app.core.record import Record
from app.core.target import Target
from app.core.target_text import paused_text
from app.core.text import capturing_text, count_of, sender_line, shortened
from app.core.tunnel.tunnel import TunnelState

NAME_MAX, METHOD_MAX, PATH_MAX, SENDER_MAX, PAUSED_MAX = 60, 20, 80, 60, 200
"""Maximum characters of a notification's parts: servers cut longer texts, each in its own way."""
WRONG_MAX = 30
"""Of the endpoint's name in a tray icon's tooltip."""
TOOLTIP_MAX = 127
"""Maximum characters that Windows shows of a tray icon's tooltip."""


COUNT_MAX = 99

TUNNEL_KEY = "the tunnel"
"""Of notifications about the tunnel. Not a slug: other keys are those of endpoints."""


class Notice(Record, frozen=True):
    """A notification; a later one with the same `key` replaces it.

    `capture_id` is the request it is about; None if it is about several, or about none.
    """

    key: str
    title: str
    text: str
    capture_id: str | None = None


def notice_for(endpoint: Endpoint, newest: Summary, count: int, providers: Mapping[str, str]) -> Notice:
    """`POST /orders · invoice.paid · Stripe`, `POST · JSON · id, total`; for several `37 new requests`."""
    name = shortened(escape(endpoint.name), NAME_MAX)
    if count > 1:
        return Notice(key=endpoint.slug, title=name, text=count_of(count, "new request"))
    path = shortened(escape(below_slug(newest.target[: 4 * PATH_MAX])), PATH_MAX)
    sender = sender_line(newest.provider, newest.event, providers) or escape(newest.gist)
    method = shortened(escape(newest.method), METHOD_MAX)
    line = method if path == "/" and sender else f"{method} {path}"
    text = f"{line} · {shortened(sender, SENDER_MAX)}" if sender and sender != path else line
    return Notice(key=endpoint.slug, title=name, text=text, capture_id=newest.id)


def paused_notice(endpoint: Endpoint, target: Target) -> Notice:
    """Failures have paused `target`."""
    text = shortened(paused_text([target], None), PAUSED_MAX)
    return Notice(key=endpoint.slug, title=shortened(escape(endpoint.name), NAME_MAX), text=text)


def tooltip(
    unread: int,
    listening: str | None,
    tunnel: TunnelState,
    *,
    paused: bool,
    nodes: int | None = None,
    wrong: tuple[Endpoint, str] | None = None,
) -> str:
    """`Hookline · 12 unread · paused · Stripe: failed · listening on 127.0.0.1:8787 · tunnel: up`. `nodes` is how many
    capture where this machine does not, `wrong` the endpoint in the worst state, and its words."""
    parts = ["Hookline"]
    if unread:
        parts.append(f"{unread:,} unread")
    if paused:
        parts.append("paused")
    if wrong is not None:
        parts.append(f"{shortened(escape(wrong[0].name), WRONG_MAX)}: {wrong[1].lower()}")
    if nodes is not None:
        parts.append(capturing_text(nodes))
    else:
        parts.append(f"listening on {listening}" if listening else "not listening")
    if tunnel is not TunnelState.OFF:
        parts.append(f"tunnel: {tunnel}")
    return " · ".join(parts)[:TOOLTIP_MAX]


def badge_text(unread: int) -> str:
    """`12`, `99+`; empty for none."""
    return "" if unread <= 0 else str(unread) if unread <= COUNT_MAX else f"{COUNT_MAX}+"


def window_title(unread: int) -> str:
    """`(12) Hookline`: for taskbars and window lists where there is neither a tray nor a badge."""
    return f"({badge_text(unread)}) Hookline" if unread else "Hookline"
