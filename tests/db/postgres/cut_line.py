"""A line to the server that can be cut at a commit: whoever waits for that does not learn whether it was made."""

from __future__ import annotations

import re
import shutil
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.parse import quote

from tests.postgres import PostgresServer

_NAME = ".s.PGSQL.5432"
_PARSE, _BIND = re.compile(rb"P.{4}(\w+)\0([^\0]*)\0", re.DOTALL), re.compile(rb"B.{4}\0(\w+)\0", re.DOTALL)
"""Messages that prepare a statement under a name, and that ask for what was prepared."""
_COMMITTED_S = 0.2
"""Enough for a commit whose answer is not read."""


class _Cut(NamedTuple):
    text: bytes
    stored: bool


class CutLine:
    """Takes the server's place in a folder of its own until `close`. `cuts` counts."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._folder = Path(tempfile.mkdtemp(prefix="hookline-cut-", dir=server.folder.parent))
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._folder / _NAME))
        self._listener.listen()
        self._cut: _Cut | None = None
        self.cuts = 0
        Thread(target=self._accept, name="cut-line", daemon=True).start()

    def through(self, address: str) -> str:
        """The address of the same database for those who come this way."""
        return address.replace(quote(str(self._server.folder), safe=""), quote(str(self._folder), safe=""))

    def cut_at_commit(self, text: str, *, stored: bool) -> None:
        """At that of the next transaction which has this text in a statement; unless it is `stored`, the server does
        not hear of it."""
        self._cut = _Cut(text.encode(), stored)

    def leave_whole(self) -> None:
        """Cut no more."""
        self._cut = None

    def close(self) -> None:
        self._listener.close()
        shutil.rmtree(self._folder)

    def take(self, statements: bytes) -> _Cut | None:
        """Whether to cut at the commit of these."""
        cut = self._cut
        if cut is None or cut.text not in statements:
            return None
        self._cut = None
        self.cuts += 1
        return cut

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(str(self._server.folder / _NAME))
                line = _Line(self, near, far)
                for way in (line.forth, line.back):
                    Thread(target=way, name="cut-line", daemon=True).start()


class _Line:
    """One connection."""

    def __init__(self, owner: CutLine, near: socket.socket, far: socket.socket) -> None:
        self._owner, self._near, self._far = owner, near, far
        self._prepared: dict[bytes, bytes] = {}
        self._is_cut = False

    def forth(self) -> None:
        statements = b""
        with self._near, self._far, suppress(OSError):
            while data := self._near.recv(1 << 16):
                self._prepared |= dict(_PARSE.findall(data))
                asked = data + b" ".join(self._prepared.get(name, b"") for name in _BIND.findall(data))
                statements += asked
                if b"COMMIT" in asked:
                    if (cut := self._owner.take(statements)) is not None:
                        self._is_cut = True
                        if cut.stored:
                            self._far.sendall(data)
                            time.sleep(_COMMITTED_S)
                        break
                    statements = b""
                self._far.sendall(data)
            for one in (self._near, self._far):
                one.shutdown(socket.SHUT_RDWR)

    def back(self) -> None:
        with suppress(OSError):
            while data := self._far.recv(1 << 16):
                if not self._is_cut:
                    self._near.sendall(data)
            self._near.shutdown(socket.SHUT_RDWR)
