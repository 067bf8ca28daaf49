"""`python -m benchmarks.failover`: a PostgreSQL primary with a synchronous standby is killed under load, and the
standby promoted, again and again. No request that got a 2xx may be lost, and the node has to come back by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import psycopg

from benchmarks.lines import Line, exit_status
from benchmarks.programs import BenchError, Running, fresh_folder, running
from benchmarks.team import NO_ANSWER, STORED, made
from tests import postgres

SENDERS, RATE = 16, 200.0
BEFORE_S, AFTER_S = 3.0, 3.0
READY_S = 30.0
SETTINGS = ("--listen_addresses=", "--shared_buffers=32MB", "--wal_level=replica", "--max_wal_senders=4")
STANDBY = "hookline_standby"


class Server:
    """A PostgreSQL in a folder, which is also that of its socket; run as another user where this one is root."""

    def __init__(self, folder: Path) -> None:
        found = postgres.programs()
        if found is None:
            raise BenchError(str(postgres.why_no_server()))
        self._programs, self.folder = found, folder
        self.process: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """An empty one."""
        self._run("initdb", "--username=postgres", "--auth=trust", "--locale=C", "--encoding=UTF8", "-D", self._data)

    def copy_of(self, primary: Server) -> None:
        """A standby of `primary`, which runs."""
        source = f"host={primary.folder} user=postgres application_name={STANDBY}"
        self._run("pg_basebackup", "-d", source, "-D", self._data, "-R", "-X", "stream", "-c", "fast")

    def start(self) -> None:
        log = (self.folder / "log").open("ab")
        command = [self._programs / "postgres", "-D", self._data, f"--unix_socket_directories={self.folder}", *SETTINGS]
        self.process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, **self._other())
        log.close()
        wait_until(lambda: self.ask("SELECT 1") == 1)

    def kill(self) -> None:
        """As a power failure would: the postmaster and all that it has started."""
        assert self.process is not None
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False)
        for pid in (self.process.pid, *map(int, children.stdout.split())):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def promote(self) -> None:
        """The synchronous standby of its own is not there yet."""
        self.ask("SELECT pg_promote()")
        self.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
        self.ask("SELECT pg_reload_conf()")

    def confirm_by_standby(self) -> None:
        """From now on a commit needs the standby, which must be there."""
        self.ask(f"ALTER SYSTEM SET synchronous_standby_names = '{STANDBY}'")
        self.ask("SELECT pg_reload_conf()")
        wait_until(lambda: self.ask("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1)

    def ask(self, text: str) -> Any:
        """The first value of the answer; None if there is none."""
        try:
            with psycopg.connect(f"host={self.folder} user=postgres dbname=postgres", autocommit=True) as connection:
                cursor = connection.execute(text)
                return cursor.fetchone()[0] if cursor.description else None  # type: ignore[index]
        except psycopg.OperationalError:
            return None

    def close(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _run(self, program: str, *arguments: str | Path) -> None:
        self.folder.mkdir(mode=0o755, exist_ok=True)
        shutil.rmtree(self._data, ignore_errors=True)
        other = self._other()
        if other:
            os.chown(self.folder, other["user"], other["group"])
        done = subprocess.run(
            [self._programs / program, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            **other,
        )
        if done.returncode:
            raise BenchError(f"{program}: {done.stderr.strip()}")

    def _other(self) -> dict[str, Any]:
        if os.geteuid():
            return {}
        user = postgres.user()
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def wait_until(condition: Any, seconds: float = READY_S) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise BenchError(f"PostgreSQL did not become ready within {seconds:.0f} s")
        time.sleep(0.05)


class Load:
    """Senders, what they got a 2xx for, and when the last one and the first one around a failover were."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.acknowledged: set[bytes] = set()
        self.times: list[float] = []
        self._ended = False

    async def run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=20)
        async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session:
            await asyncio.gather(*(self._send(session) for _ in range(SENDERS)))

    def end(self) -> None:
        self._ended = True

    async def _send(self, session: aiohttp.ClientSession) -> None:
        while not self._ended:
            body = os.urandom(16).hex().encode()
            with suppress(*NO_ANSWER):
                async with session.post(self._url, data=body) as response:
                    await response.read()
                    if response.status in STORED:
                        self.acknowledged.add(body)
                        self.times.append(time.monotonic())
            await asyncio.sleep(SENDERS / RATE)


def measure(folder: Path, times: int) -> list[Line]:
    servers = [Server(folder / name) for name in ("one", "two")]
    try:
        servers[0].make()
        servers[0].start()
        os.environ["HOOKLINE_STORE"] = (
            f"host={servers[0].folder},{servers[1].folder} user=postgres dbname=postgres"
            " target_session_attrs=read-write"
        )
        data = folder / "node"
        data.mkdir()
        with running(data, folder / "node.log", "-m", "hookline", "serve") as node:
            gaps, acknowledged = asyncio.run(drive(node, servers, times))
        found = stored(servers[times % 2])
    finally:
        for server in servers:
            server.close()
    lost = sum(found[body] == 0 for body in acknowledged)
    doubled = sum(found[body] > 1 for body in acknowledged)
    return [
        Line("primaries killed", float(times), ""),
        Line("acknowledged", float(len(acknowledged)), ""),
        Line("  acknowledged and lost", float(lost), "", 0.0),
        Line("  acknowledged and stored twice", float(doubled), "", 0.0),
        Line("without captures, median", median(gaps), "s"),
        Line("  longest", max(gaps), "s"),
    ]


async def drive(node: Running, servers: Sequence[Server], times: int) -> tuple[list[float], set[bytes]]:
    """How long nothing was captured at each failover, and all bodies that were acknowledged."""
    load = Load(f"{node.capture_url}/catch/{made(node, 'bench')}")
    sending = asyncio.create_task(load.run())
    gaps = []
    for number in range(times):
        primary, standby = servers[number % 2], servers[(number + 1) % 2]
        await asyncio.to_thread(standby.copy_of, primary)
        await asyncio.to_thread(standby.start)
        await asyncio.to_thread(primary.confirm_by_standby)
        await asyncio.sleep(BEFORE_S)
        begun_at = time.monotonic()
        await asyncio.to_thread(primary.kill)
        killed_at = time.monotonic()
        await asyncio.to_thread(standby.promote)
        await asyncio.sleep(AFTER_S)
        end = time.monotonic() + READY_S
        while load.times[-1] < killed_at + 0.5 and time.monotonic() < end:  # noqa: ASYNC110 - senders tell nobody
            await asyncio.sleep(0.1)
        around = [begun_at, *(at for at in load.times if at > begun_at)]
        gaps.append(max(after - before for before, after in pairwise(around)))
    load.end()
    await sending
    return gaps, load.acknowledged


def stored(server: Server) -> Counter[bytes]:
    with psycopg.connect(f"host={server.folder} user=postgres dbname=postgres") as connection:
        return Counter(bytes(body) for (body,) in connection.execute("SELECT data FROM hookline.capture_body"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.failover", description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args(arguments)
    try:
        with fresh_folder("hookline-failover-") as folder:
            folder.chmod(0o755)
            lines = measure(folder, options.times)
    except BenchError as error:
        print(f"benchmark broke: {error}", file=sys.stderr)
        return 1
    print(*lines, sep="\n")
    return exit_status(lines)


if __name__ == "__main__":
    raise SystemExit(main())
