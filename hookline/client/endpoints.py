"""Calls about endpoints."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from hookline.calls import Call, decode_as, nothing, path_of
from hookline.client.async_transport import AsyncTransport
from hookline.client.records import Endpoint, WhenFull
from hookline.transport import Transport

PATH = "/endpoints"


class ResponseFields(TypedDict, total=False):
    """What senders get: `status`, `headers` (pairs), `body` (None: the default one), `delay_ms`; with `from_target` the
    first target's response, if it comes within `wait_ms`."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: str | None
    delay_ms: int
    from_target: bool
    wait_ms: int


class ForwardFields(TypedDict, total=False):
    """The first target's time limit."""

    timeout_ms: int


class AuthFields(TypedDict, total=False):
    """Credentials that senders need. `name` is the user (basic) or the header's name (header)."""

    kind: Literal["none", "basic", "bearer", "header"]
    name: str
    secret: str


class EndpointFields(TypedDict, total=False):
    """What can be set on an endpoint. `storage_limit` is in bytes; None: no limit, or no target."""

    description: str
    retention_days: int
    storage_limit: int | None
    when_full: WhenFull
    forward_url: str | None
    active: bool
    response: ResponseFields
    forward: ForwardFields
    auth: AuthFields


class NewEndpointFields(EndpointFields, total=False):
    """What can be set only on a new endpoint: `slug`, its part of the URL (None: a random one)."""

    slug: str | None


class EndpointChanges(EndpointFields, total=False):
    """What can be changed. `position` is the place in the list, from 1."""

    name: str
    position: int


class Endpoints:
    """`client.endpoints`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> Iterator[Endpoint]:
        """All endpoints, in the user's order."""
        return self._transport.items(PATH, {}, Endpoint)

    def create(self, name: str, **fields: Unpack[NewEndpointFields]) -> Endpoint:
        """A new endpoint."""
        return self._transport.send(_create(name, fields))

    def get(self, slug: str) -> Endpoint:
        return self._transport.send(_get(slug))

    def update(self, slug: str, **changes: Unpack[EndpointChanges]) -> Endpoint:
        """Change the given fields, also single ones within `response`, `forward` and `auth`; the others stay."""
        return self._transport.send(_update(slug, changes))

    def delete(self, slug: str) -> None:
        """Delete an endpoint with all its requests."""
        self._transport.send(_delete(slug))


class AsyncEndpoints:
    """`Endpoints` for asyncio."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def list(self) -> AsyncIterator[Endpoint]:
        """All endpoints, in the user's order."""
        return self._transport.items(PATH, {}, Endpoint)

    async def create(self, name: str, **fields: Unpack[NewEndpointFields]) -> Endpoint:
        """A new endpoint."""
        return await self._transport.send(_create(name, fields))

    async def get(self, slug: str) -> Endpoint:
        return await self._transport.send(_get(slug))

    async def update(self, slug: str, **changes: Unpack[EndpointChanges]) -> Endpoint:
        """Change the given fields, also single ones within `response`, `forward` and `auth`; the others stay."""
        return await self._transport.send(_update(slug, changes))

    async def delete(self, slug: str) -> None:
        """Delete an endpoint with all its requests."""
        await self._transport.send(_delete(slug))


def _create(name: str, fields: Mapping[str, Any]) -> Call[Endpoint]:
    return Call("POST", PATH, decode_as(Endpoint), content={"name": name, **fields})


def _get(slug: str) -> Call[Endpoint]:
    return Call("GET", path_of("endpoints", slug), decode_as(Endpoint))


def _update(slug: str, changes: Mapping[str, Any]) -> Call[Endpoint]:
    return Call("PATCH", path_of("endpoints", slug), decode_as(Endpoint), content=changes)


def _delete(slug: str) -> Call[None]:
    return Call("DELETE", path_of("endpoints", slug), nothing)
