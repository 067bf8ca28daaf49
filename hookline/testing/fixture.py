"""What the fixture `hookline` gives to a test: endpoints, each with its URL, how it responds and what it captured, and
a client for all else."""

from __future__ import annotations

import ssl
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Unpack, overload

from filelock import BaseFileLock, FileLock, Timeout
from msgspec import UNSET
from msgspec.structs import replace

from hookline.calls import Pages, Steps
from hookline.client.client import AsyncClient
from hookline.client.endpoints import NewEndpointFields
from hookline.client.requests import Waited, wait_call, with_body
from hookline.errors import NotFoundError, ProblemError
from hookline.instance import NAME
from hookline.records import Endpoint, Refusal, Request
from hookline.testing.matchers import (
    Expected,
    MatcherArguments,
    Matchers,
    WaitArguments,
    miss_message,
    read_nearest,
    unwanted_message,
)
from hookline.testing.responder import Respond, Responder, Response, Rule, in_turn

if TYPE_CHECKING:
    from hookline.client.client import Client
    from hookline.instance import Instance

KEPT_MAX = 16 * 1024 * 1024
"""Bytes of bodies that an endpoint's requests are kept with. The others are read again."""


class SeenRequests:
    """What is known of an endpoint's requests, some with their bodies: all up to `position`. Several threads and tasks
    may look for requests at once."""

    def __init__(self, slug: str, position: str) -> None:
        self.slug, self.position = slug, position
        self.requests: list[Request] = []
        self._kept = 0
        self._lock = Lock()

    def add(self, after: str, waited: Waited) -> None:
        """Add what came `after` a position, unless somebody else did."""
        with self._lock:
            if self.position != after:
                return
            self.position = waited.position
            if waited.request is not None:
                self._kept += len(waited.request.body_base64 or b"")
                kept = self._kept <= KEPT_MAX
                self.requests.append(waited.request if kept else replace(waited.request, body_base64=UNSET))


def search(
    seen: SeenRequests, matchers: Matchers, wanted: int, timeout: float, after: Request | None
) -> Steps[list[Request]]:
    """The first `wanted` matching requests with their bodies, of those stored after `after`; fewer if there are no more
    within `timeout` seconds. All that was stored by then is looked at, however long that takes."""
    found: list[Request] = []
    until, latest = time.monotonic() + timeout, datetime.now(UTC) + timedelta(seconds=timeout)
    skipping, place = after is not None, 0
    while True:
        while place < len(seen.requests):
            request = seen.requests[place]
            place += 1
            if skipping:
                skipping = after is not None and request.id != after.id
            elif (matched := (yield from _matched(request, matchers))) is not None:
                found.append(matched)
                if len(found) == wanted:
                    return found
        left, position = until - time.monotonic(), seen.position
        waited = yield wait_call(seen.slug, "", position, left)
        seen.add(position, waited)
        if waited.request is None:
            if left <= 0 and place == len(seen.requests):
                return found
        elif waited.request.received_at > latest:
            return found


def _matched(request: Request, matchers: Matchers) -> Steps[Request | None]:
    """The request with its body, if it matches."""
    if not matchers.head_fits(request):
        return None
    try:
        whole = yield from with_body(request)
    except NotFoundError:  # deleted meanwhile
        return None
    return None if matchers.mismatches(whole) else whole


TIMEOUT_S = 5.0
REFUSED_SHOWN = 3
RESPONDER_MS = 30_000


