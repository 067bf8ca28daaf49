"""The clients: all calls of the local API, by what they are about."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hookline.calls import Call, Pages, Steps, T, decode_as, items_of, path_of
from hookline.client.deliveries import AsyncDeliveries, AsyncReplays, Deliveries, Replays
from hookline.client.endpoints import AsyncEndpoints, AsyncTargets, Endpoints, Targets
from hookline.client.events import Event, async_follow, event_filter, follow
from hookline.client.methods import Asynchronous, Blocking, ListMethod, Method
from hookline.client.requests import AsyncRequests, Requests
from hookline.errors import UnreachableError
from hookline.records import (
    Account,
    Backup,
    EventType,
    Node,
    Plan,
    Probe,
    Refusal,
    Retention,
    Status,
    Tunnel,
    TunnelProgram,
    TunnelUrl,
)
from hookline.running import FOLDER_VARIABLE, ApiAddress, find_running, usual_folder
from hookline.transport import Transport


class _TunnelCalls:
    @Method
    def get(self) -> Call[Tunnel]:
        return Call("GET", "/tunnel", decode_as(Tunnel))

    @Method
    def programs(self) -> Call[tuple[TunnelProgram, ...]]:
        """All programs that Hookline can run as a tunnel."""
        return Call("GET", "/tunnel/programs", items_of(TunnelProgram))

    @Method
    def set_options(self, program: str, options: Mapping[str, str]) -> Call[TunnelProgram]:
        """Save options of a program; an empty text removes one."""
        return Call("PUT", path_of("tunnel", "programs", program, "options"), decode_as(TunnelProgram), content=options)

    @Method
    def start(self, program: str) -> Call[Tunnel]:
        """Start a program; another one is stopped."""
        return Call("POST", "/tunnel/start", decode_as(Tunnel), content={"program": program})

    @Method
    def stop(self) -> Call[Tunnel]:
        return Call("POST", "/tunnel/stop", decode_as(Tunnel))

    @Method
    def probe(self) -> Call[Probe]:
        """Check that the public URL reaches Hookline."""
        return Call("POST", "/tunnel/probe", decode_as(Probe))

    @Method
    def updated(self, endpoint: str) -> Call[Tunnel]:
        """The provider of this endpoint (a slug) has its new URL."""
        return Call("POST", "/tunnel/updated", decode_as(Tunnel), content={"endpoint": endpoint})

    @ListMethod
    def history(self, count: int | None = None) -> Pages[TunnelUrl]:
        """The last `count` public URLs, newest first."""
        return Pages("/tunnel/history", TunnelUrl, {}, count)


class TunnelControl(_TunnelCalls, Blocking):
    """`client.tunnel`."""


class AsyncTunnelControl(_TunnelCalls, Asynchronous):
    """`TunnelControl` for asyncio."""


class _Calls:
    @Method
    def status(self) -> Call[Status]:
        """The program's status."""
        return Call("GET", "/status", decode_as(Status))

    @Method
    def nodes(self) -> Call[tuple[Node, ...]]:
        """The programs that run on the store: several on a team's."""
        return Call("GET", "/nodes", items_of(Node))

    @ListMethod
    def refused(self, count: int | None = None) -> Pages[Refusal]:
        """The newest `count` refused requests, or all that are kept (None), newest first."""
        return Pages("/refused", Refusal, {}, count)

    @Method
    def account(self) -> Call[Account]:
        """The plan, and the endpoints it allows."""
        return Call("GET", "/account", decode_as(Account))

    @Method
    def set_plan(self, plan: Plan) -> Call[Account]:
        return Call("PATCH", "/account", decode_as(Account), content={"plan": plan})

    @Method
    def settings(self) -> Call[dict[str, Any]]:
        """The settings in force; `overridden` has the saved values of those that have another one now."""
        return Call("GET", "/settings", decode_as(dict[str, Any]))

    @Method
    def change_settings(self, changed: Mapping[str, Any]) -> Call[dict[str, Any]]:
        """Change the given settings; returns all of them."""
        return Call("PATCH", "/settings", decode_as(dict[str, Any]), content=changed)

    @Method
    def resume_retention(self) -> Call[Retention]:
        """Accept the clock, so that requests are deleted by age again."""
        return Call("POST", "/retention/resume", decode_as(Retention))

    @Method
    def start_backup(self, path: str, *, overwrite: bool = False) -> Call[Backup]:
        """Begin to write a backup to the absolute `path`."""
        return Call("POST", "/backup", decode_as(Backup), content={"path": path, "overwrite": overwrite})

    @Method
    def backup(self) -> Call[Backup]:
        """The running backup, else the last one."""
        return Call("GET", "/backup", decode_as(Backup))

    @Method
    def cancel_backup(self) -> Call[Backup]:
        """End it; returns it once it has ended."""
        return Call("POST", "/backup/cancel", decode_as(Backup))


