"""Makes attempts of deliveries: sends one request, follows redirects if wanted, and describes the result."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from msgspec.structs import replace

from app.core.clock import now_us
from app.core.delivery import Attempt, AttemptTrigger, FailureKind, QueuedDelivery, RequestEdit, Timing
from app.core.errors import StorageUnavailableError
from app.core.record import Headers
from app.core.redaction.secret import is_secret_header
from app.core.target import Target, sendable
from app.core.text import word_set
from app.server.forward.attempt_failure import AttemptError, seconds, stale_text
from app.server.forward.exchange import Exchange, StaleConnectionError, TargetResponse, location_of
from app.server.forward.pool import ConnectionPool, PoolKey
from app.server.forward.request import OutgoingRequest, StoredBody, make_request, parse_url
from app.server.forward.tls import TlsOptions

if TYPE_CHECKING:
    from app.db.captures import Captures

log = logging.getLogger(__name__)

REDIRECTS_MAX = 10
_OF_BODY = word_set("content-length transfer-encoding content-type content-encoding content-language content-location")
_SIGNATURE = re.compile(r"signature|hmac|\bsig$", re.IGNORECASE)
_TEXT_MAX = 200
_NO_EDIT = RequestEdit()


def next_request(request: OutgoingRequest, status: int, location: str, own: Collection[str] = ()) -> OutgoingRequest:
    """The request to send to `location`, Latin-1 as received, as browsers do it (RFC 9110 15.4, Fetch 4.4).
    AttemptError if that is no http or https URL.

    Another origin gets no keys and signatures, and none of the headers `own`, in lower case, that the target adds.
    """
    try:
        url = parse_url(urljoin(request.url.text, sendable(location, "latin-1")))
    except ValueError as error:
        text = f"The target responded with {status}, and its redirect to {location[:_TEXT_MAX]} cannot be followed"
        raise AttemptError(FailureKind.STATUS, f"{text}: {error}.") from error
    dropped: frozenset[str] = frozenset()
    method, body = request.method, request.body
    if (status == 303 and method not in ("GET", "HEAD")) or (status in (301, 302) and method == "POST"):
        method, body, dropped = "GET", b"", _OF_BODY
    headers = [pair for pair in request.headers if pair[0].lower() not in dropped]
    if url.origin != request.url.origin:
        headers = [
            (name, url.authority if name.lower() == "host" else value)
            for name, value in headers
            if name.lower() == "host"
            or not (name.lower() in own or is_secret_header(name, value) or _SIGNATURE.search(name))
        ]
    return replace(request, method=method, url=url, headers=tuple(headers), body=body)


def followed_text(urls: list[str]) -> str:
    """The URLs that led to a failure, for the end of its sentence."""
    if len(urls) < 2:
        return ""
    shown = urls if len(urls) <= 4 else [*urls[:2], "…", urls[-1]]
    return f" Followed redirects: {' → '.join(url[:_TEXT_MAX] for url in shown)}"


class AttemptSender:
    """Owns the connections to the targets."""

    def __init__(self, captures: Captures, instance_id: str) -> None:
        self._captures = captures
        self._instance_id = instance_id
        self._pool = ConnectionPool()

    async def close(self) -> None:
        """Close the idle connections. Attempts that still run close theirs."""
        await self._pool.close()

    async def attempts(
        self,
        queued: QueuedDelivery,
        target: Target,
        edit: RequestEdit | None = None,
        *,
        cut_off: float | None = None,
        to_hookline: bool = False,
        before_resend: Callable[[Attempt], Awaitable[bool]] | None = None,
    ) -> list[tuple[Attempt, bytes]]:
        """Send the request to `target` within `target.timeout_ms`.

        `cut_off` closes the connection after that part (0 to 1) of the body, on purpose. `to_hookline` leaves out the
        header by which Hookline refuses what it forwarded itself.

        Without retries, each attempt has a connection of its own, so that none needs to be sent twice.
        Two attempts if a reused connection closed without a response: the failed one, and the next on a new connection;
        `before_resend` gets the failed one before the next begins, and says whether it may.
        StorageUnavailableError when a long body cannot be read; then nothing was sent. Any other failure is a result.
        """
        edit = edit or _NO_EDIT
        body = StoredBody(self._captures, queued.capture) if queued.body is None and edit.body is None else None
        instance_id = "" if to_hookline else self._instance_id
        run = _Run(self._pool, instance_id, queued, target, body, edit, cut_off)
        trigger, number = queued.delivery.next_trigger, queued.delivery.attempts + 1
        first = await run.attempt(trigger, number, fresh=target.retry.retries == 0)
        if not run.stale:
            return [first]
        if before_resend is not None and not await before_resend(first[0]):
            return [first]
        return [first, await run.attempt(AttemptTrigger.RESENT, number + 1, fresh=True)]


@dataclass(slots=True)
class _Run:
    """The attempts of one call. `stale`: the last one failed because of a reused connection. `sent`: the last request
    of which anything was sent, and how much of its body."""

    pool: ConnectionPool
    instance_id: str
    queued: QueuedDelivery
    target: Target
    body: StoredBody | None
    edit: RequestEdit
    cut_off: float | None = None
    stale: bool = False
    exchange: Exchange | None = None
    sent: tuple[OutgoingRequest, int] | None = None
    followed: list[str] | None = None
    began: bool = False
    """Whether the body was compared and its first part read: for both attempts, and not in the target's time."""

    async def attempt(self, trigger: AttemptTrigger, number: int, *, fresh: bool) -> tuple[Attempt, bytes]:
        self.stale, self.exchange, self.sent, self.followed = False, None, None, []
        started_at, started = now_us(), time.perf_counter()
        failure: tuple[FailureKind, str] | None = None
        try:
            if self.body is not None and not self.began:
                await self.body.begin()
                started_at, started = now_us(), time.perf_counter()
            self.began = True
            async with asyncio.timeout(self.target.timeout_ms / 1000):
                await self._send(number, fresh=fresh)
        except AttemptError as error:
            failure = error.kind, self._text(str(error))
        except TimeoutError:
            limit, exchange = seconds(self.target.timeout_ms), self.exchange
            kind = FailureKind.TIMEOUT if exchange is None else exchange.timeout_kind
            text = f"No response within {limit}." if exchange is None else exchange.timeout_text(limit)
            failure = kind, self._text(text)
        except StaleConnectionError:
            assert self.exchange is not None
            self.stale = True
            failure = FailureKind.CONNECTION, stale_text(self.exchange.key.place)
        except Exception as error:  # of this program: it is visible and does not block the next
            if isinstance(error, StorageUnavailableError) and not self.began:
                raise
            log.exception("forwarding of %s failed", self.queued.capture.id)
            name = type(error).__name__
            text = f"Hookline could not forward this request because of an internal error: {name}: {error}"
            failure = FailureKind.INTERNAL, text
        ms = (time.perf_counter() - started) * 1000
        return self._record(trigger, number, started_at, ms, failure)

    async def _send(self, number: int, *, fresh: bool) -> None:
        """Send, and follow redirects. AttemptError unless the last response is a success."""
        request = make_request(
            self.queued, self.target, self.instance_id, self.body, self.edit, cut_off=self.cut_off, number=number
        )
        seen: set[tuple[str, str]] = set()
        followed = self.followed = [request.url.text]
        while True:
            await self._exchange(request, fresh=fresh or len(followed) > 1)
            assert self.exchange is not None
            response = self.exchange.response
            assert response.status is not None
            location = location_of(response.status, response.headers) if self.target.follow_redirects else None
            if location is None:
                response.check()
                return
            seen.add((request.method, request.url.text))
            request = next_request(request, response.status, location, self.target.own_headers)
            followed.append(request.url.text)
            if (request.method, request.url.text) in seen:
                raise AttemptError(FailureKind.STATUS, "The target redirects in a loop.")
            if len(followed) > REDIRECTS_MAX + 1:
                text = f"The target redirected more than {REDIRECTS_MAX} times."
                raise AttemptError(FailureKind.STATUS, text)

    async def _exchange(self, request: OutgoingRequest, *, fresh: bool) -> None:
        key = PoolKey(request.url.host, request.url.port, self._tls(request))
        keep = (self.target.parallel or 1) if self.target.retry.retries else 0
        exchange = self.exchange = Exchange(request, key, self.pool, keep)
        try:
            await exchange.run(fresh=fresh)
        finally:
            if exchange.connection is not None:
                self.sent = request, exchange.connection.sent_body

    def _tls(self, request: OutgoingRequest) -> TlsOptions | None:
        if request.url.scheme != "https":
            return None
        target = self.target
        # Like other credentials, the client certificate is for the origin it was set for.
        own = request.url.has_origin_of(target.url)
        certificate, key = (target.client_certificate, target.client_key) if own else (None, None)
        return TlsOptions(target.verify_tls, True, certificate, key, target.ca_certificate)

    def _text(self, text: str) -> str:
        status = self.exchange.response.status if self.exchange is not None else None
        complete = self.exchange is None or self.exchange.complete
        if status is not None and not complete:
            text = f"The response started ({status}) but did not finish. {text}"
        return text + followed_text(self.followed or [])

    def _record(
        self,
        trigger: AttemptTrigger,
        number: int,
        started_at: int,
        ms: float,
        failure: tuple[FailureKind, str] | None,
    ) -> tuple[Attempt, bytes]:
        exchange, edit = self.exchange, self.edit
        response = exchange.response if exchange is not None else TargetResponse()
        # A redirect that nothing could connect to was not sent, but the request before it was.
        request, size = self.sent or (None if exchange is None else exchange.request, 0)
        headers: Headers = request.headers if request is not None and self.sent is not None else ()
        attempt = Attempt(
            delivery_id=self.queued.delivery.id,
            number=number,
            trigger=trigger,
            started_at=started_at,
            ms=ms,
            method=request.method if request is not None else edit.method or self.queued.capture.method,
            url=request.url.text if request is not None else edit.url or self.target.url,
            headers=headers,
            size=size,
            reused=exchange is not None and exchange.reused,
            timing=exchange.timing if exchange is not None else Timing(),
            http_version=response.http_version,
            status=response.status,
            response_headers=response.headers,
            response_size=len(response.body),
            response_truncated=response.truncated,
            failure=failure[0] if failure else None,
            error=failure[1] if failure else None,
        )
        return attempt, bytes(response.body)