class HooklineEndpoint:
    """Give `url`, or a path below it, to the code under test."""

    def __init__(self, instance: Instance, record: Endpoint, url: str, *, is_usual: bool) -> None:
        """`is_usual`: it has only what was captured, so that it need not be deleted at once."""
        self._instance, self._client, self._is_usual = instance, instance.client, is_usual
        self._record, self._url, self._given_at = record, url, datetime.now(UTC)
        self._seen = SeenRequests(record.slug, instance.position)
        self._responder: Responder | None = None
        self._errors: list[BaseException] = []
        self._others = Response()
        """For requests that no path names."""

    @property
    def url(self) -> str:
        return self._url

    @property
    def slug(self) -> str:
        return self._record.slug

    def respond(
        self,
        status: int | Respond = 200,
        *,
        path: Expected | None = None,
        method: str | None = None,
        headers: Sequence[tuple[str, str]] = (),
        body: str | None = None,
        json: Any = None,
        delay: float = 0.0,
    ) -> None:
        """Respond so from now on to all requests, or to those with this `path` (as in `MatcherArguments`) and `method`.
        The newest call that names a request counts; those that no call names get 200.

        `status` may be a function instead, which gets the `Request` and returns a `Response`, in a thread of the test's
        process; if it raises an exception, the sender gets 500 and the test fails. `body` None is Hookline's default
        one, and with `path` or `method` an empty one; `json` in place of `body` is sent as JSON; `delay` is in seconds,
        at most 30.
        """
        if callable(status):
            self._add(Rule(status, method and method.upper(), path))
            return
        response = Response(status, headers, body or "", json, delay)
        if path is not None or method is not None:
            self._add(Rule(lambda _: response, method and method.upper(), path))
            return
        self._end_responder()
        self._others = response
        pairs, content = response.sent()
        self._client.endpoints.update(
            self.slug,
            response={
                "status": status,
                "headers": pairs,
                "body": None if body is None and json is None else content.decode(),
                "delay_ms": round(delay * 1000),
                "from_target": False,
            },
        )

    def respond_in_turn(self, *responses: Response, path: Expected | None = None, method: str | None = None) -> None:
        """Give the first response to the next request, the second one to the one after it, and so on; the last one is
        repeated. `respond_in_turn(Response(500), Response(500), Response(200))` fails twice. `path` and `method` as in
        `respond`.

        The responses come from this process, through a target of the endpoint, so `request.deliveries` lists them.
        """
        self._add(Rule(in_turn(responses), method and method.upper(), path))

    def _add(self, rule: Rule) -> None:
        self._is_usual = False
        if self._responder is None:
            self._start_responder()
        assert self._responder is not None
        self._responder.rules.insert(0, rule)

    def _start_responder(self) -> None:
        if self._client.endpoints.get(self.slug).targets:
            raise ValueError("An endpoint that forwards requests cannot respond in turn, by path or by a function.")
        others = self._others
        self._responder = Responder(self._client, self.slug, self._errors)
        self._responder.rules.append(Rule(lambda _: others))
        target = self._client.targets.create(
            self.slug,
            self._responder.url,
            timeout_ms=2 * RESPONDER_MS,
            pause_after=0,
            retry={"retries": 0},
        )
        assert target.parallel is None  # one after the other, so that the next request gets the next response
        self._client.endpoints.update(self.slug, response={"from_target": True, "wait_ms": RESPONDER_MS, "delay_ms": 0})

    def requests(self) -> list[Request]:
        """All that it has captured, with bodies, in the order they came."""
        listed = list(self._client.requests.list(self.slug))
        return [self._client.requests.get(summary.id) for summary in reversed(listed)]

    @overload
    def wait_for(self, *, count: None = None, **how: Unpack[WaitArguments]) -> Request: ...

    @overload
    def wait_for(self, *, count: int, **how: Unpack[WaitArguments]) -> list[Request]: ...

    def wait_for(
        self,
        *,
        count: int | None = None,
        timeout: float = TIMEOUT_S,
        after: Request | None = None,
        **matchers: Unpack[MatcherArguments],
    ) -> Request | list[Request]:
        """The first request that matches, see `MatcherArguments`; with `count`, a list of that many.

        It may have come already, or come within `timeout` seconds; with `after`, only what was stored after that
        request counts. The same call gives the same request again. AssertionError, which shows what came instead.
        """
        __tracebackhide__ = True
        found = self._client.run(self._wait_steps(Matchers(matchers), count or 1, timeout, after))
        return found[0] if count is None else found

    @overload
    async def async_wait_for(self, *, count: None = None, **how: Unpack[WaitArguments]) -> Request: ...

    @overload
    async def async_wait_for(self, *, count: int, **how: Unpack[WaitArguments]) -> list[Request]: ...

    async def async_wait_for(
        self,
        *,
        count: int | None = None,
        timeout: float = TIMEOUT_S,
        after: Request | None = None,
        **matchers: Unpack[MatcherArguments],
    ) -> Request | list[Request]:
        """`wait_for` while the event loop goes on."""
        __tracebackhide__ = True
        address = self._instance.address
        async with AsyncClient(address.url, address.token) as client:
            found = await client.run(self._wait_steps(Matchers(matchers), count or 1, timeout, after))
        return found[0] if count is None else found

    def assert_none(
        self, *, within: float = 0.0, after: Request | None = None, **matchers: Unpack[MatcherArguments]
    ) -> None:
        """AssertionError if a request that matches has come, or comes within so many seconds.

        A request has come once its sender has the response, so what was sent before needs no waiting.
        """
        __tracebackhide__ = True
        self._client.run(self._none_steps(Matchers(matchers), within, after))

    async def async_assert_none(
        self, *, within: float = 0.0, after: Request | None = None, **matchers: Unpack[MatcherArguments]
    ) -> None:
        """`assert_none` while the event loop goes on."""
        __tracebackhide__ = True
        address = self._instance.address
        async with AsyncClient(address.url, address.token) as client:
            await client.run(self._none_steps(Matchers(matchers), within, after))

    def raise_errors(self) -> None:
        """Raise what a function of the test raised when it was to respond, once."""
        __tracebackhide__ = True
        if self._errors:
            error = self._errors[0]
            self._errors.clear()
            raise error

    def close(self) -> Future[None] | None:
        """Delete the endpoint with its requests, unless the test has. The result comes when that is done; None if it
        may be done later."""
        self._stop_responder()
        self._instance.position = self._seen.position
        if not self._is_usual:
            return self._instance.endpoints.delete_soon(self.slug)
        self._instance.endpoints.delete_later(self.slug)
        return None

    def _wait_steps(
        self, matchers: Matchers, count: int, timeout: float, after: Request | None
    ) -> Steps[list[Request]]:
        __tracebackhide__ = True
        found = yield from search(self._seen, matchers, count, timeout, after)
        if len(found) == count:
            return found
        nearest = yield from read_nearest(self._seen.requests, matchers)
        refused = yield Pages("/refused", Refusal, {}, REFUSED_SHOWN).first()
        what = "No request matched" if count == 1 else f"{len(found)} of {count} requests matched"
        raise AssertionError(
            miss_message(
                self.url,
                matchers=matchers,
                arrived=len(self._seen.requests),
                nearest=nearest,
                refused=[one for one in refused.items if one.at >= self._given_at],
                waited=f"{what} within {timeout:g} s",
            )
        )

    def _none_steps(self, matchers: Matchers, within: float, after: Request | None) -> Steps[None]:
        __tracebackhide__ = True
        found = yield from search(self._seen, matchers, 1, within, after)
        if found:
            raise AssertionError(unwanted_message(self.url, matchers, found[0]))

    def _end_responder(self) -> None:
        if self._responder is not None:
            self._client.endpoints.update(self.slug, forward_url=None)
            self._stop_responder()

    def _stop_responder(self) -> None:
        if self._responder is not None:
            self._responder.close()
            self._responder = None


