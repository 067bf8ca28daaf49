"""Calls about endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict, Unpack

from hookline.calls import Call, Page, Pages, Response, decode_as, flags_of, nothing, path_of, query_of
from hookline.client.methods import Asynchronous, Blocking, ListMethod, Method
from hookline.records import ComparedRequest, Endpoint, WhenFull

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


class _Calls:
    @ListMethod
    def list(self, *, tag: str | None = None) -> Pages[Endpoint]:
        """All endpoints, or those with a tag, in the user's order."""
        return Pages(PATH, Endpoint, query_of(tag=tag))

    @Method
    def create(self, name: str, **fields: Unpack[NewEndpointFields]) -> Call[Endpoint]:
        """A new endpoint."""
        return Call("POST", PATH, decode_as(Endpoint), content={"name": name, **fields})

    @Method
    def change_several(
        self, create: Sequence[NewEndpoint] = (), delete: Sequence[str] = ()
    ) -> Call[Sequence[Endpoint]]:
        """Create endpoints and delete others (by their slugs), at most 100 each, in a fraction of the time that single
        calls take; returns those created. If one fails, the others are still done, and its error is raised."""
        return Call("PATCH", PATH, _items, content={"create": create, "delete": delete})

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


def _items(response: Response) -> Sequence[Endpoint]:
    return decode_as(Page[Endpoint])(response).items


class Endpoints(_Calls, Blocking):
    """`client.endpoints`."""


class AsyncEndpoints(_Calls, Asynchronous):
    """`Endpoints` for asyncio."""
