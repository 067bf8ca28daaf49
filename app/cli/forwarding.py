"""Finds or makes the endpoint that forwards to a URL, for `listen` and `serve --forward-url`."""

from __future__ import annotations

from typing import NamedTuple

from app.cli.client import ApiClient
from app.cli.views import EndpointFields, EndpointView, TargetView
from app.core.forward_target import full_url
from app.core.rules import NAME_MAX


class Forwarding(NamedTuple):
    """The endpoint, and sentences about what was changed for it."""

    endpoint: EndpointView
    changes: list[str]


async def forwarding_endpoint(api: ApiClient, typed: str, slug: str | None) -> Forwarding:
    """The endpoint with this slug, or without one the first that forwards to the URL; a new one if there is none. It is
    switched on and forwards there: with its first target, unless another one has that URL. CliError for an invalid
    URL or slug, and beyond the plan."""
    url = full_url(typed)
    endpoints = await api.endpoints()
    found = next((one for one in endpoints if (_target(one, url) if slug is None else one["slug"] == slug)), None)
    if found is None:
        name = slug or url.partition("://")[2].strip("/") or url
        fields: EndpointFields = {"name": name[:NAME_MAX], "forward_url": url}
        made = await api.create({**fields, "slug": slug} if slug else fields)
        return Forwarding(made, [f"Created the endpoint “{made['name']}” ({made['slug']})."])
    name, changes = f"“{found['name']}” ({found['slug']})", []
    if not found["active"]:
        await api.change(found["slug"], {"active": True})
        changes.append(f"Switched on the endpoint {name}.")
    target = _target(found, url)
    if target is None:
        await api.change(found["slug"], {"forward_url": url})
        before = f", no longer to {found['forward_url']}" if found["forward_url"] else ""
        changes.append(f"The endpoint {name} forwards to {url} now{before}.")
    else:
        changes += await _used(api, found["slug"], target)
    return Forwarding(await api.endpoint(found["slug"]), changes)


def _target(endpoint: EndpointView, url: str) -> TargetView | None:
    return next((one for one in endpoint["targets"] if one["url"].rstrip("/") == url.rstrip("/")), None)


async def _used(api: ApiClient, slug: str, target: TargetView) -> list[str]:
    """Switch the target on and resume it; what was changed."""
    changes = []
    if not target["active"]:
        await api.change_target(slug, target["id"], {"active": True})
        changes.append(f"Switched on the target {target['url']}.")
    if target["paused"] is not None:
        await api.resume_target(slug, target["id"])
        waiting = f"; its queue of {target['queued']:,} is sent now" if target["queued"] else ""
        changes.append(f"Resumed the target {target['url']}, which was paused{waiting}.")
    return changes