SLUG_S = 60.0


class Hookline:
    """The endpoints of one test; they are deleted after it. `client` is for what they cannot do."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._endpoints: list[HooklineEndpoint] = []
        self._locks: list[BaseFileLock] = []
        self._alone = False
        """The test may look at all endpoints, so there is none but its own."""

    @property
    def client(self) -> Client:
        """Calls of the local API."""
        self._be_alone()
        return self._instance.client

    @property
    def api_url(self) -> str:
        """Where the local API is, for programs that use it themselves; see `token`."""
        self._be_alone()
        return self._instance.address.url

    @property
    def token(self) -> str:
        return self._instance.address.token

    @property
    def ssl_context(self) -> ssl.SSLContext:
        """For the code under test: it trusts the authority of endpoints with HTTPS, and no other."""
        return self._instance.https.client_context

    @property
    def ca_file(self) -> Path:
        """The same authority's certificate as a file, for what takes a path."""
        return self._instance.https.ca_file

    def endpoint(
        self, name: str = NAME, *, https: bool = False, **fields: Unpack[NewEndpointFields]
    ) -> HooklineEndpoint:
        """A new endpoint with a URL of its own; with `https` that begins so, see `ssl_context`. ImportError without the
        extra `https`."""
        base = self._instance.https.url if https else self._instance.url
        usual = name == NAME and not fields and not self._alone
        record = self._instance.endpoints.take() if usual else self._create(name, fields)
        url = record.url.replace(self._instance.url, base, 1)
        made = HooklineEndpoint(self._instance, record, url, is_usual=usual)
        self._endpoints.append(made)
        return made

    def _create(self, name: str, fields: NewEndpointFields) -> Endpoint:
        """Waits while a test of another process has an endpoint with this slug: all share one Hookline."""
        slug = fields.get("slug")
        if slug is None or slug in [endpoint.slug for endpoint in self._endpoints]:
            return self._instance.client.endpoints.create(name, **fields)
        lock = FileLock(self._instance.shared_folder / f"{sha256(slug.encode()).hexdigest()}.lock", thread_local=False)
        with suppress(Timeout):
            lock.acquire(timeout=SLUG_S)
            self._locks.append(lock)
        try:
            return self._instance.client.endpoints.create(name, **fields)
        except ProblemError as error:
            if "is taken" not in str(error) or not lock.is_locked:
                raise
        self._instance.client.endpoints.delete(slug)  # left by a process that was killed: the others wait for the lock
        return self._instance.client.endpoints.create(name, **fields)

    def _be_alone(self) -> None:
        if not self._alone:
            self._alone = True
            self._instance.endpoints.empty()

    def raise_errors(self) -> None:
        """Raise what a function that responds for an endpoint raised."""
        __tracebackhide__ = True
        for endpoint in self._endpoints:
            endpoint.raise_errors()

    def close(self) -> None:
        """Delete the endpoints."""
        try:
            deletions = [endpoint.close() for endpoint in self._endpoints]
            if self._locks:  # others may wait for the slugs
                wait([deletion for deletion in deletions if deletion is not None])
        finally:
            while self._locks:
                self._locks.pop().release()
        self.raise_errors()
