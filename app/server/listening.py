"""Listening sockets: opening, closing without losing connections just accepted, and finding who holds a port.

Also how many files and connections this process may open, and the descriptors that are kept for each port, so that it
accepts connections whatever the other port, targets or files have taken.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl
    import resource

log = logging.getLogger(__name__)

FILES_WANTED = 8_192
"""What both ports need when they are full, the database and many targets, several times over."""
_FILES_LEAST = 256
"""With fewer, none are kept: the rest of the program needs them."""
_ROOM = 2_000
"""About as many as both ports keep."""


def file_limit() -> int:
    """How many files and connections this process may have open."""
    if sys.platform == "win32":
        return sys.maxsize
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if files == resource.RLIM_INFINITY else files


def raise_file_limit() -> None:
    """Let this process open `FILES_WANTED` files, or as many as the system lets it; so may programs that it starts.

    Best before there are threads: from then on Linux waits about 10 ms for all processors each time that the table of
    descriptors has to double, and a start would wait five times.
    """
    if sys.platform == "win32":
        return
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if most == resource.RLIM_INFINITY else min(FILES_WANTED, most)
    if files != resource.RLIM_INFINITY and files < wanted:
        with suppress(OSError, ValueError):  # macOS may allow less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    with suppress(OSError), open(os.devnull, "rb") as null:
        os.close(fcntl.fcntl(null, fcntl.F_DUPFD_CLOEXEC, min(_ROOM, file_limit() - 1)))


def keep_descriptors(number: int) -> KeptDescriptors | None:
    """None where few files may be open, and on Windows, which does not limit them."""
    return None if sys.platform == "win32" or file_limit() < _FILES_LEAST else KeptDescriptors(number)


class KeptDescriptors:
    """At most `number` connections of a port, each with a descriptor that nothing else can take before.

    While there are fewer connections, the null device is open in their place.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._connections = 0
        self._kept: list[int] = []
        self.fill()

    def fill(self) -> None:
        """Keep what is missing; what something else took meanwhile, once it is free again."""
        with suppress(OSError):
            while len(self._kept) + self._connections < self._number:
                # To copy one takes a sixth of the time, and a start needs more than a thousand.
                self._kept.append(os.dup(self._kept[-1]) if self._kept else os.open(os.devnull, os.O_RDONLY))

    def give(self) -> bool:
        """Free a descriptor for a new connection; False when there are `number` connections."""
        if self._connections >= self._number:
            return False
        self._connections += 1
        if self._kept:
            os.close(self._kept.pop())
        return True

    def disconnected(self) -> None:
        """Called by a connection that is about to be closed."""
        asyncio.get_running_loop().call_soon(self.take_back)

    def take_back(self) -> None:
        """Keep the descriptor of a connection that is closed."""
        self._connections -= 1
        self.fill()

    def close(self) -> None:
        self._number = 0
        while self._kept:
            os.close(self._kept.pop())


class Listener(socket.socket):
    """A listening socket whose connections get the descriptors that are kept for them."""

    kept: KeptDescriptors

    @classmethod
    def of(cls, listening: socket.socket, kept: KeptDescriptors) -> Listener:
        """Takes over the socket `listening`."""
        self = cls(fileno=listening.detach())
        self.setblocking(False)
        self.kept = kept
        return self

    def accept(self) -> tuple[socket.socket, Any]:
        """BlockingIOError also when there are too many connections: the loop then asks again, once it closed some."""
        if not self.kept.give():
            raise BlockingIOError
        try:
            return super().accept()
        except BaseException:
            self.kept.take_back()
            raise


async def bind(
    protocol: Callable[[], asyncio.Protocol], host: str, port: int, backlog: int, kept: KeptDescriptors | None
) -> asyncio.Server:
    """Listen on `host`:`port` for connections, with the descriptors that are kept for them. They wait until
    `start_serving`."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(protocol, host, port, backlog=backlog, start_serving=False)
    try:
        sockets: list[socket.socket] = server._sockets  # type: ignore[attr-defined]  # typeshed lacks it
        if kept is not None:
            sockets[:] = [Listener.of(one, kept) for one in sockets]
        for one in sockets:
            one.listen(backlog)
    except BaseException:
        server.close()
        raise
    return server


async def listen(
    protocol: Callable[[], asyncio.Protocol], host: str, port: int, backlog: int, kept: KeptDescriptors | None
) -> asyncio.Server:
    """The same, and serve at once."""
    server = await bind(protocol, host, port, backlog, kept)
    try:
        await server.start_serving()
    except BaseException:
        server.close()
        raise
    return server


async def stop_listening(server: asyncio.Server) -> None:
    """Stop accepting, let accepted connections get their transports, then close the listening sockets.

    asyncio accepts a connection in one turn of the loop and makes its transport in the next. Closing the server in
    between drops the connection and, from Python 3.13 on, prints a TypeError.
    """
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):  # Windows' proactor has no readers; the gap stays there
        for listener in server.sockets:
            loop.remove_reader(listener.fileno())
    try:
        await asyncio.sleep(0)
    finally:
        server.close()


def report_failed_accepts() -> None:
    """Log a sentence, not a traceback, when a connection cannot be accepted because too many files are open.

    asyncio then tries again each second, and reports one failure many times.
    """
    loop = asyncio.get_running_loop()
    if loop.get_exception_handler() is None:
        loop.set_exception_handler(_report)


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if isinstance(error, OSError) and context.get("message") == "socket.accept() out of system resource":
        host, port = context["socket"].getsockname()[:2]
        log.warning(
            "A connection to %s, port %d cannot be accepted yet: %s. If this goes on, raise the limit on open files"
            " where Hookline is started (ulimit -n).",
            host,
            port,
            error.strerror,
        )
    else:
        loop.default_exception_handler(context)


_LISTEN = "0A"
_PROC = Path("/proc")


def find_holder(port: int) -> str | None:
    """`name (process 123)` of the program that listens on TCP `port`, as far as Linux lets this user see; None when
    unknown. Reads files."""
    targets = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    if not targets:
        return None
    for process in _PROC.glob("[0-9]*"):
        if _holds(process, targets):
            return f"{_name(process)} (process {process.name})"
    return None


def _listening_inodes(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        try:
            lines = (_PROC / "net" / table).read_text("ascii").splitlines()[1:]
        except OSError:  # another system than Linux, or no IPv6
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


def _holds(process: Path, targets: set[str]) -> bool:
    try:
        return any(str(entry.readlink()) in targets for entry in (process / "fd").iterdir())
    except OSError:  # another user's process, or one that ended meanwhile
        return False


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text("utf-8", "replace").strip() or "a program"
    except OSError:  # it ended meanwhile
        return "a program"
