"""Hookline as a process of its own for a test session: on free ports, with a data folder of its own; and its endpoints.

All processes of a session, such as the workers of pytest-xdist, share one. Each has a lease, a connection that the
system closes with the process, and the program ends with the last lease: nobody has to be left who could end it.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import msgspec
from filelock import FileLock

from hookline.decoding import decode_json
from hookline.errors import ApiError, NotFoundError
from hookline.running import FOLDER_VARIABLE, find_running

if TYPE_CHECKING:
    from hookline.client.client import Client
    from hookline.records import Endpoint
    from hookline.testing.https import HttpsPort

PROGRAM = Path(__file__).resolve().parent / "__main__.py"
START_S, STOP_S = 60.0, 15.0
LISTENING, LEASE_PORT = "listening on ", "lease port "
NAME = "Test"
"""Of an endpoint that is given no other."""
MOST, FEW = 16, 4
"""Endpoints in one call; and when so many are left, the next ones are created."""


class EndpointPool:
    """The endpoints of the fixture's tests. Most are created ahead and deleted later, many in one call: alone, each of
    the two would take as long as a short test. Threads may share it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._background = ThreadPoolExecutor(1, "hookline endpoints")
        self._lock = Lock()
        self._ready: list[Endpoint] = []
        self._creating: Future[Sequence[Endpoint]] | None = None
        self._next = 1
        """How many are created next: a session of few tests needs no more."""
        self._ended: list[str] = []

    def take(self) -> Endpoint:
        """An endpoint as most tests have it, which nothing was sent to."""
        with self._lock:
            if self._creating is not None and (not self._ready or self._creating.done()):
                self._add_created()
            taken = self._ready.pop() if self._ready else None
            if self._creating is None and len(self._ready) < FEW:
                self._creating = self._background.submit(self._create, self._next)
                self._next = min(2 * self._next, MOST)
        return self._client.endpoints.create(NAME) if taken is None else taken

    def delete_later(self, slug: str) -> None:
        """Delete an endpoint together with others."""
        with self._lock:
            self._ended.append(slug)
            if len(self._ended) == MOST:
                self._delete_ended()

    def delete_soon(self, slug: str) -> Future[None]:
        """Delete an endpoint, unless the test has, while the next test begins."""
        return self._background.submit(self._delete, (slug,))

    def empty(self) -> None:
        """Delete all but those of tests that run."""
        with self._lock:
            self._add_created()
            self._ended += [endpoint.slug for endpoint in self._ready]
            self._ready.clear()
            self._delete_ended()
        self._background.submit(int).result()  # after what is to be deleted

    def close(self) -> None:
        """Finish what was begun. The rest goes with the program's data."""
        self._background.shutdown()

    def _add_created(self) -> None:
        if self._creating is not None:
            self._ready += self._creating.result()
            self._creating = None

    def _create(self, number: int) -> Sequence[Endpoint]:
        """None if that fails: the next test is then told why."""
        with suppress(ApiError):
            return self._client.endpoints.change_several([{"name": NAME}] * number)
        return ()

    def _delete_ended(self) -> None:
        if self._ended:
            self._background.submit(self._delete, tuple(self._ended))
            self._ended.clear()

    def _delete(self, slugs: Sequence[str]) -> None:
        try:
            self._client.endpoints.change_several(delete=slugs)
        except NotFoundError:  # a test has deleted one of them
            for slug in slugs:
                with suppress(NotFoundError):
                    self._client.endpoints.delete(slug)


class Started(msgspec.Struct, frozen=True):
    """What the processes of a session tell each other. `folder` has the data folder, `data`, and the log."""

    folder: str
    pid: int
    url: str
    lease_port: int

    @property
    def data_dir(self) -> Path:
        return Path(self.folder, "data")

    @property
    def log(self) -> Path:
        return Path(self.folder, "hookline.log")


