"""Opens connections to targets and keeps them for the next request, until they were idle for `IDLE_S`."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from ipaddress import ip_address
from itertools import zip_longest
from socket import AF_INET6, SOCK_STREAM, gaierror
from typing import Any, cast

import msgspec

from app.core.delivery import FailureKind
from app.core.pem_files import PemFileError
from app.core.text import host_port
from app.server.forward.attempt_failure import WRONG_NAME, AttemptError, connect_error, handshake_error, lookup_error
from app.server.forward.tls import TlsContexts, TlsOptions

READ_AHEAD = 256 * 1024
"""The target has to wait while this many received bytes are unread."""
_STEP = 256 * 1024
_QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)
"""Linux alone has it."""


class ConnectionClosedError(Exception):
    """The connection ended. `cause` is None if the target closed it in order."""

    def __init__(self, cause: BaseException | None = None) -> None:
        super().__init__(str(cause or "closed"))
        self.cause = cause


class Connection(asyncio.Protocol):
    """Has one exchange at a time. `buffer` holds what was received and not yet used.

    `responding`: a byte has come since `begin_exchange`.
    """

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.responding = False
        self.sent_body = 0
        self.idle_until = 0.0
        """Until when the pool keeps it, by the monotonic clock."""
        self._loop = asyncio.get_running_loop()
        self._closed: ConnectionClosedError | None = None
        self._failure: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._lost = self._loop.create_future()
        self._poll: select.poll | None = None

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        self.responding = True
        if len(self.buffer) > READ_AHEAD:
            self.transport.pause_reading()
        _wake(self._reader)

    def eof_received(self) -> bool:
        self._closed = self._closed or ConnectionClosedError()
        _wake(self._reader)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and self._closed is None:
            self._receive_rest()
        self._closed = self._closed or ConnectionClosedError(exc)
        self._writable.set()
        _wake(self._reader)
        _wake(self._lost)

    def _receive_rest(self) -> None:
        """A target that responds and closes without reading the whole request resets the connection. asyncio notices
        that when it writes, and reads no more, but the response may have come before. Not with TLS, whose records only
        asyncio can read."""
        sock = self.transport.get_extra_info("socket")
        if sock is None or self.transport.get_extra_info("sslcontext") is not None:
            return
        with suppress(OSError), sock.dup() as rest:
            rest.setblocking(False)
            while data := rest.recv(READ_AHEAD):
                self.buffer += data
                self.responding = True

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # What the sender calls.

    @property
    def unsent(self) -> bool:
        """Whether written bytes have not left yet."""
        return self.transport.get_write_buffer_size() > 0

    @property
    def is_open(self) -> bool:
        """Whether the idle connection is open and nothing unexpected came on it, as far as the loop has read."""
        return not (self._closed or self.buffer or self.transport.is_closing())

    def is_usable(self) -> bool:
        """The same, as far as this side can know."""
        return self.is_open and not self._has_news()

    def _has_news(self) -> bool:
        """Whether something waits at the socket that the loop has not read yet: most likely the target's close."""
        sock = self.transport.get_extra_info("socket")
        if sock is None or sock.fileno() < 0:
            return True
        if not hasattr(select, "poll"):
            return bool(select.select([sock.fileno()], [], [], 0)[0])
        if self._poll is None:
            self._poll = select.poll()
            self._poll.register(sock.fileno(), select.POLLIN)
        return bool(self._poll.poll(0))

    def begin_exchange(self) -> None:
        self.responding = False
        self.sent_body = 0
        self._failure = None

    async def more(self) -> None:
        """Wait for bytes in addition to those in `buffer`; ConnectionClosedError when none will come, or the
        error given to `fail`."""
        if self._failure is not None:
            raise self._failure
        if self._closed is not None:
            raise self._closed
        self.transport.resume_reading()
        if self.responding:
            self._acknowledge_at_once()
        self._reader = self._loop.create_future()
        before = len(self.buffer)
        try:
            await self._reader
        finally:
            self._reader = None
        if len(self.buffer) == before:
            await self.more()

    def fail(self, error: Exception) -> None:
        """Let the reader raise `error`."""
        self._failure = error
        _wake(self._reader)

    def write(self, head: bytes, body: bytes) -> None:
        """Send the head, and the body if it is at hand."""
        self.sent_body = len(body)
        if len(body) <= _STEP:
            self.transport.write(head + body)
        else:
            self.transport.write(head)
            self.transport.write(body)

    def _acknowledge_at_once(self) -> None:
        """A target that sends head and body of its response apart, as Python's development servers do, waits with the
        body until the head is acknowledged: on a kept connection of Linux for 40 ms. The system forgets the option, so
        it is set each time that more is awaited."""
        if _QUICKACK is not None and (sock := self.transport.get_extra_info("socket")) is not None:
            with suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)

    async def write_parts(self, parts: AsyncIterator[bytes]) -> None:
        """Send the body in parts, each when the one before has left. Ends quietly when the connection does: the reader
        learns of it."""
        async for part in parts:
            for at in range(0, len(part), _STEP):
                if self.sent_body:
                    await asyncio.sleep(0)  # the loop may report that the connection is lost
                if self._closed is not None:
                    return
                piece = part[at : at + _STEP]
                self.transport.write(piece)
                self.sent_body += len(piece)
                await self._writable.wait()

    async def flush(self) -> None:
        """Return once all that was written has left, or the connection is lost."""
        while self.transport.get_write_buffer_size() and not self._lost.done():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.001)

    def close(self) -> None:
        """Close it; at once if bytes have not left, for which the target may never make room."""
        if self.unsent:
            self.transport.abort()
        else:
            self.transport.close()

    async def wait_closed(self, timeout_s: float) -> None:
        """Until it is closed; it is cut off after the time."""
        done, _ = await asyncio.wait([self._lost], timeout=timeout_s)
        if not done:
            self.transport.abort()
            await asyncio.wait([self._lost], timeout=timeout_s)


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


