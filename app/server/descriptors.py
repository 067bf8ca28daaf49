"""Descriptors: how many files and connections this process may open, and those that are kept for each port.

So a port accepts connections whatever the other port, targets or files have taken.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from contextlib import suppress
from typing import Any

if sys.platform != "win32":
    import fcntl
    import resource

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
