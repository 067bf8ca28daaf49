"""What the fixture `hookline` gives to a test: endpoints, and a client for all else."""

from __future__ import annotations

from typing import Unpack

from hookline.client.client import Client
from hookline.client.endpoints import NewEndpointFields
from hookline.running import ApiAddress
from hookline.testing.endpoint import HooklineEndpoint


class Hookline:
    """The endpoints of one test; they are deleted after it. `client` is for what they cannot do."""

    def __init__(self, client: Client, address: ApiAddress) -> None:
        self.client, self._address = client, address
        self._endpoints: list[HooklineEndpoint] = []

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
        record = self.client.endpoints.create(name, **fields)
        made = HooklineEndpoint(self.client, self._address, record, position)
        self._endpoints.append(made)
        return made

    def close(self) -> None:
        """Delete the endpoints."""
        while self._endpoints:
            self._endpoints.pop().close()
