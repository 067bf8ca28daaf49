"""Writes to the log which deliveries have failed for good, and which targets that has paused."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from app.core.attempt_text import result_text
from app.core.events import DeliveryChanged, Subscriptions, TargetChanged
from app.core.model import DeliveryState
from app.core.repositories import EndpointRepository
from app.core.target import PausedBy
from app.core.target_text import resume_advice
from app.core.text import count_of

log = logging.getLogger(__name__)

INTERVAL_S = 60.0
"""Between two lines about failed deliveries to one target: thousands may fail in a second."""


@dataclass
class _Told:
    """When a target's last line was written, how many have failed since, and whether it was paused by failures."""

    at: float = -INTERVAL_S
    unsaid: int = 0
    paused: bool = False


class FailureLog:
    """Names targets by their numbers: their URLs may contain a token."""

    def __init__(self, endpoints: EndpointRepository) -> None:
        self._endpoints = endpoints
        self._told: dict[int, _Told] = {}

    def add_to(self, subscriptions: Subscriptions) -> None:
        """Write until these end."""
        subscriptions.add(DeliveryChanged, self._delivered)
        subscriptions.add(TargetChanged, self._target_changed)

    def _delivered(self, event: DeliveryChanged) -> None:
        delivery = event.delivery
        if delivery.state is not DeliveryState.FAILED or delivery.target_id is None or delivery.replay_id is not None:
            return
        told, now = self._told.setdefault(delivery.target_id, _Told()), time.monotonic()
        if now - told.at < INTERVAL_S:
            told.unsaid += 1
            return
        since = f" ({told.unsaid:,} more have failed since the last line.)" if told.unsaid else ""
        place = f"{self._name(delivery.endpoint_id)} to target {delivery.target_id}"
        # Not its error, which may name URLs with a token in them, or quote what the target sent.
        result = result_text(event.failure, delivery.status)
        log.info("a delivery of %s failed (%s). %s%s", place, result, delivery.next_step or "", since)
        told.at, told.unsaid = now, 0

    def _target_changed(self, event: TargetChanged) -> None:
        target = event.target
        told, paused = self._told.setdefault(target.id, _Told()), target.paused is PausedBy.FAILURES
        if paused and not told.paused:
            failed = count_of(target.pause_after, "failed delivery", "failed deliveries")
            name, advice = self._name(target.endpoint_id), resume_advice(target.id)
            log.warning("target %d of %s is paused after %s in a row. %s", target.id, name, failed, advice)
        told.paused = paused

    def _name(self, endpoint_id: int) -> str:
        endpoint = self._endpoints.by_id(endpoint_id)
        return "a deleted endpoint" if endpoint is None else f"“{endpoint.name}”"
