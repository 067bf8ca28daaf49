"""Handles one request: admits, reads and stores it, then responds; or refuses it, with a reason for the list."""

from __future__ import annotations

import asyncio
import logging
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from app.core.bodies.gist import gist, is_counted
from app.core.delivery import Attempt
from app.core.errors import EndpointChangedError, NotFoundError, StorageLimitError, StorageUnavailableError
from app.core.ids import uuid7
from app.core.model import PART_SIZE, Capture, DeliveryState
from app.core.providers import Identify, ProviderMatch, kind_of, no_provider
from app.core.raw_request import slug_of
from app.core.record import Headers
from app.server.addresses import Addresses, ProbeKey
from app.server.capture import admission, responses
from app.server.capture.admission import NOT_FOUND, RETRY_AFTER, Admission, CaptureConfig, Rejection, rejection
from app.server.capture.client import Client, client_of
from app.server.capture.connection import Connection, Request
from app.server.capture.incoming_body import PART_LEAST, BodyMemory
from app.server.capture.limits import Limits
from app.server.capture.reader import Break
from app.server.capture.responses import Response
from app.server.refused import RefusedLog
from app.server.target_responses import TargetResponses

if TYPE_CHECKING:
    from app.current_settings import CurrentSettings
    from app.db.captures import Captures
    from app.db.store import Store

log = logging.getLogger(__name__)


class Body(NamedTuple):
    """A received body, its total size and hash. `tail` is all of it, or with a `key` what follows its stored parts."""

    tail: bytes
    key: int | None
    size: int
    sha256: str


class BodyTooLargeError(Exception):
    """The body is larger than the limit; stored parts of it have to be deleted."""


def read_small_body(request: Request, limit: int) -> Body | None:
    """The body if it is small and was received with the head, as most are; otherwise None."""
    body = request.body
    if not body.is_eof() or body.total_bytes > min(limit, PART_SIZE) or request.broken:
        return None
    data = body.read_nowait()
    return Body(data, None, len(data), sha256(data).hexdigest())


class BodyBuffer:
    """A body being received. Full parts are stored at once; while memory is short, also what has come of the next."""

    def __init__(self, memory: BodyMemory, captures: Captures, endpoint_id: int) -> None:
        self._memory, self._captures, self._endpoint_id = memory, captures, endpoint_id
        self._part = bytearray()
        """What has come since the last part was stored."""
        self._stored = self._tail_size = 0
        self._key: int | None = None

    async def receive(self, connection: Connection, request: Request, limit: int) -> Body:
        """Read to the end of the body, or to where it broke off; then everything except the tail is stored.

        Nothing is read while something has to be stored first. Raises BodyTooLargeError as soon as `limit` bytes are
        exceeded, StorageUnavailableError or StorageLimitError when they cannot be stored.
        """
        digest, size = sha256(), 0
        while data := await connection.read(request):
            size += len(data)
            if size > limit:
                raise BodyTooLargeError
            digest.update(data)
            self._memory.add(len(data))
            self._part += data
            data = b""  # otherwise it would stay in memory until the next one is received
            while len(self._part) > PART_SIZE or (self._memory.full and len(self._part) >= PART_LEAST):
                with connection.paused_reading():
                    await self._store_part()
        tail, self._part = bytes(self._part), bytearray()
        self._tail_size = len(tail)
        return Body(tail, self._key, size, digest.hexdigest())

    async def drop(self) -> None:
        """Delete the stored parts; StorageUnavailableError when that is impossible now."""
        self.close()
        if self._key is not None:
            await self._captures.drop_parts(self._key)

    def close(self) -> None:
        """Release its memory: it is stored, or given up."""
        self._memory.release(len(self._part) + self._tail_size)
        self._part, self._tail_size = bytearray(), 0

    async def _store_part(self) -> None:
        data = bytes(self._part[:PART_SIZE])
        del self._part[:PART_SIZE]
        try:
            self._key = await self._captures.add_part(self._key, self._stored, data, endpoint_id=self._endpoint_id)
        finally:
            self._memory.release(len(data))
        self._stored += len(data)


_DEFAULTS = Limits()
IDENTIFY_MAX = 8 * 1024
"""Longer bodies are identified only after they are stored, because that would delay other senders."""

CHANGES_MAX = 5
"""How often an endpoint may be changed on other nodes while one request is stored."""
SKIPPED_MAX = 256 * 1024
"""Bytes of a refused request's body that are read and discarded, so that its connection can be kept."""

_BROKEN_OFF = responses.of_error(
    400, "bad_request", reason="The connection ended before the request's body was complete."
)
_FAILED = responses.of_error(500, "internal_error")
_CROWDED = responses.of_error(503, "too_many_connections", RETRY_AFTER)
_STOPPING = responses.of_error(503, "stopping", RETRY_AFTER)
_BROKEN = {
    Break.GONE: _BROKEN_OFF,
    Break.IDLE: admission.TIMEOUT,
    Break.SLOW: admission.TIMEOUT,
    Break.CROWDED: _CROWDED,
    Break.STOPPED: _STOPPING,
}
"""The responses to incomplete bodies: never a 2xx. The response to a malformed one says why."""


