"""Finds or makes the endpoint that forwards to a URL, for `listen` and `serve --forward-url`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from app.cli.client import Answer, ApiClient
from app.core.rules import NAME_MAX
from app.core.target import full_url

if TYPE_CHECKING:
    from hookline.records import Endpoint, Target


class Forwarding(NamedTuple):
    """The endpoint, its target with the URL, and sentences about what was changed for it."""

    answer: Answer[Endpoint]
    target: Target
    changes: list[str]

    @property
    def endpoint(self) -> Endpoint:
        return self.answer.value


def forwarding_endpoint(api: ApiClient, typed: str, slug: str | None) -> Forwarding:
    """The endpoint with this slug, or without one the first that forwards to the URL; a new one if there is none. It is
    switched on and forwards there: with the target that has that URL, or else with its first one if that has the same
    origin, or else with a new one. CliError for an invalid URL or slug, and beyond the plan."""
    url = full_url(typed)
    endpoints = api.all_endpoints()
    found = next((one for one in endpoints if (_target(one, url) if slug is None else one.slug == slug)), None)
    if found is None:
        name = slug or url.partition("://")[2].strip("/") or url
        fields: dict[str, Any] = {"name": name[:NAME_MAX], "forward_url": url}
        made = api.answer(api.endpoints.asked.create(**fields, slug=slug))
        return _forwarding(made, url, [f"Created the endpoint “{made.value.name}” ({made.value.slug})."])
    name, changes = f"“{found.name}” ({found.slug})", []
    if not found.active:
        api.endpoints.update(found.slug, active=True)
        changes.append(f"Switched on the endpoint {name}.")
    first = found.targets[0] if found.targets else None
    if (target := _target(found, url)) is not None:
        changes += _used(api, found.slug, target)
    elif first is not None and _same_origin(first.url, url):
        api.targets.update(found.slug, first.id, url=url)
        changes.append(f"The endpoint {name} forwards to {url} now, no longer to {first.url}.")
        changes += _used(api, found.slug, msgspec.structs.replace(first, url=url))
    else:  # the headers and the certificate of a target are meant for its origin
        api.targets.create(found.slug, url)
        others = ", and still to its other targets" if first else ""
        changes.append(f"The endpoint {name} forwards to {url} now{others}.")
    return _forwarding(api.answer(api.endpoints.asked.get(found.slug)), url, changes)


def _forwarding(answer: Answer[Endpoint], url: str, changes: list[str]) -> Forwarding:
    target = _target(answer.value, url)
    assert target is not None
    return Forwarding(answer, target, changes)


def _target(endpoint: Endpoint, url: str) -> Target | None:
    return next((one for one in endpoint.targets if one.url.rstrip("/") == url.rstrip("/")), None)


def _same_origin(one: str, other: str) -> bool:
    try:
        first, second = ((url.scheme, url.hostname, url.port) for url in map(urlsplit, (one, other)))
    except ValueError:  # the API says what is wrong with it
        return False
    return first == second


def _used(api: ApiClient, slug: str, target: Target) -> list[str]:
    """Switch the target on and resume it; what was changed."""
    changes = []
    if not target.active:
        api.targets.update(slug, target.id, active=True)
        changes.append(f"Switched on the target {target.url}.")
    if target.paused is not None:
        api.targets.resume(slug, target.id)
        waiting = f"; its queue of {target.queued:,} is sent now" if target.queued else ""
        changes.append(f"Resumed the target {target.url}, which was paused{waiting}.")
    return changes
