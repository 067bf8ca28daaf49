"""A delivery in one line, as `serve --tail` and `tail` print it."""

from __future__ import annotations

from app.core.delivery import Delivery
from app.core.model import DeliveryState
from app.core.record import Record
from app.core.retry import wait_text
from app.core.target import TargetDraft
from app.core.text import ms_text


class DeliveryNews(Record, frozen=True):
    """What a line tells of a delivery whose attempt has ended, or that was queued again. `due_at` is when the next
    attempt starts (0: now), while it is queued."""

    method: str
    url: str
    state: DeliveryState
    attempts: int
    due_at: int = 0
    ms: float | None = None
    status: int | None = None
    error: str | None = None
    next_step: str | None = None
    replay: bool = False


def news_of(delivery: Delivery, target: TargetDraft | None) -> DeliveryNews:
    """`target` is the one it is for."""
    return DeliveryNews(
        method=delivery.captured_method,
        url=delivery.request_url(target),
        state=delivery.state,
        attempts=delivery.attempts,
        due_at=delivery.due_at,
        ms=delivery.ms,
        status=delivery.status,
        error=delivery.error,
        next_step=delivery.next_step,
        replay=delivery.replay_id is not None,
    )


def result_text(news: DeliveryNews, now_us: int) -> str:
    """`200 in 12 ms`; `failed in 2.0 ms: Nothing is listening at localhost:3000 (connection refused). Next attempt in
    1.5 s.`"""
    took = "" if news.ms is None else f" in {ms_text(news.ms)}"
    if news.state is DeliveryState.DELIVERED:
        again = f", attempt {news.attempts}" if news.attempts > 1 else ""
        return f"{news.status}{took}{again}" + (" (replay)" if news.replay else "")
    if news.state is DeliveryState.QUEUED and news.error is None:
        return "queued again"
    failed = "failed" if news.state in (DeliveryState.QUEUED, DeliveryState.FAILED) else news.state.replace("_", " ")
    parts = [f"{failed}{took}{' (replay)' if news.replay else ''}: {news.error}"]
    if news.state is DeliveryState.QUEUED:
        wait_us = news.due_at - now_us
        parts.append(f"Next attempt {f'in {wait_text(wait_us)}' if wait_us > 0 else 'now'}.")
    elif news.next_step:
        parts.append(news.next_step)
    return " ".join(parts)


def reason_text(error: str | None, next_step: str | None) -> str:
    """Why a delivery's last attempt failed, and until when it is retried or why it is not; empty if it did not fail."""
    return " ".join(filter(None, (error, next_step)))
