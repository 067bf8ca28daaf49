"""What the fixture `hookline` gives to a test: endpoints, and a client for all else."""

from __future__ import annotations

import ssl
from concurrent.futures import wait
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from filelock import BaseFileLock, FileLock, Timeout

from hookline.client.endpoints import NewEndpointFields
from hookline.errors import ProblemError
from hookline.records import Endpoint
from hookline.testing.endpoint import HooklineEndpoint

if TYPE_CHECKING:
    from hookline.testing.instance import Instance

SLUG_S = 60.0


class Hookline:
    """The endpoints of one test; they are deleted after it. `client` is for what they cannot do."""

    def __init__(self, instance: Instance) -> None:
        self.client, self._instance = instance.client, instance
        self._endpoints: list[HooklineEndpoint] = []
        self._locks: list[BaseFileLock] = []

    @property
    def api_url(self) -> str:
        """Where the local API is, for programs that use it themselves; see `token`."""
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
        self, name: str = "Test", *, https: bool = False, **fields: Unpack[NewEndpointFields]
    ) -> HooklineEndpoint:
        """A new endpoint with a URL of its own; with `https` that begins so, see `ssl_context`. ImportError without the
        extra `https`."""
        base = self._instance.https.url if https else self._instance.url
        record = self._create(name, fields)
        made = HooklineEndpoint(self._instance, record, record.url.replace(self._instance.url, base, 1))
        self._endpoints.append(made)
        return made

    def _create(self, name: str, fields: NewEndpointFields) -> Endpoint:
        """Waits while a test of another process has an endpoint with this slug: all share one Hookline."""
        slug = fields.get("slug")
        if slug is None or slug in [endpoint.slug for endpoint in self._endpoints]:
            return self.client.endpoints.create(name, **fields)
        lock = FileLock(self._instance.shared_folder / f"{sha256(slug.encode()).hexdigest()}.lock", thread_local=False)
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
            deletions = [endpoint.close() for endpoint in self._endpoints]
            if self._locks:  # others may wait for the slugs
                wait(deletions)
        finally:
            while self._locks:
                self._locks.pop().release()
        self.raise_errors()
