"""One window per data folder: a second start sends its request to the first over a local socket and gets an answer."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from time import monotonic

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from app.core.links import LINE_MAX, LaunchRequest, LaunchResponse, decode_request, decode_response, encode

CONNECT_MS = 1_000
ANSWER_MS = 3_000
"""A busy window answers late."""
IDLE_TIMEOUT_MS = 5_000
"""A client that connects and sends nothing is disconnected after this time."""


def socket_name(folder: Path) -> str:
    """The socket's name for this data folder; short, because Unix limits a socket's path to 107 bytes."""
    return "hookline-" + hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:24]


def ask(folder: Path, request: LaunchRequest) -> LaunchResponse | None:
    """Send the request to the window that has `folder` open; its answer, None if there is none.

    Needs no QApplication, so that a start that only hands over its request is short.
    """
    socket = QLocalSocket()
    socket.connectToServer(socket_name(folder))
    if not socket.waitForConnected(CONNECT_MS) or not _is_own(socket.fullServerName()):
        return None
    socket.write(encode(request))
    socket.flush()
    end = monotonic() + ANSWER_MS / 1_000
    while not socket.canReadLine():
        left_ms = int((end - monotonic()) * 1_000)
        if left_ms <= 0 or socket.bytesAvailable() >= LINE_MAX or not socket.waitForReadyRead(left_ms):
            return None
    return decode_response(bytes(socket.readLine(LINE_MAX).data()))


def _is_own(address: str) -> bool:
    """Whether the socket at this address belongs to this user: anyone can create one in a shared folder."""
    if sys.platform == "win32":  # A pipe is not a file.
        return True
    try:
        return os.lstat(address).st_uid == os.geteuid()
    except OSError:
        return False


class SingleInstance(QObject):
    """Answers later starts; `launch_requested` carries each `LaunchRequest`. Only the process that locked the data
    folder creates one.
    """

    launch_requested = Signal(object)

    def __init__(self, folder: Path, version: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._answer = encode(LaunchResponse(version))
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        name = socket_name(folder)
        if not self._server.listen(name):
            # A killed program leaves its socket file behind; the data folder's lock proves that no process serves it.
            QLocalServer.removeServer(name)
            self._server.listen(name)
        self._server.newConnection.connect(self._accept)

    def close(self) -> None:
        self._server.close()

    @Slot()
    def _accept(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            _Caller(socket, self._answer, self).launch_requested.connect(self.launch_requested)


class _Caller(QObject):
    """One connection: it sends one line and gets one in return. An invalid line gets no answer."""

    launch_requested = Signal(object)

    def __init__(self, socket: QLocalSocket, answer: bytes, parent: QObject) -> None:
        super().__init__(parent)
        self._socket, self._answer = socket, answer
        socket.setParent(self)
        socket.setReadBufferSize(LINE_MAX)
        socket.readyRead.connect(self._read)
        socket.disconnected.connect(self.deleteLater)
        idle_timer = QTimer(self, singleShot=True)
        idle_timer.timeout.connect(self._hang_up)
        idle_timer.start(IDLE_TIMEOUT_MS)

    @Slot()
    def _read(self) -> None:
        complete = self._socket.canReadLine()
        if not complete and self._socket.bytesAvailable() < LINE_MAX:
            return
        self._socket.readyRead.disconnect(self._read)
        request = decode_request(bytes(self._socket.readLine(LINE_MAX + 1).data())) if complete else None
        if request is not None:
            self._socket.write(self._answer)
            self.launch_requested.emit(request)
        self._hang_up()

    @Slot()
    def _hang_up(self) -> None:
        self._socket.disconnectFromServer()
