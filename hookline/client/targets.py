"""Calls about targets: the URLs that an endpoint's requests are forwarded to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict, Unpack

from hookline.calls import Call, Pages, decode_as, nothing, path_of
from hookline.client.methods import Asynchronous, Blocking, ListMethod, Method
from hookline.records import Target


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


class _Calls:
    @ListMethod
    def list(self, endpoint: str) -> Pages[Target]:
        """All targets of an endpoint, in order."""
        return Pages(path_of("endpoints", endpoint, "targets"), Target, {})

    @Method
    def create(self, endpoint: str, url: str, **fields: Unpack[TargetFields]) -> Call[Target]:
        """A new target, the endpoint's last."""
        path = path_of("endpoints", endpoint, "targets")
        return Call("POST", path, decode_as(Target), content={"url": url, **fields})

    @Method
    def update(self, endpoint: str, target: int, **changes: Unpack[TargetChanges]) -> Call[Target]:
        """Change the given fields; the others stay."""
        return Call("PATCH", _path(endpoint, target), decode_as(Target), content=changes)

    @Method
    def pause(self, endpoint: str, target: int) -> Call[Target]:
        """Keep its deliveries queued."""
        return Call("POST", f"{_path(endpoint, target)}/pause", decode_as(Target))

    @Method
    def resume(self, endpoint: str, target: int) -> Call[Target]:
        return Call("POST", f"{_path(endpoint, target)}/resume", decode_as(Target))

    @Method
    def delete(self, endpoint: str, target: int) -> Call[None]:
        return Call("DELETE", _path(endpoint, target), nothing)


class Targets(_Calls, Blocking):
    """`client.targets`. `endpoint` is a slug; an endpoint's targets are listed in it."""


class AsyncTargets(_Calls, Asynchronous):
    """`Targets` for asyncio."""


def _path(endpoint: str, target: int) -> str:
    return path_of("endpoints", endpoint, "targets", str(target))