IDLE_S = 3.0
"""Node's servers close after 5 s."""
_NEXT_ADDRESS_S = 0.25
"""The next address is tried when the one before has not responded for so long (RFC 8305)."""
_CLOSE_S = 0.5
_HANDSHAKE_S = 600.0
"""Longer than any attempt: the attempt's own limit counts."""


class Phase(Enum):
    """How far an attempt has come."""

    START = "start"
    LOOKUP = "lookup"
    CONNECT = "connect"
    TLS = "tls"
    EXCHANGE = "exchange"


class PoolKey(msgspec.Struct, frozen=True):
    """Connections with the same key can stand in for each other. `tls` is None for http."""

    host: str
    port: int
    tls: TlsOptions | None

    @property
    def place(self) -> str:
        return host_port(self.host, self.port)


@dataclass(slots=True)
class Progress:
    """Filled in while a connection is opened; milliseconds."""

    phase: Phase = Phase.START
    lookup: float | None = None
    connect: float | None = None
    tls: float | None = None


_Lookups = dict[str, asyncio.Task[list[Any]]]
"""Those under way, by host."""


@dataclass(slots=True)
class ConnectionPool:
    """Uses neither the environment's proxies nor any setting of it."""

    _contexts: TlsContexts = field(default_factory=TlsContexts)
    _idle: dict[PoolKey, list[Connection]] = field(default_factory=dict)
    _lookups: _Lookups = field(default_factory=dict)
    _timer: asyncio.TimerHandle | None = None
    _closed: bool = False

    def take(self, key: PoolKey) -> Connection | None:
        """An open connection that is idle, the one used last; None if there is none."""
        idle, now = self._idle.get(key), time.monotonic()
        while idle:
            candidate = idle.pop()
            if now < candidate.idle_until and candidate.is_usable():
                return candidate
            candidate.close()
        return None

    def give_back(self, key: PoolKey, connection: Connection, keep: int, idle_s: float | None) -> None:
        """Keep at most `keep` for the next requests. `idle_s`: how long the target keeps it, None if unknown."""
        # The target counts from when it sent its response, and its close takes a while to arrive.
        seconds = IDLE_S if idle_s is None else min(IDLE_S, idle_s - 1)
        if self._closed or seconds <= 0 or len(self._idle.get(key, ())) >= keep:
            connection.close()
            return
        connection.transport.resume_reading()  # to notice when the target closes it
        connection.idle_until = time.monotonic() + seconds
        self._idle.setdefault(key, []).append(connection)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(IDLE_S, self._close_expired)

    def _close_expired(self) -> None:
        now = time.monotonic()
        for key, idle in tuple(self._idle.items()):
            for one in idle:
                if one.idle_until <= now or not one.is_usable():
                    one.close()
            idle[:] = [one for one in idle if not one.transport.is_closing()]
            if not idle:
                del self._idle[key]
        soonest = min((one.idle_until for idle in self._idle.values() for one in idle), default=None)
        loop = asyncio.get_running_loop()
        self._timer = None if soonest is None else loop.call_later(soonest - now, self._close_expired)

    async def close(self) -> None:
        """Close the idle connections; others are closed when they are given back."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for lookup in self._lookups.values():
            lookup.cancel()
        connections = [one for idle in self._idle.values() for one in idle]
        self._idle.clear()
        for connection in connections:
            connection.close()
        await asyncio.gather(*(connection.wait_closed(_CLOSE_S) for connection in connections))

    async def open(self, key: PoolKey, progress: Progress) -> Connection:
        """Open a connection. AttemptError."""
        context = None
        if key.tls is not None:
            try:
                context = await self._contexts.get(key.tls)
            except PemFileError as error:
                raise AttemptError(FailureKind.TLS, str(error)) from error
        connection = await _connect(key, progress, self._lookups)
        if context is None:
            return connection
        progress.phase, started = Phase.TLS, time.perf_counter()
        if connection.buffer:
            connection.close()
            text = f"TLS with {key.place} failed (it sent something else first). Does that port speak https?"
            raise AttemptError(FailureKind.TLS, text)
        try:
            await _start_tls(connection, context, key)
        except OSError as error:  # ssl.SSLError is one too
            connection.transport.abort()
            raise handshake_error(error, key.place, await self._names(error, key)) from error
        except BaseException:
            connection.transport.abort()
            raise
        progress.tls = _ms_since(started)
        return connection

    async def _names(self, error: BaseException, key: PoolKey) -> tuple[str, ...] | None:
        """The names in a certificate that is for another one. It can be read only on a connection that does not check
        the name; nothing is sent on it."""
        if key.tls is None or getattr(error, "verify_code", None) not in WRONG_NAME:
            return None
        lenient = await self._contexts.get(replace(key.tls, check_name=False))
        try:
            connection = await _connect(key, Progress(), self._lookups)
        except AttemptError:
            return None
        try:
            await _start_tls(connection, lenient, key)
            certificate = connection.transport.get_extra_info("peercert") or {}
        except OSError:
            return None
        finally:
            connection.transport.abort()
        return tuple(name for kind, name in certificate.get("subjectAltName", ()) if kind in ("DNS", "IP Address"))


async def _start_tls(connection: Connection, context: ssl.SSLContext, key: PoolKey) -> None:
    loop = asyncio.get_running_loop()
    plain = connection.transport
    transport = await loop.start_tls(
        plain,
        connection,
        context,
        server_hostname=key.host.partition("%")[0],
        ssl_handshake_timeout=_HANDSHAKE_S,
        ssl_shutdown_timeout=_CLOSE_S,
    )
    if transport is None:  # asyncio's way to say that the connection was closed meanwhile
        raise ConnectionResetError
    connection.transport = transport


async def _connect(key: PoolKey, progress: Progress, lookups: _Lookups) -> Connection:
    started = time.perf_counter()
    addresses = [key.host]
    if not _is_address(key.host):
        progress.phase = Phase.LOOKUP
        addresses = await _lookup(key, lookups)
        progress.lookup = _ms_since(started)
        started = time.perf_counter()
    progress.phase = Phase.CONNECT
    if len(addresses) == 1:
        try:
            connection = await _connect_to(addresses[0], key.port)
        except OSError as error:
            raise connect_error([error], key.place) from error
    else:
        connection = await _race(addresses, key)
    progress.connect = _ms_since(started)
    return connection


async def _connect_to(address: str, port: int) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, address, port)
    return connection


async def _race(addresses: Sequence[str], key: PoolKey) -> Connection:
    """The first connection that is accepted; each address is tried a moment after the one before, or once that
    failed."""
    loop = asyncio.get_running_loop()
    waiting, tasks, errors = list(addresses), set[asyncio.Task[Connection]](), list[OSError]()
    try:
        while waiting or tasks:
            if waiting:
                tasks.add(loop.create_task(_connect_to(waiting.pop(0), key.port), name="forward-connect"))
            timeout = _NEXT_ADDRESS_S if waiting else None
            done, tasks = await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                error = task.exception()
                if error is None:
                    tasks |= done - {task}
                    return task.result()
                if not isinstance(error, OSError):
                    raise error
                errors.append(error)
        raise connect_error(errors, key.place)
    finally:
        for task in tasks:
            task.cancel()
            task.add_done_callback(_discard)


def _discard(task: asyncio.Task[Connection]) -> None:
    """Of a connection that came second."""
    if not task.cancelled() and task.exception() is None:
        task.result().transport.abort()


async def _lookup(key: PoolKey, lookups: _Lookups) -> list[str]:
    """The addresses of the host, IPv6 and IPv4 in turn as the system orders them.

    A lookup that hangs keeps one of the loop's few threads, also when nobody waits for it any more. So a name has one
    at a time, or those of one target would keep all threads from the others.
    """
    lookup = lookups.get(key.host)
    if lookup is None:
        loop = asyncio.get_running_loop()
        looking_up = loop.getaddrinfo(key.host, key.port, type=SOCK_STREAM)
        lookup = lookups[key.host] = loop.create_task(looking_up, name="forward-lookup")

        def ended(lookup: asyncio.Task[list[Any]]) -> None:
            del lookups[key.host]
            if not lookup.cancelled():
                lookup.exception()  # asyncio warns of one that nobody has asked for

        lookup.add_done_callback(ended)
    try:
        found = await asyncio.shield(lookup)
    except (gaierror, UnicodeError) as error:
        raise lookup_error(key.host) from error
    except OSError as error:  # as too many open files
        raise connect_error([error], key.host) from error
    families: dict[int, dict[str, None]] = {}
    for family, _, _, _, address in found:
        text = str(address[0])
        if family == AF_INET6 and len(address) > 3 and address[3] and "%" not in text:
            text = f"{text}%{address[3]}"
        families.setdefault(family, {})[text] = None
    addresses = [address for one_each in zip_longest(*families.values()) for address in one_each if address is not None]
    if not addresses:
        raise lookup_error(key.host)
    return addresses


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