class Handler:
    """Takes requests from connections to the store and responds. Has no state of a request."""

    def __init__(
        self,
        store: Store,
        refused: RefusedLog,
        settings: CurrentSettings,
        addresses: Addresses,
        *,
        limits: Limits = _DEFAULTS,
        identify: Identify = no_provider,
        target_responses: TargetResponses | None = None,
        probe_key: ProbeKey | None = None,
    ) -> None:
        self.refused, self.limits = refused, limits
        self.body_memory = BodyMemory(limits.body_memory)
        self._target_responses = target_responses or TargetResponses()
        self._admission = Admission(store.endpoints, store.account.instance_id, probe_key)
        self._captures, self._endpoints = store.captures, store.endpoints
        self._settings, self._addresses, self._identify = settings, addresses, identify

    async def handle(self, connection: Connection, request: Request) -> None:
        """Respond to `request` in any case; an internal error is logged, and the response is 500."""
        try:
            limit = self._settings.now.body_limit
            decision = self._admission.decide(request, limit)
            if isinstance(decision, Rejection):
                decision = await self._decide_again(request, limit, decision)
            if isinstance(decision, CaptureConfig):
                rejected = await self._capture(connection, request, decision, limit)
                if rejected is not None:
                    await self._refuse(connection, request, rejected)
            elif isinstance(decision, Rejection):
                await self._refuse(connection, request, decision)
            else:  # to what is neither captured nor listed; a body is not read
                connection.closing = connection.closing or not request.body.is_eof()
                self._send(connection, request, decision)
        except Exception:
            log.exception("a request to the capture port failed")
            connection.closing = True
            if not request.responded:
                self._send(connection, request, _FAILED)
        if connection.writing_paused:
            await connection.flush()

    async def _decide_again(
        self, request: Request, limit: int, before: Rejection | None = None
    ) -> CaptureConfig | Rejection | Response:
        """After a look whether another node has changed the endpoint, or created it; if it has not, `before`."""
        slug = slug_of(request.head.target)
        try:
            changed = slug is not None and await self._endpoints.look_again(slug)
        except StorageUnavailableError as error:
            return _rejection_of(error, limit)
        return self._admission.decide(request, limit) if changed or before is None else before

    # -- one admitted request -------------------------------------------------------------------------------------

    async def _capture(
        self, connection: Connection, request: Request, config: CaptureConfig, limit: int
    ) -> Rejection | None:
        """Store the request and respond; returns a rejection if it cannot be stored, with nothing left behind."""
        buffer, expected, seq = None, None, None
        try:
            body = read_small_body(request, limit)
            if body is None:
                self._captures.check_room(config.endpoint.id, request.head.length)
                request.raw = request.raw[: request.head_size]  # from here on its body is in the store
                buffer = BodyBuffer(self.body_memory, self._captures, config.endpoint.id)
                self._send_continue(connection, request)
                body = await buffer.receive(connection, request, limit)
                if (revoked := self._admission.revoked(config)) is not None:
                    await self._drop(buffer)
                    return revoked
            for _ in range(CHANGES_MAX):
                response = config.response if request.broken is None else _broken(request)
                client = self._client(connection, request)
                capture = _record(request, config, body, client, status=response.status, identify=self._identify)
                targets = config.targets if capture.delivery is DeliveryState.QUEUED else ()
                expected = self._expect(config, capture)
                try:
                    seq = await self._captures.add(capture, body.tail, body.key, targets, config.endpoint.version)
                    break
                except EndpointChangedError:  # on another node
                    _cancel(expected)
                decision = await self._decide_again(request, limit)
                if not isinstance(decision, CaptureConfig):
                    await self._drop(buffer)
                    return decision if isinstance(decision, Rejection) else NOT_FOUND
                config = decision
            else:
                raise StorageUnavailableError("Its endpoint is being changed all the time.")
            request.raw = b""
        except (BodyTooLargeError, StorageLimitError, StorageUnavailableError, NotFoundError) as error:
            await self._drop(buffer)
            return _rejection_of(error, limit)
        finally:
            if buffer is not None:
                buffer.close()
            if seq is None:
                _cancel(expected)
        response = await self._once_due(connection, config, response, expected)
        if self._send(connection, request, response, capture.id):
            self._captures.responded(seq, request.elapsed_ms())
        return None

    def _client(self, connection: Connection, request: Request) -> Client:
        addresses = self._addresses
        return client_of(connection.peer, request.head.headers, addresses.client_header, addresses.proxies)

    def _expect(self, config: CaptureConfig, capture: Capture) -> asyncio.Future[tuple[Attempt, bytes]] | None:
        """The first target's response, if the sender is to get it and the target can be asked now."""
        if not config.endpoint.response.from_target or capture.delivery is not DeliveryState.QUEUED:
            return None
        first = config.targets[0]
        return None if first.paused is not None else self._target_responses.expect(capture.id, first.id)

    async def _once_due(
        self,
        connection: Connection,
        config: CaptureConfig,
        response: Response,
        expected: asyncio.Future[tuple[Attempt, bytes]] | None,
    ) -> Response:
        """The target's response, or else `response`; the endpoint's own after its delay."""
        own = config.endpoint.response
        if expected is not None:
            await connection.sleep(own.wait_ms / 1000, expected)
            if expected.done() and not expected.cancelled():
                return responses.from_target(*expected.result())
            expected.cancel()
        if own.delay_ms and response is config.response:
            await connection.sleep(own.delay_ms / 1000)
        return response

    def _send_continue(self, connection: Connection, request: Request) -> None:
        """Let a sender that waits for it (`Expect: 100-continue`) send its body."""
        head, body = request.head, request.body
        waits = head.version >= "1.1" and (head.first("expect") or "").lower() == "100-continue"
        if waits and not body.total_bytes and not body.is_eof():
            connection.send(responses.CONTINUE)

    async def _drop(self, buffer: BodyBuffer | None) -> None:
        try:
            if buffer is not None:
                await buffer.drop()
        except StorageUnavailableError:
            log.debug("parts of a request stay until the store works again")

    # -- responses ------------------------------------------------------------------------------------------------

    def _send(self, connection: Connection, request: Request, response: Response, capture_id: str = "") -> bool:
        head = request.head
        kept = responses.KEEP if head.version >= "1.1" else responses.KEEP_OLD
        line = responses.CLOSE if connection.closing else kept
        request.responded = True
        return connection.send(response.compose(capture_id, line, head.method == "HEAD"))

    async def _refuse(self, connection: Connection, request: Request, rejected: Rejection) -> None:
        head = request.head
        # Whether its body may be discarded and its connection kept depends on the head alone, not on how much of the
        # body was received with it.
        may_be_skipped = not head.chunked and head.length <= SKIPPED_MAX and "expect" not in head.special
        if rejected.response.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or not may_be_skipped:
            connection.closing = True
        self._send(connection, request, rejected.response)
        client = self._client(connection, request)
        refusal = rejected.refusal(client, request.received_at, head.method, head.target)
        self.refused.add(refusal, request.raw)
        while not connection.closing and await connection.read(request):
            pass


