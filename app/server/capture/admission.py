"""Whether a request is admitted: everything that its head alone decides."""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import TYPE_CHECKING, NamedTuple

from app.core.errors import StorageLimitError
from app.core.model import METHODS, Auth, Endpoint, Refusal
from app.core.raw_request import LOOP_HEADER, slug_of
from app.core.record import Headers
from app.core.target import Target
from app.server.addresses import ProbeKey
from app.server.capture import responses
from app.server.capture.client import Client
from app.server.capture.incoming_body import IncomingBody
from app.server.capture.reader import Incoming
from app.server.capture.responses import Response

if TYPE_CHECKING:
    from app.db.endpoints import Endpoints

RETRY_AFTER = (("Retry-After", "10"),)
_METHODS = frozenset(METHODS)
_CONFIGS_MAX = 1_000


class CaptureConfig(NamedTuple):
    """An endpoint with its prepared response and credential check, and the targets that get its requests."""

    endpoint: Endpoint
    response: Response
    credentials: CredentialCheck | None
    targets: tuple[Target, ...]


class Rejection(NamedTuple):
    """Why a request is refused: the response, and the reason for the list of refused requests."""

    response: Response
    reason: str

    def refusal(self, client: Client, at: int, method: str, target: str) -> Refusal:
        """The entry in that list."""
        return Refusal(
            at=at,
            source_address=client.address,
            source_port=client.port,
            status=self.response.status,
            reason=self.reason,
            method=method,
            target=target,
        )


def rejection(reason: str, /, status: int, error: str, headers: Headers = (), **details: int | str) -> Rejection:
    """A rejection with `status` and the body `{"error": error, …details}`."""
    return Rejection(responses.of_error(status, error, headers, **details), reason)


METHOD_NOT_ALLOWED = responses.of_error(405, "method_not_allowed", (("Allow", ", ".join(METHODS)),))
"""The response to all methods except the seven, on any path."""
TIMEOUT = responses.of_error(408, "request_timeout")
HEAD_TIMED_OUT = Rejection(TIMEOUT, "The request's head did not arrive in time.")
NOT_FOUND = rejection("No endpoint has this path.", 404, "not_found")
"""The same for an unknown slug and for any other path, so that nobody learns which slugs exist."""
_LOOP = rejection(
    "This Hookline forwarded the request itself: capturing it again would loop forever.", 508, "forward_loop"
)


def malformed(detail: str) -> Rejection:
    """`detail` says in Hookline's words why the bytes are not HTTP."""
    reason = f"Malformed HTTP: {detail}."
    return rejection(reason, 400, "bad_request", reason=reason)


def inactive(endpoint: Endpoint) -> Rejection:
    reason = f"Endpoint {endpoint.name} is switched off."
    return rejection(reason, 503, "endpoint_inactive", (("Retry-After", "60"),))


def too_large(limit: int) -> Rejection:
    return rejection(f"The body is larger than the limit of {limit:,} bytes.", 413, "body_too_large", limit=limit)


def over_storage_limit(error: StorageLimitError) -> Rejection:
    """There is no room for the request; one larger than the limit itself can never be stored."""
    if error.limit is not None:
        return Rejection(responses.of_error(413, "body_too_large", limit=error.limit), str(error))
    return rejection(str(error), 503, "storage_limit_reached", (("Retry-After", str(error.retry_after_s)),))


