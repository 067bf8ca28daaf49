"""The endpoints of the fixture's tests. Most are created ahead and deleted later, many in one call: alone, each of the
two would take as long as a short test."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock

from hookline.client.client import Client
from hookline.client.endpoints import NewEndpoint
from hookline.errors import ApiError, NotFoundError
from hookline.records import Endpoint

NAME = "Test"
"""Of an endpoint that is given no other."""
MOST, FEW = 16, 4
"""In one call; and when so many are left, the next ones are created."""


class EndpointPool:
    """Threads may share it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._background = ThreadPoolExecutor(1, "hookline endpoints")
        self._lock = Lock()
        self._ready: list[Endpoint] = []
        self._creating: Future[Sequence[Endpoint]] | None = None
        self._next = 1
        """How many are created next: a session of few tests needs no more."""
        self._ended: list[str] = []

    def take(self) -> Endpoint:
        """An endpoint as most tests have it, which nothing was sent to."""
        with self._lock:
            if self._creating is not None and (not self._ready or self._creating.done()):
                self._add_created()
            taken = self._ready.pop() if self._ready else None
            if self._creating is None and len(self._ready) < FEW:
                self._creating = self._background.submit(self._create, self._next)
                self._next = min(2 * self._next, MOST)
        return self._client.endpoints.create(NAME) if taken is None else taken

    def delete_later(self, slug: str) -> None:
        """Delete an endpoint together with others."""
        with self._lock:
            self._ended.append(slug)
            if len(self._ended) == MOST:
                self._delete_ended()

    def delete_soon(self, slug: str) -> Future[None]:
        """Delete an endpoint, unless the test has, while the next test begins."""
        return self._background.submit(self._delete, (slug,))

    def empty(self) -> None:
        """Delete all but those of tests that run."""
        with self._lock:
            self._add_created()
            self._ended += [endpoint.slug for endpoint in self._ready]
            self._ready.clear()
            self._delete_ended()
        self._background.submit(int).result()  # after what is to be deleted

    def close(self) -> None:
        """Finish what was begun. The rest goes with the program's data."""
        self._background.shutdown()

    def _add_created(self) -> None:
        if self._creating is not None:
            self._ready += self._creating.result()
            self._creating = None

    def _create(self, number: int) -> Sequence[Endpoint]:
        """None if that fails: the next test is then told why."""
        with suppress(ApiError):
            return self._client.endpoints.change_several([NewEndpoint(name=NAME)] * number)
        return ()

    def _delete_ended(self) -> None:
        if self._ended:
            self._background.submit(self._delete, tuple(self._ended))
            self._ended.clear()

    def _delete(self, slugs: Sequence[str]) -> None:
        try:
            self._client.endpoints.change_several(delete=slugs)
        except NotFoundError:  # a test has deleted one of them
            for slug in slugs:
                with suppress(NotFoundError):
                    self._client.endpoints.delete(slug)
