"""What becomes of one request: admitted, read, stored, and only then answered; or refused, with the reason listed."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from aiohttp.hdrs import CONTENT_TYPE, EXPECT
from aiohttp.http_exceptions import BadHttpMethod

from app.core.clock import now_us
from app.core.errors import NotFoundError, StorageLimitError, StorageUnavailableError
from app.core.ids import uuid7
from app.core.model import METHODS, Capture, Endpoint, Headers, MirrorState, Refusal
from app.core.providers.catalogue import Identify, Sender
from app.core.providers.contents import kind_of
from app.server.capture import admission, answers
from app.server.capture.admission import Admission, Denial, Plan, denial
from app.server.capture.answers import Answer
from app.server.capture.body import Body, BodyTooLargeError, receive, whole
from app.server.capture.connection import Connection
from app.server.capture.incoming import Break, Incoming
from app.server.ports import CaptureSink, EndpointLookup
from app.server.refused import RefusedLog

log = logging.getLogger(__name__)

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_KEEP = b""
_KEEP_OLD = b"Connection: keep-alive\r\n"
_CLOSE = b"Connection: close\r\n"
AT_ONCE = 8 * 1024
"""Longer bodies are looked into only after they are stored: it would hold up other senders."""
RETRY_AFTER = (("Retry-After", "10"),)

_BAD_REQUEST = answers.of_error(400, "bad_request")
_TIMEOUT = answers.of_error(408, "request_timeout")
_FAILED = answers.of_error(500, "internal_error")
_STOPPING = answers.of_error(503, "stopping", RETRY_AFTER)
_BROKEN = {
    Break.GONE: _BAD_REQUEST,
    Break.MALFORMED: _BAD_REQUEST,
    Break.IDLE: _TIMEOUT,
    Break.SLOW: _TIMEOUT,
    Break.STOPPED: _STOPPING,
}
"""What a sender gets to hear whose body was not complete: never a 2xx."""


class Handler:
    """Takes requests from connections to the store and answers back. Keeps nothing of a request."""

    def __init__(
        self,
        endpoints: EndpointLookup,
        captures: CaptureSink,
        refused: RefusedLog,
        *,
        body_limit: Callable[[], int],
        instance_id: str,
        identify: Identify,
    ) -> None:
        self._admission = Admission(endpoints, instance_id)
        self._captures = captures
        self._refused = refused
        self._body_limit = body_limit
        self._identify = identify

    async def handle(self, connection: Connection, request: Incoming) -> None:
        """Answer `request`, whatever happens; a mistake of ours is logged and answered 500."""
        try:
            limit = self._body_limit()
            decision = self._admission.decide(request.message, limit)
            if isinstance(decision, Plan):
                denied = await self._capture(connection, request, decision, limit)
            else:
                denied = decision
            if denied is not None:
                self._refuse(connection, request, denied)
        except Exception:
            log.exception("a request to the capture port failed")
            connection.closing = True
            if not request.answered:
                self._send(connection, request, _FAILED)
        await connection.flush()

    def malformed(self, connection: Connection, error: Exception, head: bytes) -> None:
        """Answer bytes that are not HTTP: 405 to a request line with a method nobody knows, 400 to all else."""
        method, target = _request_line(head)
        if isinstance(error, BadHttpMethod) and method and method not in METHODS:
            denied = admission.wrong_method(method)
        else:
            denied = Denial(_BAD_REQUEST, _in_words(error))
        self.turn_away(connection, denied, method, target)

    def slow(self, connection: Connection, head: bytes) -> None:
        """Answer a sender that did not finish its request's head in time."""
        self.turn_away(
            connection, Denial(_TIMEOUT, "The request's head was not complete in time."), *_request_line(head)
        )

    def turn_away(
        self, connection: Connection, denied: Denial, method: str = "", target: str = "", *, listed: bool = True
    ) -> None:
        """Answer a connection that has no request in hand, and hang up."""
        connection.send(denied.answer.compose("", _CLOSE, False))
        connection.hang_up()
        if listed:
            self._list(connection, now_us(), denied, method, target)

    # -- one admitted request -------------------------------------------------------------------------------------

    async def _capture(self, connection: Connection, request: Incoming, plan: Plan, limit: int) -> Denial | None:
        """Store the request and answer it; a refusal if that is not to be, with nothing left behind."""
        seq = self._captures.new_seq()
        try:
            body = whole(request, limit)
            if body is None:
                self._captures.check_room(plan.endpoint.id, admission.declared_length(request.message))
                self._invite(connection, request)
                body = await receive(
                    connection, request, self._captures, seq=seq, limit=limit, endpoint_id=plan.endpoint.id
                )
            answer = plan.answer if request.broken is None else _BROKEN[request.broken]
            capture = _record(
                request,
                plan.endpoint,
                body,
                peer=connection.peer,
                seq=seq,
                reply_status=answer.status,
                identify=self._identify,
            )
            forward_url = plan.endpoint.forward_url if capture.mirror is MirrorState.QUEUED else None
            await self._captures.add(capture, body.tail, body.tail_part, forward_url)
        except BodyTooLargeError:
            await self._drop(request, seq)
            return admission.too_large(limit)
        except StorageLimitError as error:
            await self._drop(request, seq)
            return admission.over_storage_limit(error)
        except StorageUnavailableError as error:
            await self._drop(request, seq)
            return denial(f"The request could not be stored. {error}", 503, "storage_unavailable", RETRY_AFTER)
        except NotFoundError:  # the endpoint was deleted while the body came in
            await self._drop(request, seq)
            return admission.not_found()
        await self._reply(connection, request, plan, capture, answer)
        return None

    def _invite(self, connection: Connection, request: Incoming) -> None:
        """Let a sender that waits for our word (`Expect: 100-continue`) send its body."""
        message, payload = request.message, request.payload
        waits = message.version >= (1, 1) and message.headers.get(EXPECT, "").lower() == "100-continue"
        if waits and not payload.total_bytes and not payload.is_eof():
            connection.send(answers.CONTINUE)

    async def _drop(self, request: Incoming, seq: int) -> None:
        try:
            if request.parts:
                await self._captures.drop_parts(seq)
        except StorageUnavailableError:
            log.debug("parts of request %d stay until the store works again", seq)

    async def _reply(
        self, connection: Connection, request: Incoming, plan: Plan, capture: Capture, answer: Answer
    ) -> None:
        delay_ms = plan.endpoint.reply.delay_ms
        if delay_ms and answer is plan.answer:
            await connection.sleep(delay_ms / 1000)
        if self._send(connection, request, answer, capture.id):
            self._captures.replied(capture.seq, request.elapsed_ms())

    # -- answers --------------------------------------------------------------------------------------------------

    def _send(self, connection: Connection, request: Incoming, answer: Answer, capture_id: str = "") -> bool:
        message = request.message
        if not request.payload.is_eof():
            connection.closing = True
        kept = _KEEP if message.version >= (1, 1) else _KEEP_OLD
        line = _CLOSE if connection.closing else kept
        request.answered = True
        return connection.send(answer.compose(capture_id, line, message.method == "HEAD"))

    def _refuse(self, connection: Connection, request: Incoming, denied: Denial) -> None:
        self._send(connection, request, denied.answer)
        self._list(connection, request.received_at, denied, request.message.method, _latin1(request.message.path))

    def _list(self, connection: Connection, at: int, denied: Denial, method: str, target: str) -> None:
        address, port = connection.peer
        self._refused.add(
            Refusal(
                at=at,
                source_address=address,
                source_port=port,
                status=denied.answer.status,
                reason=denied.reason,
                method=method,
                target=target,
            )
        )


