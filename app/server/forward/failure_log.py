"""Writes to the log which deliveries have failed for good, and which targets that has paused."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass

from app.core.attempt_text import result_text
from app.core.events import DeliveryChanged, EndpointRemoved, EndpointSaved, Subscriptions, TargetChanged
from app.core.model import DeliveryState, Endpoint
from app.core.repositories import EndpointRepository
from app.core.target import PausedBy, Target
from app.core.target_text import resume_advice
from app.core.text import count_of

log = logging.getLogger(__name__)

INTERVAL_S = 60.0
"""Between two lines about failed deliveries to one target: thousands may fail in a second."""


@dataclass
class _Logged:
    """A target with a line in the log: what failed, and how many more have failed since. `timer` ends the interval."""

    what: str
    timer: asyncio.TimerHandle
    more: int = 0
    result: str = ""
    """Of the last one."""


class FailureLog:
    """Names targets by their numbers: their URLs may contain a token."""

    def __init__(self, endpoints: EndpointRepository) -> None:
        self._endpoints = endpoints
        self._logged: dict[int, _Logged] = {}
        self._paused: dict[int, int] = {}
        """The targets that failures paused, with their endpoints."""

    def add_to(self, subscriptions: Subscriptions) -> None:
        """Write until these end; then call `end`."""
        subscriptions.add(DeliveryChanged, self._delivered)
        subscriptions.add(TargetChanged, self._target_changed)
        subscriptions.add(EndpointSaved, lambda event: self._keep(event.endpoint, event.endpoint.targets))
        subscriptions.add(EndpointRemoved, lambda event: self._keep(event.endpoint, ()))

    def end(self) -> None:
        """Write what has failed since the last lines."""
        for logged in self._logged.values():
            logged.timer.cancel()
            _write_more(logged)
        self._logged.clear()

    def _delivered(self, event: DeliveryChanged) -> None:
        delivery = event.delivery
        if delivery.state is not DeliveryState.FAILED or delivery.target_id is None or delivery.replay_id is not None:
            return
        # Not its error, which may name URLs with a token in them, or quote what the target sent.
        result = result_text(event.failure, delivery.status)
        logged = self._logged.get(delivery.target_id)
        if logged is not None:
            logged.more, logged.result = logged.more + 1, result
            return
        what = f"of {self._name(delivery.endpoint_id)} to target {delivery.target_id}"
        log.info("a delivery %s failed (%s). %s", what, result, delivery.next_step or "")
        self._logged[delivery.target_id] = _Logged(what, self._timer(delivery.target_id))

    def _timer(self, target_id: int) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(INTERVAL_S, self._interval_over, target_id)

    def _interval_over(self, target_id: int) -> None:
        logged = self._logged[target_id]
        if logged.more:
            _write_more(logged)
            logged.timer = self._timer(target_id)
        else:
            del self._logged[target_id]

    def _target_changed(self, event: TargetChanged) -> None:
        target = event.target
        if target.paused is not PausedBy.FAILURES:
            self._paused.pop(target.id, None)
        elif target.id not in self._paused:
            self._paused[target.id] = target.endpoint_id
            failed = count_of(target.pause_after, "failed delivery", "failed deliveries")
            name, advice = self._name(target.endpoint_id), resume_advice(target.id)
            log.warning("target %d of %s is paused after %s in a row. %s", target.id, name, failed, advice)

    def _keep(self, endpoint: Endpoint, targets: Collection[Target]) -> None:
        """Forget the endpoint's other targets."""
        left = {target.id for target in targets}
        for target_id, of_endpoint in tuple(self._paused.items()):
            if of_endpoint == endpoint.id and target_id not in left:
                del self._paused[target_id]

    def _name(self, endpoint_id: int) -> str:
        endpoint = self._endpoints.by_id(endpoint_id)
        return "a deleted endpoint" if endpoint is None else f"“{endpoint.name}”"


def _write_more(logged: _Logged) -> None:
    if logged.more:
        failed = count_of(logged.more, "more delivery", "more deliveries")
        log.info("%s %s failed since the last line, the last one with: %s.", failed, logged.what, logged.result)
        logged.more = 0