def _cancel(expected: asyncio.Future[tuple[Attempt, bytes]] | None) -> None:
    if expected is not None:
        expected.cancel()


def _rejection_of(error: Exception, limit: int) -> Rejection:
    if isinstance(error, BodyTooLargeError):
        return admission.too_large(limit)
    if isinstance(error, StorageLimitError):
        return admission.over_storage_limit(error)
    if isinstance(error, NotFoundError):  # the endpoint was deleted while the body was received
        return admission.NOT_FOUND
    return rejection(str(error), 503, "storage_unavailable", RETRY_AFTER)


def _broken(request: Request) -> Response:
    if request.framing_error is not None:
        return admission.malformed(request.framing_error).response
    assert request.broken is not None
    return _BROKEN[request.broken]


def _record(
    request: Request, config: CaptureConfig, body: Body, client: Client, *, status: int, identify: Identify
) -> Capture:
    head, complete = request.head, request.broken is None
    content_type = head.first("content-type") or ""
    sender, identified = _sender(identify, head.headers, content_type, body)
    # The beginning of a body in parts is stored already: it has to be identified from there.
    start = body.tail[:IDENTIFY_MAX] if body.key is None else b""
    description = gist(head.method, head.target, head.headers, content_type, start, size=body.size, complete=complete)
    return Capture(
        id=uuid7(request.received_at),
        endpoint_id=config.endpoint.id,
        received_at=request.received_at,
        method=head.method,
        target=head.target,
        http_version=head.version,
        headers=head.headers,
        content_type=content_type,
        size=body.size,
        sha256=body.sha256,
        source_address=client.address,
        source_port=client.port,
        scheme=client.scheme,
        complete=complete,
        response_status=status,
        delivery=DeliveryState.QUEUED if complete and config.targets else DeliveryState.NONE,
        provider=sender.provider if sender else None,
        event=sender.event if sender else None,
        gist=description,
        delivery_id=sender.delivery_id if sender else None,
        identified=identified,
        trailers=request.trailers,
    )


def _sender(identify: Identify, headers: Headers, content_type: str, body: Body) -> tuple[ProviderMatch | None, bool]:
    """The provider, and whether it and the gist are final: for a long body, more of it may have to be read."""
    if body.key is None and body.size <= IDENTIFY_MAX:
        return identify(headers, content_type, body.tail), True
    sender = identify(headers, content_type, b"")
    said_all = kind_of(content_type) is None and not is_counted(content_type) and body.key is None
    last_word = said_all or (sender is not None and sender.event is not None)
    return (sender, True) if last_word else (None, False)
