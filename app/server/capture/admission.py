"""Whether a request is admitted: everything that is decided by its head alone."""

from __future__ import annotations

from typing import NamedTuple

from app.core.errors import StorageLimitError
from app.core.model import METHODS, Endpoint, Headers
from app.core.repositories import EndpointRepository
from app.core.request_target import slug_of
from app.server.capture import responses
from app.server.capture.auth import Gate
from app.server.capture.reader import Incoming
from app.server.capture.responses import Response

MIRROR_HEADER = "X-Hookline-Mirror"
_METHODS = frozenset(METHODS)
_KEPT_PLANS = 1_000


class CapturePlan(NamedTuple):
    """An endpoint with what its configuration means here, worked out once."""

    endpoint: Endpoint
    response: Response
    gate: Gate | None


class Rejection(NamedTuple):
    """Why a request is refused: the response, and the reason in words for the list of refused requests."""

    response: Response
    reason: str


def rejection(reason: str, /, status: int, error: str, headers: Headers = (), **details: int | str) -> Rejection:
    """A rejection with `status` and `{"error": error, …details}`."""
    return Rejection(responses.of_error(status, error, headers, **details), reason)


METHOD_ANSWER = responses.of_error(405, "method_not_allowed", (("Allow", ", ".join(METHODS)),))
_NOT_FOUND = rejection("No endpoint has this path.", 404, "not_found")
_LOOP = rejection(
    "This Hookline mirrored the request itself: capturing it again would loop forever.", 508, "mirror_loop"
)


def not_found() -> Rejection:
    """The same for an unknown slug and for any other path, so that nobody learns which slugs exist."""
    return _NOT_FOUND


def wrong_method(method: str) -> Rejection:
    """Answered to every method but the seven, on whatever path."""
    return Rejection(METHOD_ANSWER, f"Method {method} is not captured.")


def malformed(fault: str) -> Rejection:
    """Bytes that are not HTTP; `fault` is the reason, in words that are not the sender's."""
    reason = f"Malformed HTTP: {fault}."
    return rejection(reason, 400, "bad_request", reason=reason)


def inactive(endpoint: Endpoint) -> Rejection:
    """The endpoint is switched off."""
    reason = f"Endpoint {endpoint.name} is switched off."
    return rejection(reason, 503, "endpoint_inactive", (("Retry-After", "60"),))


def too_large(limit: int) -> Rejection:
    """A body of more than `limit` bytes."""
    return rejection(f"The body is larger than the limit of {limit:,} bytes.", 413, "body_too_large", limit=limit)


def over_storage_limit(error: StorageLimitError) -> Rejection:
    """There is no room for the request; one that is larger than the limit itself can never be stored."""
    if error.limit is not None:
        return Rejection(responses.of_error(413, "body_too_large", limit=error.limit), str(error))
    return rejection(str(error), 503, "storage_limit_reached", (("Retry-After", str(error.retry_after_s)),))


class Admission:
    """Decides on heads. Keeps what was worked out for each endpoint until that is changed."""

    def __init__(self, endpoints: EndpointRepository, instance_id: str) -> None:
        self._endpoints = endpoints
        self._instance_id = instance_id
        self._plans: dict[str, CapturePlan] = {}

    def decide(self, request: Incoming, limit: int) -> CapturePlan | Rejection:
        """How to go on with a request of which only the head is known. `limit` is the bytes its body may have."""
        message = request.message
        if message.method not in _METHODS:
            return wrong_method(message.method)
        slug = slug_of(message.path)
        endpoint = self._endpoints.by_slug(slug) if slug else None
        if endpoint is None:
            return _NOT_FOUND
        headers = message.headers
        if MIRROR_HEADER in headers and self._is_own(headers.getall(MIRROR_HEADER)):
            return _LOOP
        if not endpoint.active:
            return inactive(endpoint)
        plan = self._plan(endpoint)
        if plan.gate is not None:
            why = plan.gate.refusal(message.raw_headers)
            if why is not None:
                challenge = plan.gate.challenge
                return rejection(why, 401, "unauthorized", (("WWW-Authenticate", challenge),) if challenge else ())
        if request.length > limit:
            return too_large(limit)
        return plan

    def ended(self, plan: CapturePlan) -> Rejection | None:
        """Why a request is not stored that was admitted before its body was received: its endpoint was switched off or
        deleted since."""
        endpoint = self._endpoints.by_slug(plan.endpoint.slug)
        if endpoint is None or endpoint.id != plan.endpoint.id:
            return _NOT_FOUND
        return None if endpoint.active else inactive(endpoint)

    def _is_own(self, values: list[str]) -> bool:
        return any(self._instance_id == mark.strip() for value in values for mark in value.split(","))

    def _plan(self, endpoint: Endpoint) -> CapturePlan:
        plan = self._plans.get(endpoint.slug)
        if plan is None or plan.endpoint is not endpoint:
            if len(self._plans) >= _KEPT_PLANS:
                self._plans.clear()
            gate = Gate(endpoint.auth) if endpoint.auth.kind != "none" else None
            plan = self._plans[endpoint.slug] = CapturePlan(endpoint, responses.of_reply(endpoint.reply), gate)
        return plan
