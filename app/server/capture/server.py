"""The capture port: listens, enforces limits on connections, and stops without losing requests in progress."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from operator import attrgetter

from app.core.errors import HooklineError, PortInUseError
from app.server.capture.admission import RETRY_AFTER, rejection
from app.server.capture.connection import Connection
from app.server.capture.handler import Handler
from app.server.capture.limits import SPARE, ConnectionEviction, EvictionStage, affordable, sender_of
from app.server.capture.reader import Break
from app.server.listening import KeptDescriptors, find_holder, listen, stop_listening

log = logging.getLogger(__name__)

_BACKLOG = 512
_CROWD_ENTRY_S = 10.0
_FINAL_GRACE_S = 0.25


class CaptureServer:
    """Serves `/catch/…` on one address. Everything is called on the loop's thread; it can be started again."""

    def __init__(self, handler: Handler, descriptors: KeptDescriptors | None = None) -> None:
        self.handler, self.limits = handler, handler.limits
        self._descriptors = descriptors
        self._server: asyncio.Server | None = None
        self._stopping = False
        self._sweeper: asyncio.Task[None] | None = None
        self._most = affordable(self.limits.connections)
        self._connections: dict[Connection, str] = {}
        self._per_sender: dict[str, int] = {}
        self.turns = asyncio.Semaphore(self.limits.pipelined)
        self._eviction = ConnectionEviction(self._connections, self._per_sender, self._most // 2)
        self._rejected: dict[Connection, None] = {}
        self._head_memory = self._unread = 0
        self._crowd_next_at = 0.0
        self._crowd_unlisted = 0
        self._empty: asyncio.Future[None] | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen on `host`:`port` (0 for any free one). Raises PortInUseError, or HooklineError if that is
        impossible."""
        loop = asyncio.get_running_loop()
        self._stopping = False
        try:
            self._server = await listen(lambda: ServedConnection(self, loop), host, port, _BACKLOG, self._descriptors)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise PortInUseError(host, port, await asyncio.to_thread(find_holder, port)) from error
            why = os.strerror(error.errno) if error.errno is not None and error.errno in errno.errorcode else error
            raise HooklineError(
                f"Hookline cannot listen on {host}, port {port}: {why}."
                " Choose another address with --host, or another port with --port."
            ) from error
        self._sweeper = loop.create_task(self._sweep(), name="capture sweeper")

    @property
    def address(self) -> tuple[str, int]:
        """Host and port it listens on; RuntimeError when it is not started."""
        if self._server is None or not self._server.sockets:
            raise RuntimeError("the capture server is not listening")
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    @property
    def connections(self) -> list[Connection]:
        """All open connections, also those that are being rejected."""
        return [*self._connections, *self._rejected]

    async def stop(self, grace_s: float = 1.0) -> None:
        """Stop listening, finish current requests within `grace_s`, close the rest. May be called again."""
        self._stopping = True
        server, self._server = self._server, None
        if server is not None:
            await stop_listening(server)
        for connection in self.connections:
            connection.drain()
        await self._settle(grace_s)
        for connection in self.connections:
            connection.end_body(Break.STOPPED)
        await self._settle(_FINAL_GRACE_S)
        tasks = [connection.task for connection in self.connections if connection.task is not None]
        for connection in self.connections:
            _abort(connection)
        if self._sweeper is not None:
            tasks.append(self._sweeper)
            self._sweeper.cancel()
            self._sweeper = None
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.handler.body_memory.close()
        await self._settle(_FINAL_GRACE_S)

    # -- what a connection calls ----------------------------------------------------------------------------------

    def register(self, connection: Connection) -> bool:
        """Register a new connection; reject it when no other makes room, or when the server is stopping."""
        sender = sender_of(connection.peer[0])
        if not self._stopping and (len(self._connections) < self._most or self._make_room(sender)):
            self._connections[connection] = sender
            self._per_sender[sender] = self._per_sender.get(sender, 0) + 1
            return True
        if self._stopping or not self._spare():
            self._rejected[connection] = None
            _abort(connection)
        else:
            self._reject(connection, f"All {self._most} connections are in use.")
        return False

    def disconnected(self) -> None:
        """The descriptor of a connection is about to be free."""
        if self._descriptors is not None:
            self._descriptors.disconnected()

    def head_grew(self, size: int) -> None:
        """Count the bytes of long heads; above the limit the longest that waits for its sender is given up."""
        self._head_memory += size
        self._limit_head_memory()

    def _limit_head_memory(self) -> None:
        while self._head_memory > self.limits.head_memory:
            longest = max(
                self._connections, key=lambda one: (one.waiting_for() is not None, one.head_memory_used), default=None
            )
            wait = longest.waiting_for() if longest is not None and longest.head_memory_used else None
            if longest is None or wait is None:
                return
            if not self._evict(longest, wait[0], "The heads of unfinished requests take too much memory."):
                return

    def unread_grew(self, size: int) -> None:
        """Count the bytes of responses that are not read; above the limit the sender with the most is cut off."""
        self._unread += size
        while self._unread > self.limits.response_memory:
            most = max(self.connections, key=attrgetter("unread"))
            self._unread -= most.unread
            most.unread = 0
            _abort(most)

    def unregister(self, connection: Connection) -> None:
        self._release_head(connection)
        self._forget(connection)
        self._rejected.pop(connection, None)
        if self._empty is not None and not self._empty.done() and not self.connections:
            self._empty.set_result(None)

    # -- within ---------------------------------------------------------------------------------------------------

    def _make_room(self, newcomer: str) -> bool:
        """Close the most dispensable connection; False when all must be kept."""
        found = self._eviction.choose(newcomer, asyncio.get_running_loop().time())
        if found is None:
            return False
        stage, selected = found
        return self._evict(selected, stage, f"All {self._most} connections are in use.")

    def _evict(self, selected: Connection, stage: EvictionStage, reason: str) -> bool:
        """End a connection that waits for its sender; False when too many are being ended."""
        spare = stage is EvictionStage.IDLE or self._spare()
        if stage is EvictionStage.BODY and not spare:
            return False
        self._forget(selected)
        self._release_head(selected)
        if stage is EvictionStage.HEAD and spare:
            self._reject(selected, reason)
            return True
        self._rejected[selected] = None
        if stage is EvictionStage.BODY:
            selected.end_body(Break.CROWDED)
        elif stage is EvictionStage.IDLE:
            selected.close_idle()
        elif stage in (EvictionStage.DELAYED, EvictionStage.PIPELINING):
            selected.drain()
        else:
            _abort(selected)
        return True

    def _spare(self) -> bool:
        """Whether one more connection may live above the limit; a lingering one is closed for it."""
        if len(self._rejected) < SPARE:
            return True
        for connection in self._rejected:
            wait = connection.waiting_for()
            if wait is not None and wait[0] is not EvictionStage.BODY:
                del self._rejected[connection]
                _abort(connection)
                return True
        return False

    def _release_head(self, connection: Connection) -> None:
        self._head_memory -= connection.head_memory_used
        connection.head_memory_used = 0

    def _forget(self, connection: Connection) -> None:
        sender = self._connections.pop(connection, None)
        if sender is not None:
            self._per_sender[sender] -= 1
            if not self._per_sender[sender]:
                del self._per_sender[sender]

    def _reject(self, connection: Connection, why: str) -> None:
        """Respond that there are too many; listed now and then, because a flood would push all else out of the list."""
        self._rejected[connection] = None
        self._crowd_unlisted += 1
        now = asyncio.get_running_loop().time()
        add_to_list = now >= self._crowd_next_at
        reason = f"{why} {self._crowd_unlisted} rejected since the last entry, new or slow."
        rejected = rejection(reason, 503, "too_many_connections", RETRY_AFTER)
        connection.reject(rejected, connection.head, add_to_list=add_to_list)
        if add_to_list:
            self._crowd_unlisted = 0
            self._crowd_next_at = now + _CROWD_ENTRY_S

    async def _sweep(self) -> None:
        """Enforce all time limits. One timer for all connections costs fast ones nothing."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self.limits.sweep_s)
            now = loop.time()
            if self._descriptors is not None:
                self._descriptors.fill()
            self._limit_head_memory()  # at most as many can be ended at once as spare connections are left
            for connection in self.connections:
                try:
                    connection.expire(now)
                except Exception:  # one connection's error must not end the check of all others
                    log.exception("a connection could not be ended")

    async def _settle(self, seconds: float) -> None:
        """Wait until all connections are closed, at most `seconds`."""
        if self._connections or self._rejected:
            self._empty = asyncio.get_running_loop().create_future()
            await asyncio.wait((self._empty,), timeout=seconds)
            self._empty = None


def _abort(connection: Connection) -> None:
    if connection.task is not None:
        connection.task.cancel()
    if connection.transport is not None:
        connection.transport.abort()


class ServedConnection(Connection):
    """A connection that the server counts, with what it keeps in memory, and may end."""

    def __init__(self, server: CaptureServer, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server.limits, server.turns, server.handler.refused, loop)
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self._server.register(self):
            self.serve(self._server.handler.handle)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._server.disconnected()
        super().connection_lost(exc)

    def head_grew(self, size: int) -> None:
        super().head_grew(size)
        self._server.head_grew(size)

    def unread_grew(self, size: int) -> None:
        super().unread_grew(size)
        self._server.unread_grew(size)

    def ended(self) -> None:
        self._server.unregister(self)
