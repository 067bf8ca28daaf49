"""A stand-in for a tunnel program: prints what one prints, and behaves as one does, well or badly.

It is started with a mode and the capture port. `relay` passes connections on from a port of its own, as a tunnel does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

URL = "https://blue-fox.example.com"
FOREVER = 600


def say(text: str) -> None:
    print(text, flush=True)


def pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def serve(connection: socket.socket, port: int, header: bytes, broken: Path | None) -> None:
    """Pass one connection on; `header` is added behind the request line of its first request."""
    with connection:
        data = connection.recv(65536)
        if broken is not None and broken.exists():
            connection.sendall(broken.read_bytes())
            return
        with socket.create_connection(("127.0.0.1", port)) as other:
            line, _, rest = data.partition(b"\r\n")
            other.sendall(line + b"\r\n" + header + rest)
            back = threading.Thread(target=pump, args=(other, connection), daemon=True)
            back.start()
            pump(connection, other)
            back.join()


def relay(port: int, header: bytes = b"", broken: Path | None = None, listen: int = 0) -> None:
    """Announce a port of this machine as the public URL, and pass on what comes there.

    While the file `broken` exists, its content is the response to everything.
    """
    with socket.create_server(("127.0.0.1", listen)) as server:
        say(f"your url is: http://127.0.0.1:{server.getsockname()[1]}")
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve, args=(connection, port, header, broken), daemon=True).start()


def prints(*lines: str) -> None:
    """Print the lines and run on."""
    for line in lines:
        say(line)
    time.sleep(FOREVER)


def dies(code: int, out: str = "", err: str = "", after_s: float = 0) -> None:
    if out:
        say(out)
    sys.stderr.write(err)
    sys.stderr.flush()
    time.sleep(after_s)
    sys.exit(code)


def dies_once(port: int, marker: str) -> None:
    if Path(marker).exists():
        prints(f"your url is: {URL}")
    Path(marker).touch()
    dies(3, f"your url is: {URL}")


def ignores_signals(port: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prints(f"your url is: {URL}")


def renames(port: int, marker: str) -> None:
    say(f"your url is: {URL}")
    while not Path(marker).exists():
        time.sleep(0.01)
    prints("your url is: https://red-hen.example.com")


def in_pieces(port: int) -> None:
    for letter in f"\x1b[32myour url is: {URL}\x1b[0m\r\n":
        sys.stdout.write(letter)
        sys.stdout.flush()
    time.sleep(FOREVER)


def floods(port: int) -> None:
    say(f"your url is: {URL}")
    while True:
        sys.stdout.write("x" * 200 + "\n")
        sys.stderr.write("y" * 200 + "\n")


def reads(port: int) -> None:
    say(f"your url is: {URL}")
    sys.exit(4 if sys.stdin.read(1) == "" else 5)


def relays(port: int, client: str = "", broken: str = "", listen: str = "0") -> None:
    header = f"X-Forwarded-For: {client}\r\nX-Forwarded-Proto: https\r\n".encode() if client else b""
    relay(port, header, Path(broken) if broken else None, int(listen))


def leaves_children(port: int) -> None:
    """A child that ignores SIGTERM, and one in a session of its own."""
    _children(port, ({}, {"start_new_session": True}))


def hides_children(port: int) -> None:
    """A child in a session of its own that has nothing of the environment."""
    _children(port, ({"start_new_session": True, "env": {}},))


def _children(port: int, ways: tuple[dict[str, Any], ...]) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    for way in ways:
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, **way)
        assert child.stdout is not None
        child.stdout.readline()
        say(f"child {child.pid}")
    prints(f"me {os.getpid()}", f"your url is: {URL}")


MODES: dict[str, Callable[..., None]] = {
    "relay": relays,
    "silent": lambda port: prints(),
    "something else": lambda port: prints("Hello, I am another program. See https://docs.example.com/"),
    "another's URL": lambda port: prints("your url is: https://api.wrong.example/tunnel"),
    "dies at once": lambda port: dies(7, err="cannot start: no such thing\n"),
    "long last words": lambda port: dies(7, err="Error: " + "no route to the relay, " * 150),
    "known failure": lambda port: prints("token refused: abc"),
    "dies later": lambda port: dies(3, f"your url is: {URL}", after_s=0.2),
    "dies once": dies_once,
    "ignores signals": ignores_signals,
    "leaves children": leaves_children,
    "hides children": hides_children,
    "renames": renames,
    "in pieces": in_pieces,
    "floods": floods,
    "reads": reads,
}

if __name__ == "__main__":
    MODES[sys.argv[1]](int(sys.argv[2]), *sys.argv[3:])
