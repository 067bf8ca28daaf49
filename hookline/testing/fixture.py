"""What the fixture `hookline` gives to a test: endpoints, and a client for all else."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Unpack

from filelock import BaseFileLock, FileLock, Timeout

from hookline.client.client import Client
from hookline.client.endpoints import NewEndpointFields
from hookline.client.records import Endpoint
from hookline.errors import ProblemError
from hookline.running import ApiAddress
from hookline.testing.endpoint import HooklineEndpoint

SLUG_S = 60.0


class Hookline:
    """The endpoints of one test; they are deleted after it. `client` is for what they cannot do."""

    def __init__(self, client: Client, address: ApiAddress, folder: Path) -> None:
        """`folder` is shared by all processes that use this Hookline."""
        self.client, self._address, self._folder = client, address, folder
        self._endpoints: list[HooklineEndpoint] = []
        self._locks: list[BaseFileLock] = []

    @property
    def api_url(self) -> str:
        """Where the local API is, for programs that use it themselves; see `token`."""
        return self._address.url

    @property
    def token(self) -> str:
        return self._address.token

    def endpoint(self, name: str = "Test", **fields: Unpack[NewEndpointFields]) -> HooklineEndpoint:
        """A new endpoint with a URL of its own."""
        position = self.client.requests.position()
        record = self._create(name, fields)
        made = HooklineEndpoint(self.client, self._address, record, position)
        self._endpoints.append(made)
        return made

    def _create(self, name: str, fields: NewEndpointFields) -> Endpoint:
        """Waits while a test of another process has an endpoint with this slug: all share one Hookline."""
        slug = fields.get("slug")
        if slug is None or slug in [endpoint.slug for endpoint in self._endpoints]:
            return self.client.endpoints.create(name, **fields)
        lock = FileLock(self._folder / f"{sha256(slug.encode()).hexdigest()}.lock", thread_local=False)
        with suppress(Timeout):
            lock.acquire(timeout=SLUG_S)
            self._locks.append(lock)
        try:
            return self.client.endpoints.create(name, **fields)
        except ProblemError as error:
            if "is taken" not in str(error) or not lock.is_locked:
                raise
        self.client.endpoints.delete(slug)  # left by a process that was killed: the others wait for the lock
        return self.client.endpoints.create(name, **fields)

    def raise_errors(self) -> None:
        """Raise what a function that responds for an endpoint raised."""
        __tracebackhide__ = True
        for endpoint in self._endpoints:
            endpoint.raise_errors()

    def close(self) -> None:
        """Delete the endpoints."""
        try:
            for endpoint in self._endpoints:
                endpoint.close()
        finally:
            while self._locks:
                self._locks.pop().release()
        self.raise_errors()
