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
from hookline.endpoint_pool import NAME
from hookline.errors import ProblemError
from hookline.records import Endpoint
from hookline.testing.endpoint import HooklineEndpoint

if TYPE_CHECKING:
    from hookline.client.client import Client
    from hookline.instance import Instance

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
