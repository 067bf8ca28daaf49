"""The local API's client for commands."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any, cast

from app.cli.transport import path_of, query_of
from app.cli.tunnel_client import TunnelClient
from app.cli.views import (
    AccountView,
    BackupView,
    EndpointFields,
    EndpointView,
    RefusalView,
    RequestMarks,
    RequestView,
    RetentionView,
    SettingsView,
    StatusView,
    SummaryView,
)
from hookline.calls import Call, Response, decode_as

NO_CONTENT = 204
SLACK_S = 30.0
"""How much longer than its timeout a call that waits may take."""


class ApiClient(TunnelClient):
    """All calls that commands make."""

    async def status(self) -> StatusView:
        return cast(StatusView, await self.json("GET", "/status"))

    async def resume_retention(self) -> RetentionView:
        """Accept the clock, so that requests are deleted by age again."""
        return cast(RetentionView, await self.json("POST", "/retention/resume"))

    async def settings(self) -> SettingsView:
        return await self.json("GET", "/settings")

    async def change_settings(self, changed: SettingsView) -> SettingsView:
        """Change the given settings; returns all of them."""
        return await self.json("PATCH", "/settings", changed)

    async def endpoints(self) -> list[EndpointView]:
        """All endpoints, in the user's order."""
        return [cast(EndpointView, item) async for item in self.items("/endpoints", {}, None)]

    async def endpoint(self, slug: str) -> EndpointView:
        return cast(EndpointView, await self.json("GET", path_of("endpoints", slug)))

    async def create(self, fields: EndpointFields) -> EndpointView:
        return cast(EndpointView, await self.json("POST", "/endpoints", fields))

    async def change(self, slug: str, fields: EndpointFields) -> EndpointView:
        """Change the given fields; returns the endpoint."""
        return cast(EndpointView, await self.json("PATCH", path_of("endpoints", slug), fields))

    async def remove(self, slug: str) -> None:
        """Delete an endpoint with all its requests."""
        await self.order("DELETE", path_of("endpoints", slug))

    async def requests(
        self,
        slug: str | None,
        count: int,
        query: str = "",
        beginning: str = "",
        unexamined: Callable[[int], None] | None = None,
        *,
        redacted: bool = False,
    ) -> AsyncIterator[SummaryView]:
        """The newest `count` requests of an endpoint, or of all (None), that match the search, newest first.

        With `beginning`, in place of a search, those whose ids begin with it. `unexamined` gets, page by page, how many
        may match and are left out. `redacted`: nothing is found in secrets, and no gist has one.
        """
        params = query_of(endpoint=slug, q=query, id=beginning, redacted="true" if redacted else "")
        async for item in self.items("/requests", params, count, unexamined):
            yield cast(SummaryView, item)

    async def request(self, request_id: str) -> RequestView:
        return cast(RequestView, await self.json("GET", path_of("requests", request_id)))

    async def wait(
        self, slug: str | None, query: str, after: str | None, timeout_s: float, *, redacted: bool = False
    ) -> tuple[RequestView | None, str]:
        """The next request that matches, None if there is none in time; and the position for the next call."""
        asked = query_of(endpoint=slug, q=query, after=after, redacted="true" if redacted else "")
        params = {**asked, "timeout": f"{timeout_s:.3f}"}
        call = Call("GET", "/requests/wait", _waited, params, timeout_s=timeout_s + SLACK_S)
        return await self.send(call)

    async def mark(self, request_id: str, marks: RequestMarks) -> RequestView:
        """Change the given marks; returns the request."""
        return cast(RequestView, await self.json("PATCH", path_of("requests", request_id), marks))

    async def mark_all_read(self, slug: str) -> None:
        """Mark all requests of an endpoint as read."""
        await self.order("POST", path_of("endpoints", slug) + "/read", timeout_s=None)

    async def delete(self, request_id: str) -> None:
        """Delete a request with its body and deliveries."""
        await self.order("DELETE", path_of("requests", request_id))

    async def clear(self, slug: str, keep: Sequence[str] = ()) -> None:
        """Delete all requests of an endpoint, except `starred` or `noted` ones if `keep` names them."""
        path = path_of("endpoints", slug) + "/requests"
        # takes minutes for a million
        await self.order("DELETE", path, params=query_of(keep=",".join(keep)), timeout_s=None)

    async def refused(self, count: int) -> AsyncIterator[RefusalView]:
        """The newest `count` refused requests."""
        async for item in self.items("/refused", {}, count):
            yield cast(RefusalView, item)

    async def account(self) -> AccountView:
        return cast(AccountView, await self.json("GET", "/account"))

    async def set_plan(self, plan: str) -> AccountView:
        """Change the plan; returns the account."""
        return cast(AccountView, await self.json("PATCH", "/account", {"plan": plan}))

    async def start_backup(self, path: str, *, overwrite: bool) -> BackupView:
        """Begin to write a backup to the absolute `path`."""
        return cast(BackupView, await self.json("POST", "/backup", {"path": path, "overwrite": overwrite}))

    async def backup(self) -> BackupView:
        return cast(BackupView, await self.json("GET", "/backup"))

    async def cancel_backup(self) -> BackupView:
        """End it; returns it once it has ended."""
        return cast(BackupView, await self.json("POST", "/backup/cancel"))

    def bytes_of(self, *path: str, **params: str) -> AsyncGenerator[bytes, None]:
        """The bytes of `requests`, ID, `body`, of `refused`, ID, `raw`, or of another such path: as sent, piece by
        piece."""
        return self.pieces(path_of(*path), params)


def _waited(response: Response) -> tuple[RequestView | None, str]:
    found = None if response.status == NO_CONTENT else decode_as(dict[str, Any])(response)
    return cast(RequestView | None, found), response.headers["hookline-position"]