class Admission:
    """Decides on heads. Caches the configuration of each endpoint until it changes."""

    def __init__(self, endpoints: Endpoints, instance_id: str, probe_key: ProbeKey | None = None) -> None:
        self._endpoints = endpoints
        self._probe_key = probe_key
        self._instance_id = instance_id
        self._configs: dict[str, CaptureConfig] = {}

    def decide(self, request: Incoming[IncomingBody], limit: int) -> CaptureConfig | Rejection | Response:
        """How to continue with a request whose head was received. `limit` is the largest body in bytes.

        A response by itself is one to Hookline's own probe, which is neither captured nor refused.
        """
        head = request.head
        if head.method not in _METHODS:
            return Rejection(METHOD_NOT_ALLOWED, f"Method {head.method} is not captured.")
        slug = slug_of(head.target)
        endpoint = self._endpoints.capturing(slug) if slug else None
        if endpoint is None:
            proof = self._probe_key.proof_for(head.target) if self._probe_key is not None else None
            return NOT_FOUND if proof is None else Response(200, (("Cache-Control", "no-store"),), proof)
        marks = head.special.get(LOOP_HEADER.lower(), ())
        if any(self._instance_id == mark.strip() for value in marks for mark in value.split(",")):
            return _LOOP
        if not endpoint.active:
            return inactive(endpoint)
        config = self._config(endpoint)
        if config.credentials is not None:
            refusal = config.credentials.refusal(head.headers)
            if refusal is not None:
                challenge = config.credentials.challenge
                return rejection(refusal, 401, "unauthorized", (("WWW-Authenticate", challenge),) if challenge else ())
        if head.length > limit:
            return too_large(limit)
        return config

    def revoked(self, config: CaptureConfig) -> Rejection | None:
        """Why a request that was admitted is not stored after its body was received: its endpoint was switched off or
        deleted."""
        endpoint = self._endpoints.capturing(config.endpoint.slug)
        if endpoint is None or endpoint.id != config.endpoint.id:
            return NOT_FOUND
        return None if endpoint.active else inactive(endpoint)

    def _config(self, endpoint: Endpoint) -> CaptureConfig:
        config = self._configs.get(endpoint.slug)
        if config is None or config.endpoint is not endpoint:
            if len(self._configs) >= _CONFIGS_MAX:
                self._configs.clear()
            credentials = CredentialCheck(endpoint.auth) if endpoint.auth.kind != "none" else None
            targets = tuple(target for target in endpoint.targets if target.active)
            own = endpoint.response
            response = Response(own.status, own.headers, own.body)
            config = self._configs[endpoint.slug] = CaptureConfig(endpoint, response, credentials, targets)
        return config


class CredentialCheck:
    """The check for an `Auth` other than "none". Secrets are compared in constant time."""

    def __init__(self, auth: Auth) -> None:
        self._kind = auth.kind
        self._header = auth.name.lower() if auth.kind == "header" else "authorization"
        secret = f"{auth.name}:{auth.secret}" if auth.kind == "basic" else auth.secret
        # Clients disagree on how a name or secret outside ASCII is encoded, so both encodings are accepted.
        self._expected = [secret.encode("utf-8", "surrogatepass")]
        if all(ord(char) < 256 for char in secret):
            self._expected.append(secret.encode("latin-1"))

    @property
    def challenge(self) -> str | None:
        """The value of WWW-Authenticate; None for a custom header, which has no scheme."""
        if self._kind == "basic":
            return 'Basic realm="Hookline", charset="UTF-8"'
        return 'Bearer realm="Hookline"' if self._kind == "bearer" else None

    def refusal(self, headers: Headers) -> str | None:
        """Why a request with `headers` is rejected; None when it is admitted."""
        values = [value.encode("latin-1") for name, value in headers if name.lower() == self._header]
        if not values:
            return f"The request has no credentials: header {self._header} is missing."
        if not any(map(self._matches, values)):
            return f"The credentials in header {self._header} are wrong."
        return None

    def _matches(self, value: bytes) -> bool:
        given = self._credentials(value)
        if given is None:
            return False
        same = False
        for secret in self._expected:  # compares all of them, so that the time taken reveals nothing
            same |= hmac.compare_digest(given, secret)
        return same

    def _credentials(self, value: bytes) -> bytes | None:
        if self._kind == "header":
            return value
        scheme, _, rest = value.partition(b" ")
        if scheme.lower() != self._kind.encode():
            return None
        if self._kind == "bearer":
            return rest.strip()
        try:
            return base64.b64decode(rest.strip(), validate=True)
        except binascii.Error:
            return None
