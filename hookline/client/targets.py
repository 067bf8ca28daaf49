"""Calls about targets: the URLs that an endpoint's requests are forwarded to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from hookline.calls import Call, decode_as, nothing, path_of
from hookline.client.async_transport import AsyncTransport
from hookline.client.records import Target
from hookline.transport import Transport


class RetryFields(TypedDict, total=False):
    """When and how often a failed attempt is repeated; `on` has kinds of failure and statuses such as `5xx`."""

    retries: int
    on: Sequence[str]
    first_delay_ms: int
    longest_delay_ms: int
    total_ms: int


class TargetFields(TypedDict, total=False):
    """What can be set on a target, see `Target`."""

    active: bool
    append_path: bool
    keep_query: bool
    set_headers: Sequence[tuple[str, str]]
    add_headers: Sequence[tuple[str, str]]
    remove_headers: Sequence[str]
    attempt_header: str | None
    host: Literal["target", "sender"]
    timeout_ms: int
    verify_tls: bool
    client_certificate: str | None
    client_key: str | None
    ca_certificate: str | None
    follow_redirects: bool
    retry: RetryFields
    parallel: int | None
    rate_limit: float | None
    pause_after: int
    auto_resume: bool


class TargetChanges(TargetFields, total=False):
    """What can be changed. `position` is the place among the endpoint's targets, from 1."""

    url: str
    position: int


class Targets:
    """`client.targets`. `endpoint` is a slug; an endpoint's targets are listed in it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, endpoint: str, url: str, **fields: Unpack[TargetFields]) -> Target:
        """A new target, the endpoint's last."""
        return self._transport.send(_create(endpoint, url, fields))

    def update(self, endpoint: str, target: int, **changes: Unpack[TargetChanges]) -> Target:
        """Change the given fields; the others stay."""
        return self._transport.send(_update(endpoint, target, changes))

    def pause(self, endpoint: str, target: int) -> Target:
        """Keep its deliveries queued."""
        return self._transport.send(_change(endpoint, target, "pause"))

    def resume(self, endpoint: str, target: int) -> Target:
        return self._transport.send(_change(endpoint, target, "resume"))

    def delete(self, endpoint: str, target: int) -> None:
        self._transport.send(_delete(endpoint, target))


class AsyncTargets:
    """`Targets` for asyncio."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, endpoint: str, url: str, **fields: Unpack[TargetFields]) -> Target:
        """A new target, the endpoint's last."""
        return await self._transport.send(_create(endpoint, url, fields))

    async def update(self, endpoint: str, target: int, **changes: Unpack[TargetChanges]) -> Target:
        """Change the given fields; the others stay."""
        return await self._transport.send(_update(endpoint, target, changes))

    async def pause(self, endpoint: str, target: int) -> Target:
        """Keep its deliveries queued."""
        return await self._transport.send(_change(endpoint, target, "pause"))

    async def resume(self, endpoint: str, target: int) -> Target:
        return await self._transport.send(_change(endpoint, target, "resume"))

    async def delete(self, endpoint: str, target: int) -> None:
        await self._transport.send(_delete(endpoint, target))


def _create(endpoint: str, url: str, fields: Mapping[str, Any]) -> Call[Target]:
    return Call("POST", path_of("endpoints", endpoint, "targets"), decode_as(Target), content={"url": url, **fields})


def _update(endpoint: str, target: int, changes: Mapping[str, Any]) -> Call[Target]:
    return Call("PATCH", _path(endpoint, target), decode_as(Target), content=changes)


def _change(endpoint: str, target: int, verb: str) -> Call[Target]:
    return Call("POST", f"{_path(endpoint, target)}/{verb}", decode_as(Target))


def _delete(endpoint: str, target: int) -> Call[None]:
    return Call("DELETE", _path(endpoint, target), nothing)


def _path(endpoint: str, target: int) -> str:
    return path_of("endpoints", endpoint, "targets", str(target))
