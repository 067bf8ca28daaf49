"""The line that `serve --tail` and `tail` print for a delivery, and what they say of paused targets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from app.cli.output import GREEN, RED, YELLOW, Output
from app.cli.table import cell_count, cut_to_cells
from app.cli.text import visible
from app.core.clock import microseconds, now_us
from app.core.delivery_text import DeliveryNews, result_text
from app.core.model import DeliveryState
from app.core.target import PausedBy
from app.core.target_text import TargetTrouble

if TYPE_CHECKING:
    from hookline.records import DeliverySummary, Endpoint

ARROW = "-->"
URL_CELLS = 32
"""A URL is cut to this at least, before the line takes a second one on a terminal."""


def news_of_record(delivery: DeliverySummary) -> DeliveryNews:
    due_at = delivery.due_at
    return DeliveryNews(
        method=delivery.method,
        url=delivery.url,
        state=DeliveryState(delivery.state),
        attempts=delivery.attempt_count,
        due_at=0 if due_at is None else microseconds(due_at),
        ms=delivery.ms,
        status=delivery.status,
        error=delivery.error,
        next_step=delivery.next_step,
        replay=delivery.replay is not None,
    )


def delivery_line(out: Output, news: DeliveryNews, width: int | None = None) -> str:
    """`--> POST http://localhost:3000/ 200 in 12 ms`, the result in its colour. The URL is cut where that keeps the
    line within `width` cells; the result never."""
    result = visible(result_text(news, now_us()))
    start, url = f"{ARROW} {visible(news.method)} ", visible(news.url)
    if width is not None:
        url = cut_to_cells(url, max(URL_CELLS, width - cell_count(start) - cell_count(result) - 1))
    if news.state is DeliveryState.DELIVERED:
        result = out.style(result, GREEN)
    elif news.error is not None:
        result = out.style(result, YELLOW if news.state is DeliveryState.NOT_SENT else RED)
    return f"{start}{url} {result}"


class PausedTargets:
    """Remembers which targets are paused, so that each pause is reported once."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def news(self, endpoint: Endpoint) -> Iterator[str]:
        """A sentence for each target of the endpoint that is paused now and was not before."""
        for target in endpoint.targets:
            if target.paused is None:
                self._known.discard(target.id)
            elif target.id not in self._known:
                self._known.add(target.id)
                trouble = TargetTrouble(
                    endpoint=endpoint.slug,
                    id=target.id,
                    url=target.url,
                    paused=PausedBy(target.paused),
                    pause_after=target.pause_after,
                    failures=target.failures,
                    waiting=target.queued,
                    deleted=0,
                    error=None,
                )
                yield f"{trouble.text} {trouble.advice}"