def _record(
    request: Incoming,
    endpoint: Endpoint,
    body: Body,
    *,
    peer: tuple[str, int],
    seq: int,
    reply_status: int,
    identify: Identify,
) -> Capture:
    message, complete = request.message, request.broken is None
    address, port = peer
    major, minor = message.version
    headers = tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in message.raw_headers])
    content_type = _latin1(message.headers.get(CONTENT_TYPE, ""))
    sender, identified = _sender(identify, headers, content_type, body)
    return Capture(
        seq=seq,
        id=uuid7(request.received_at),
        endpoint_id=endpoint.id,
        received_at=request.received_at,
        method=message.method,
        target=_latin1(message.path),
        http_version=f"{major}.{minor}",
        headers=headers,
        content_type=content_type,
        size=body.size,
        sha256=body.sha256,
        source_address=address,
        source_port=port,
        scheme="http",
        complete=complete,
        reply_status=reply_status,
        mirror=MirrorState.QUEUED if complete and endpoint.forward_url is not None else MirrorState.NONE,
        provider=sender.provider if sender else None,
        event=sender.event if sender else None,
        delivery_id=sender.delivery_id if sender else None,
        identified=identified,
    )


def _sender(identify: Identify, headers: Headers, content_type: str, body: Body) -> tuple[Sender | None, bool]:
    """Who sent it, and whether that is the last word: with a long body it is if the headers alone say it all."""
    if body.size <= AT_ONCE:
        return identify(headers, content_type, body.tail), True
    sender = identify(headers, content_type, b"")
    last_word = kind_of(content_type) is None or (sender is not None and sender.event is not None)
    return (sender, True) if last_word else (None, False)


def _latin1(text: str) -> str:
    """Text that aiohttp decoded as UTF-8, each byte as one character again."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def _request_line(head: bytes) -> tuple[str, str]:
    """Method and target of what may be the beginning of a request; empty where it does not look like one."""
    line = head.lstrip(b"\r\n").partition(b"\n")[0].rstrip(b"\r").decode("latin-1")
    method, _, rest = line.partition(" ")
    target, _, version = rest.rpartition(" ")
    return (method, target) if _TOKEN.fullmatch(method) and version.startswith("HTTP/") else ("", "")


def _in_words(error: Exception) -> str:
    """The parser's message on one line, without its drawing of where it stumbled."""
    text = str(getattr(error, "message", "") or error).partition("\n\n")[0]
    return f"Malformed HTTP: {' '.join(text.split()).rstrip(':.')}."
