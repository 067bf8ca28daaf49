"""A PostgreSQL server for the tests, in a temporary folder. It takes no port, for it listens on a Unix socket alone,
and ends with the process that started it, in whichever way that ends."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

OLDEST = 15
"""The first version that the tests run with."""
PLACES = "postgresql/*/bin"
"""Where Debian and Ubuntu have the programs of each version, below /usr/lib: they are not on PATH."""
HOW_TO_INSTALL = "postgresql in Debian and Ubuntu, postgresql-server in Fedora, postgresql@17 in Homebrew"
LONGEST_FOLDER = 60
"""A socket's path has 107 bytes at most, 103 on macOS; the folder's own name and the socket's need 40."""
START_S = 30.0

INITDB = (
    *("initdb", "--pgdata=data", "--username=postgres", "--auth=trust", "--locale=C", "--encoding=UTF8"),
    *("--no-sync", "--wal-segsize=1"),  # 28 MB instead of 39
)
SETTINGS = {
    "listen_addresses": "",
    "port": "5432",  # only a part of the socket's name
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "100",
    "autovacuum": "on",
}

# The process that starts this holds the other end of its standard input. When that is closed, by a server that is no
# longer needed or by the end of the process, even a sudden one, the server is ended and the folder removed.
KEEPER = """\
exec 3<&0
if {initdb} >log 2>&1; then
    {postgres} >log 2>&1 3<&- &
    server=$!
    (read -r _ <&3; while kill -QUIT "$server"; do sleep 0.1; done) 2>/dev/null &  # it is deaf until it has started
    reader=$!
    wait "$server"
    kill "$reader" 2>/dev/null
fi
tail -n 20 log >&2
cd / && rm -rf {folder}
"""


def programs() -> Path | None:
    """The folder with the programs of the newest PostgreSQL that is installed; None if there is none of `OLDEST`."""
    on_path = shutil.which("initdb")
    folders = [*([Path(on_path).resolve().parent] if on_path else []), *Path("/usr/lib").glob(PLACES)]
    found = {folder: _version(folder) for folder in folders if (folder / "postgres").exists()}
    newest = max(found, key=lambda folder: found[folder], default=None)
    return newest if newest and found[newest] >= OLDEST else None


def _version(folder: Path) -> int:
    """The major version of the programs in `folder`; 0 if they do not run."""
    try:
        said = subprocess.run([folder / "initdb", "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return 0
    found = re.search(r"\d+", said)
    return int(found[0]) if found else 0


def why_no_server() -> str | None:
    """One sentence that says why there is no server here and what to install; None if one can be started."""
    if programs():
        return None
    return f"PostgreSQL {OLDEST} or newer is not installed: {HOW_TO_INSTALL}"


class PostgresServer:
    """Runs from when it is made, which takes half a second, until `close`. Unless `fsync`, a commit does not wait for
    the disk."""

    def __init__(self, *, fsync: bool = False) -> None:
        installed = programs()
        assert installed is not None, why_no_server()
        base = os.environ.get("PYTEST_DEBUG_TEMPROOT") or tempfile.gettempdir()
        self.folder = Path(
            tempfile.mkdtemp(prefix="hookline-pg-", dir=base if len(os.fsencode(base)) <= LONGEST_FOLDER else "/tmp")
        )
        self._numbers, self._done = count(1), list[str]()
        self._process = _start(installed, self.folder, fsync=fsync)
        try:
            self._connection = self._connect()
        except BaseException:
            self._end()
            raise

    def url(self, database: str) -> str:
        """Where `database` is, as libpq and peewee take it."""
        return f"postgresql:///{database}?host={quote(str(self.folder), safe='')}&user=postgres"

    def create(self, template: str = "template0") -> str:
        """The name of a new database: an empty one, or a copy of `template`, which nobody may be connected to."""
        for done in self._done:
            self.drop(done)
        self._done.clear()
        name = f"test_{next(self._numbers)}"
        self._connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return name

    def drop_later(self, database: str) -> None:
        """Drop it before the next is made: a connection that was just closed would hold this up for 0.1 s."""
        self._done.append(database)

    def drop(self, database: str) -> None:
        """Drop it, with whatever is still connected to it."""
        self._connection.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")

    def close(self) -> None:
        """End the server and remove its folder."""
        self._connection.close()
        self._end()

    def _connect(self) -> psycopg.Connection[Any]:
        """Wait until the server lets somebody in."""
        end = time.monotonic() + START_S
        while True:
            try:
                return psycopg.connect(self.url("postgres"), autocommit=True)
            except psycopg.OperationalError as error:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"PostgreSQL did not start: {self._end()}") from error
                time.sleep(0.01)

    def _end(self) -> str:
        """End the server; returns its last words."""
        said = self._process.communicate()[1]
        shutil.rmtree(self.folder, ignore_errors=True)  # where only root may remove it
        return said.decode(errors="replace")


def _start(installed: Path, folder: Path, *, fsync: bool) -> subprocess.Popen[bytes]:
    """Start the process that makes, runs and ends a server. PostgreSQL refuses to run as root."""
    other: dict[str, Any] = {}
    if os.geteuid() == 0:
        found = user()
        os.chown(folder, found.pw_uid, found.pw_gid)
        other = {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    settings = {**SETTINGS, "unix_socket_directories": str(folder), "fsync": "on" if fsync else "off"}
    initdb, *options = INITDB
    postgres = (installed / "postgres", "-D", "data", *(f"--{name}={value}" for name, value in settings.items()))
    script = KEEPER.format(
        initdb=shlex.join(map(str, (installed / initdb, *options))),
        postgres=shlex.join(map(str, postgres)),
        folder=shlex.quote(str(folder)),
    )
    return subprocess.Popen(
        ["/bin/sh", "-c", script],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("PG")},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the tests, which end first
        **other,
    )


def user() -> pwd.struct_passwd:
    """Who runs the server for root."""
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")