class Instance:
    """The one that runs for all who share `folder`, else a new one; OSError or RuntimeError if it does not start."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.shared_folder = folder
        self._process: subprocess.Popen[str] | None = None
        self._https: HttpsPort | None = None
        with FileLock(folder / "lock"):
            self._started, self._lease = _joined(folder / "started.json") or self._start(folder)
            self.url, self.data_dir = self._started.url, self._started.data_dir
            # Both were loaded while the program started.
            from hookline.client.client import Client

            address = find_running(self.data_dir)
            assert address is not None
            self.address = address
            self.client = Client(address.url, address.token)
            self.position = self.client.requests.position()
            """In the order of storing: not after anything that the next endpoint captures."""
            self.endpoints = EndpointPool(self.client)
            if self._process is not None:  # The free plan allows ten endpoints.
                self.client.set_plan("pro")

    @property
    def https(self) -> HttpsPort:
        """The port of this process for HTTPS, opened when it is first asked for."""
        if self._https is None:
            from hookline.testing.https import HttpsPort  # start-up time: few ask for it

            self._https = HttpsPort(self.url, self.shared_folder / f"authority-{os.getpid()}.pem")
        return self._https

    @property
    def running(self) -> bool:
        try:
            self._lease.setblocking(False)
            self._lease.recv(1)  # nothing is sent on a lease: this is its end
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def trouble(self) -> str:
        """What it printed on standard error, in words for a message."""
        return _trouble(self._started.log)

    def stop(self) -> None:
        """End the lease. The last one waits until the program has ended, and deletes its data. Idempotent."""
        https, self._https = self._https, None
        if https is not None:
            https.close()
        self.endpoints.close()
        self.client.close()
        with suppress(OSError):
            self._end_lease()
        self._lease.close()
        process, self._process = self._process, None
        ended = (process is not None and process.poll() is not None) or find_running(self.data_dir) is None
        if process is not None and ended:
            process.wait()
        elif process is not None:
            process.returncode = 0  # it runs on for the others, who cannot wait for it: it is no child of theirs
        if ended:
            shutil.rmtree(self._started.folder, ignore_errors=True)

    def _end_lease(self) -> None:
        """OSError if the program has ended already, or the lease has."""
        self._lease.shutdown(socket.SHUT_WR)  # ends it although a child of this process may have a copy of the socket
        self._lease.settimeout(STOP_S)
        try:
            self._lease.recv(1)  # its end: at once, or that of the program
        except TimeoutError:
            os.kill(self._started.pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)

    def _start(self, folder: Path) -> tuple[Started, socket.socket]:
        own = tempfile.mkdtemp(prefix="instance-", dir=folder)
        started = Started(own, 0, "", 0)
        with started.log.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", str(PROGRAM), "serve", *_arguments(started.data_dir)],
                stdin=subprocess.PIPE,  # open until there is a lease
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(),
                start_new_session=True,  # Ctrl-C in the terminal is for pytest, whose fixtures still need it
                text=True,
                encoding="utf-8",
            )
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin, process.stdout:
            try:
                import hookline.client.client  # noqa: F401 - needed next, and loaded while the program starts

                url, port = _read(process, started.log)
                lease = _lease(port)
                if lease is None or find_running(started.data_dir) is None:
                    raise RuntimeError(f"Hookline has ended. {_trouble(started.log)}")
                started = Started(own, process.pid, url, port)
                (folder / "started.json").write_bytes(msgspec.json.encode(started))
            except BaseException:
                process.kill()
                process.wait()
                shutil.rmtree(own, ignore_errors=True)
                raise
        self._process = process
        return started, lease


def _joined(file: Path) -> tuple[Started, socket.socket] | None:
    """A lease of the program that another process has started; None if none runs."""
    try:
        started = decode_json(file.read_bytes(), Started)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    lease = _lease(started.lease_port) if find_running(started.data_dir) is not None else None
    return None if lease is None else (started, lease)


def _lease(port: int) -> socket.socket | None:
    """None if the program grants none any more."""
    try:
        lease = socket.create_connection(("127.0.0.1", port), START_S)
    except OSError:
        return None
    with suppress(OSError):
        if lease.recv(1):
            return lease
    lease.close()
    return None


def _read(process: subprocess.Popen[str], log: Path) -> tuple[str, int]:
    """The capture port's URL and the port for leases, which it prints once it listens."""
    assert process.stdout is not None
    limit = threading.Timer(START_S, process.kill)
    limit.start()
    try:
        lines = [process.stdout.readline().rstrip("\n") for _ in (LISTENING, LEASE_PORT)]
    finally:
        limit.cancel()
    if not (lines[0].startswith(LISTENING) and lines[1].startswith(LEASE_PORT)):
        process.kill()
        process.wait()  # what it prints is whole then
        raise RuntimeError(f"Hookline did not start. {_trouble(log)}")
    return lines[0].removeprefix(LISTENING), int(lines[1].removeprefix(LEASE_PORT))


def _trouble(log: Path) -> str:
    text = log.read_text("utf-8", "replace").strip()
    return f"Its last lines:\n{text[-2_000:]}" if text else "It printed nothing."


def _arguments(data_dir: Path) -> list[str]:
    return ["--port", "0", "--api-port", "0", "--data-dir", str(data_dir), "--exit-when-unused", "--no-fsync"]


def _environment() -> dict[str, str]:
    """This process's environment without what would change the instance: a data folder, warnings as errors."""
    dropped = (FOLDER_VARIABLE, "PYTHONWARNINGS")
    return {name: value for name, value in os.environ.items() if name not in dropped}
