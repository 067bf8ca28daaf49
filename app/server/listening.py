"""Listening sockets: opening, closing without losing connections just accepted, and finding who holds a port."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from socket import socket
from typing import Any

from app.server.descriptors import KeptDescriptors, Listener

log = logging.getLogger(__name__)


async def bind(
    protocol: Callable[[], asyncio.Protocol], host: str, port: int, backlog: int, kept: KeptDescriptors | None
) -> asyncio.Server:
    """Listen on `host`:`port` for connections, with the descriptors that are kept for them. They wait until
    `start_serving`."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(protocol, host, port, backlog=backlog, start_serving=False)
    try:
        sockets: list[socket] = server._sockets  # type: ignore[attr-defined]  # typeshed lacks it
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


def find_holder(port: int, proc: Path = Path("/proc")) -> str | None:
    """`name (process 123)` of the program that listens on TCP `port`, as far as Linux lets this user see; None when
    unknown. Reads files."""
    targets = {f"socket:[{inode}]" for inode in _listening_inodes(port, proc)}
    if not targets:
        return None
    for process in proc.glob("[0-9]*"):
        if _holds(process, targets):
            return f"{_name(process)} (process {process.name})"
    return None


def _listening_inodes(port: int, proc: Path) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / table).read_text("ascii").splitlines()[1:]
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