class BlockingCalls(_Calls, Blocking):
    """All calls that a `Client` makes, over any transport."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.endpoints = Endpoints(transport)
        self.requests = Requests(transport)
        self.deliveries = Deliveries(transport)
        self.replays = Replays(transport)
        self.targets = Targets(transport)
        self.tunnel = TunnelControl(transport)

    def close(self) -> None:
        self._transport.close()

    def send(self, call: Call[T]) -> T:
        """The result of any call of the API."""
        return self._transport.run(call)

    def run(self, steps: Steps[T]) -> T:
        """The result of calls made one after the other."""
        __tracebackhide__ = True  # of pytest: a failure raised by the steps is the fixture's
        return self._transport.run(steps)


class Client(BlockingCalls):
    """A client of a running Hookline. Close it, or use it in a `with` statement. Every call raises ApiError.

    `url` is the local API's (`http://127.0.0.1:8788`), `token` the content of `api-token` in its data folder. Threads
    may share a client.
    """

    def __init__(self, url: str, token: str) -> None:
        super().__init__(Transport(ApiAddress(url.rstrip("/"), token)))

    @classmethod
    def connect(cls, data_dir: str | os.PathLike[str] | None = None) -> Self:
        """A client of the program that runs on this data folder (None: `HOOKLINE_DATA_DIR`, else the usual folder).

        UnreachableError if none does.
        """
        address = running_in(data_dir)
        return cls(address.url, address.token)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def events(
        self,
        endpoint: str | None = None,
        q: str = "",
        *,
        types: Collection[EventType] = (),
        after: str | None = None,
        patience: float = 30.0,
    ) -> Iterator[Event]:
        """Events as they happen: of an endpoint (a slug) or all, of these types (none: all), of captured requests only
        those that match the search `q`. The tunnel's come with any endpoint.

        Without `after` they begin now, otherwise after the event with that ID. When the connection breaks, they go on
        where they were; UnreachableError when Hookline cannot be reached for `patience` seconds.
        """
        return follow(self._transport, event_filter(endpoint, q, types), after, patience)


class AsyncClient(_Calls, Asynchronous):
    """`Client` for asyncio. Close it, or use it in an `async with` statement."""

    def __init__(self, url: str, token: str) -> None:
        from hookline.client.async_transport import AsyncTransport  # start-up time: the blocking client needs no httpx

        super().__init__(AsyncTransport(ApiAddress(url.rstrip("/"), token)))
        self.endpoints = AsyncEndpoints(self._transport)
        self.requests = AsyncRequests(self._transport)
        self.deliveries = AsyncDeliveries(self._transport)
        self.replays = AsyncReplays(self._transport)
        self.targets = AsyncTargets(self._transport)
        self.tunnel = AsyncTunnelControl(self._transport)

    @classmethod
    def connect(cls, data_dir: str | os.PathLike[str] | None = None) -> Self:
        """A client of the program that runs on this data folder (None: `HOOKLINE_DATA_DIR`, else the usual folder).

        UnreachableError if none does.
        """
        address = running_in(data_dir)
        return cls(address.url, address.token)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._transport.aclose()

    async def send(self, call: Call[T]) -> T:
        """The result of any call of the API."""
        return await self._transport.run(call)

    async def run(self, steps: Steps[T]) -> T:
        """The result of calls made one after the other."""
        __tracebackhide__ = True  # of pytest: a failure raised by the steps is the fixture's
        return await self._transport.run(steps)

    def events(
        self,
        endpoint: str | None = None,
        q: str = "",
        *,
        types: Collection[EventType] = (),
        after: str | None = None,
        patience: float = 30.0,
    ) -> AsyncIterator[Event]:
        """Events as they happen: of an endpoint (a slug) or all, of these types (none: all), of captured requests only
        those that match the search `q`. The tunnel's come with any endpoint.

        Without `after` they begin now, otherwise after the event with that ID. When the connection breaks, they go on
        where they were; UnreachableError when Hookline cannot be reached for `patience` seconds. End it with
        `contextlib.aclosing`.
        """
        return async_follow(self._transport, event_filter(endpoint, q, types), after, patience)


def running_in(data_dir: str | os.PathLike[str] | None) -> ApiAddress:
    """The address of the program that runs on this data folder; UnreachableError if none does."""
    given = data_dir or os.environ.get(FOLDER_VARIABLE)
    folder = Path(given) if given else usual_folder()
    if folder is None:
        raise UnreachableError(f"Your home folder is not known. Set HOME, or set {FOLDER_VARIABLE} to a data folder.")
    try:
        address = find_running(folder)
    except (OSError, ValueError) as error:
        raise UnreachableError(f"The data folder {folder} cannot be read: {error}.") from error
    if address is None:
        raise UnreachableError(
            f"No Hookline runs on the data folder {folder}. Start it with hookline, or hookline serve."
        )
    return address
