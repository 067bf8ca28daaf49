"""Calls about endpoints, and about their targets: the URLs that requests are forwarded to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict, Unpack

from hookline.calls import Call, Pages, decode_as, flags_of, items_of, nothing, path_of, query_of
from hookline.client.methods import Asynchronous, Blocking, ListMethod, Method
from hookline.records import ComparedRequest, Endpoint, Target, WhenFull


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
    tags: Sequence[str]
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


class NewEndpoint(NewEndpointFields):
    """An endpoint to create."""

    name: str


class EndpointChanges(EndpointFields, total=False):
    """What can be changed. `position` is the place in the list, from 1."""

    name: str
    position: int


class _EndpointCalls:
    @ListMethod
    def list(self, *, tag: str | None = None) -> Pages[Endpoint]:
        """All endpoints, or those with a tag, in the user's order."""
        return Pages("/endpoints", Endpoint, query_of(tag=tag))

    @Method
    def create(self, name: str, **fields: Unpack[NewEndpointFields]) -> Call[Endpoint]:
        """A new endpoint."""
        return Call("POST", "/endpoints", decode_as(Endpoint), content={"name": name, **fields})

    @Method
    def change_several(
        self, create: Sequence[NewEndpoint] = (), delete: Sequence[str] = ()
    ) -> Call[tuple[Endpoint, ...]]:
        """Create endpoints and delete others (by their slugs), at most 100 each, in a fraction of the time that single
        calls take; returns those created. If one fails, the others are still done, and its error is raised."""
        return Call("PATCH", "/endpoints", items_of(Endpoint), content={"create": create, "delete": delete})

    @Method
    def get(self, slug: str) -> Call[Endpoint]:
        return Call("GET", path_of("endpoints", slug), decode_as(Endpoint))

    @Method
    def update(self, slug: str, **changes: Unpack[EndpointChanges]) -> Call[Endpoint]:
        """Change the given fields, also single ones within `response`, `forward` and `auth`; the others stay."""
        return Call("PATCH", path_of("endpoints", slug), decode_as(Endpoint), content=changes)

    @Method
    def delete(self, slug: str) -> Call[None]:
        """Delete an endpoint with all its requests."""
        return Call("DELETE", path_of("endpoints", slug), nothing)

    @ListMethod
    def compare(
        self,
        slug: str,
        first: int | None = None,
        second: int | None = None,
        *,
        ignore_headers: Sequence[str] = (),
        ignore_paths: Sequence[str] = (),
        all_headers: bool = False,
        count: int | None = None,
    ) -> Pages[ComparedRequest]:
        """The newest `count` requests that two targets (their IDs; None: the endpoint's first two) responded to, with
        what differs but for these headers and JSON paths."""
        targets = {name: str(one) for name, one in (("first", first), ("second", second)) if one is not None}
        params = {**targets, "ignore_header": ignore_headers, "ignore_path": ignore_paths}
        return Pages(
            path_of("endpoints", slug, "compare"), ComparedRequest, params | flags_of(all_headers=all_headers), count
        )


class Endpoints(_EndpointCalls, Blocking):
    """`client.endpoints`."""


class AsyncEndpoints(_EndpointCalls, Asynchronous):
    """`Endpoints` for asyncio."""


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


class _TargetCalls:
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
        return Call("PATCH", _target_path(endpoint, target), decode_as(Target), content=changes)

    @Method
    def pause(self, endpoint: str, target: int) -> Call[Target]:
        """Keep its deliveries queued."""
        return Call("POST", f"{_target_path(endpoint, target)}/pause", decode_as(Target))

    @Method
    def resume(self, endpoint: str, target: int) -> Call[Target]:
        return Call("POST", f"{_target_path(endpoint, target)}/resume", decode_as(Target))

    @Method
    def delete(self, endpoint: str, target: int) -> Call[None]:
        return Call("DELETE", _target_path(endpoint, target), nothing)


class Targets(_TargetCalls, Blocking):
    """`client.targets`. `endpoint` is a slug; an endpoint's targets are listed in it."""


class AsyncTargets(_TargetCalls, Asynchronous):
    """`Targets` for asyncio."""


def _target_path(endpoint: str, target: int) -> str:
    return path_of("endpoints", endpoint, "targets", str(target))
