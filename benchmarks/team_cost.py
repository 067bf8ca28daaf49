"""`python -m benchmarks.team_cost`: what a capture takes of a node, of the PostgreSQL server and of its disk, and how
many captures a second there are when a commit takes long. docs/SCALE.md has the figures.

One node captures and may do nothing else; another one, once it runs, stores texts for searches and forwards. They, the
server and the senders share the machine: times are of each alone, captures a second of all together. What else the
machine does changes times, too: a bare aiohttp handler, measured in turn, is the yardstick.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from app.db.postgres.roles import init
from benchmarks.failover import Server, wait_until
from benchmarks.lines import Line
from benchmarks.load import load
from benchmarks.processor_time import microseconds, worked_ns
from benchmarks.programs import BenchError, Running, bare_process, delivery_target, fresh_folder, running
from hookline.client import Client

CONNECTIONS, MANY = (32, 128), 512
ROUNDS, REQUESTS, WARM_UP = 5, 10_000, 2_000
DELIVERIES = 5_000
COMMIT_MS = 0, 1, 5
"""How much longer a commit takes, such as for a standby elsewhere that confirms it."""
PATIENCE_S, REST_S = 300.0, 2.0
CAPTURE_NODE, WORKING_NODE = "edge", "worker"
"""Users of the database, and what their nodes are called here."""
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")

_NEXT_TRANSACTION = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
_LOG_POSITION = "SELECT (pg_current_wal_lsn() - '0/0')::bigint"
_SIZE = """SELECT sum(%s(oid))::bigint FROM pg_class
    WHERE relnamespace = 'hookline'::regnamespace AND relkind = 'r' AND relname ~ '^%s'"""
_QUEUED = "SELECT count(*) FROM hookline.delivery WHERE state = 'queued'"


@dataclass(frozen=True)
class Cost:
    """What some requests took: processor time of each, in microseconds for a request, and what the server wrote."""

    requests: int
    seconds: float
    capture_node: float
    working_node: float
    server: float
    commits: int
    logged: float
    """Bytes of the server's write-ahead log for a request."""
    bare: float
    """What a bare aiohttp handler took for one just then."""


class Team:
    """A server, and the nodes that run on it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.server = Server(folder / "server")
        self.nodes: dict[str, Running] = {}
        self.bare = (0, "")
        """Process and URL of the yardstick."""

    def make(self) -> None:
        """A server with tables, roles and a user for each node."""
        self.server.make()
        self.server.start()
        self.server.ask("CREATE EXTENSION pg_trgm")
        roles = init(self._address("postgres"))
        for user, role in zip((CAPTURE_NODE, WORKING_NODE), ("capture", "member"), strict=True):
            self.server.ask(f"CREATE ROLE {user} LOGIN")
            (name,) = (name for one, name in roles.items() if one == role)
            self.server.ask(f"GRANT {name} TO {user}")

    @contextmanager
    def node(self, user: str) -> Iterator[Running]:
        data = self._folder / user
        data.mkdir(exist_ok=True)
        os.environ["HOOKLINE_STORE"] = self._address(user)
        with running(data, self._folder / f"{user}.log", "-m", "hookline", "serve") as node:
            self.nodes[user] = node
            yield node
        del self.nodes[user]

    def cost(self, work: Callable[[], int]) -> Cost:
        """Of `work`, which returns how many requests it was."""
        before, begin = self._used(), time.monotonic()
        requests = work()
        seconds, after = time.monotonic() - begin, self._used()
        capture_node, working_node, server, commits, logged = (
            (new - old) / requests for new, old in zip(after, before, strict=True)
        )
        return Cost(
            requests=requests,
            seconds=seconds,
            capture_node=capture_node / 1_000,
            working_node=working_node / 1_000,
            server=server / 1_000,
            commits=round(commits * requests),
            logged=logged,
            bare=microseconds(*self.bare, CONNECTIONS[0]),
        )

    def rest(self) -> None:
        """Wait until the node that works has nothing left to do."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            before = self._used()
            time.sleep(REST_S)
            if max(self._used()[place] - before[place] for place in (1, 2)) < REST_S * 30_000_000:
                return
        raise BenchError(f"there was still work after {PATIENCE_S:.0f} s")

    def size(self, function: str, tables: str) -> int:
        """Bytes of all tables whose names begin so."""
        return int(self.server.ask(_SIZE % (function, tables)) or 0)

    def _used(self) -> tuple[int, int, int, int, int]:
        """Nanoseconds of both nodes and of the server, transactions that wrote, and bytes of the log."""
        nodes = (self.nodes.get(user) for user in (CAPTURE_NODE, WORKING_NODE))
        capture_node, working_node = (worked_ns(node.process.pid) if node else 0 for node in nodes)
        transactions, log = self.server.ask(_NEXT_TRANSACTION), self.server.ask(_LOG_POSITION)
        assert self.server.process is not None
        return capture_node, working_node, server_ns(self.server.process.pid), transactions, log

    def _address(self, user: str) -> str:
        return f"host={self.server.folder} user={user} dbname=postgres"


def server_ns(postmaster: int) -> int:
    """What the server's processes worked, also those that have ended: these to a hundredth of a second."""
    living, ended = worked_ns(postmaster), 0
    for entry in Path("/proc").iterdir():
        try:
            stat = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdecimal() else ()
            if stat and int(stat[1]) == postmaster:
                living += worked_ns(int(entry.name))
        except OSError:  # it has just ended
            continue
        if entry.name == str(postmaster):
            ended = sum(map(int, stat[13:15])) * TICK_NS
    return living + ended


def captures(team: Team, url: str, rounds: int, requests: int) -> Iterator[Line]:
    """One node that captures, alone with its server."""
    for connections in CONNECTIONS:
        load(url, connections=connections, seconds=PATIENCE_S, requests=WARM_UP)

        def send(connections: int = connections) -> int:
            return load(url, connections=connections, seconds=PATIENCE_S, requests=requests).requests

        costs = [team.cost(send) for _ in range(rounds)]
        name = f"{connections} connections: "
        yield Line(f"{name}captures a second", median(one.requests / one.seconds for one in costs), "/s")
        yield Line(f"{name}commits a second", median(one.commits / one.seconds for one in costs), "/s")
        yield Line(f"{name}requests in a commit", median(one.requests / one.commits for one in costs), "rows")
        yield from _times(name, costs)


def searches(team: Team, requests: int) -> Iterator[Line]:
    """What is done for searches, later, by the node that works; and what all that takes on the disk."""

    def catch_up() -> int:
        team.rest()
        return requests

    yield from _times("text for searches: ", [team.cost(catch_up)])
    tables = {"request": "capture_[0-9]", "body": "capture_body_", "text for searches": "search_text_"}
    yield from _sizes(team, tables, requests)


def deliveries(team: Team, url: str, rounds: int, requests: int) -> Iterator[Line]:
    """What a capture takes that is forwarded, from its arrival until the result is stored."""

    def send() -> int:
        sent = load(url, seconds=PATIENCE_S, requests=requests).requests
        wait_until(lambda: team.server.ask(_QUEUED) == 0, PATIENCE_S)
        return sent

    team.cost(send)
    team.rest()
    costs = [team.cost(send) for _ in range(rounds)]
    yield Line("forwarded: a second", median(one.requests / one.seconds for one in costs), "/s")
    yield from _times("forwarded: ", costs)
    yield from _sizes(team, {"delivery": "delivery$", "attempt": "attempt"}, requests * (rounds + 1))


def slow_commits(team: Team, url: str, rounds: int, requests: int) -> Iterator[Line]:
    """One node, while each commit takes longer."""
    server = team.server
    server.ask("ALTER SYSTEM SET commit_siblings = 0")  # or a commit that is alone would not wait
    for added in COMMIT_MS:
        server.ask(f"ALTER SYSTEM SET commit_delay = {added * 1_000}")
        server.ask("SELECT pg_reload_conf()")
        time.sleep(1)
        for connections in (*CONNECTIONS, MANY):

            def send(connections: int = connections) -> int:
                return load(url, connections=connections, seconds=2.0, requests=requests).requests

            costs = [team.cost(send) for _ in range(rounds)]
            name = f"commits {added} ms longer, {connections} connections: "
            yield Line(f"{name}captures", median(one.requests / one.seconds for one in costs), "/s")
            yield Line(f"{name}a commit", median(one.requests / one.commits for one in costs), "rows")
    server.ask("ALTER SYSTEM RESET commit_delay")
    server.ask("SELECT pg_reload_conf()")


def _times(name: str, costs: Sequence[Cost]) -> Iterator[Line]:
    for who in ("capture_node", "working_node", "server"):
        words = f"{name}{who.replace('_', ' ')}"
        yield Line(words, median(getattr(one, who) for one in costs), "us")
        yield Line(f"{words}, in requests to bare aiohttp", median(getattr(one, who) / one.bare for one in costs), "x")
    yield Line(f"{name}write-ahead log", median(one.logged for one in costs), "bytes")


def _sizes(team: Team, tables: Mapping[str, str], requests: int) -> Iterator[Line]:
    for name, pattern in tables.items():
        for what, function in (("", "pg_table_size"), (", indexes", "pg_indexes_size")):
            yield Line(f"on the disk: {name}{what}", team.size(function, pattern) / requests, "bytes")


def measure(folder: Path, rounds: int, requests: int, forwarded: int) -> Iterator[Line]:
    team, standby = Team(folder), Server(folder / "standby")
    try:
        team.make()
        with team.node(WORKING_NODE) as worker, Client(worker.api_url, worker.token) as api:
            plain, to_target = (api.endpoints.create(name).slug for name in ("plain", "forwarded"))
        with team.node(CAPTURE_NODE) as edge, delivery_target(folder) as target, bare_process(folder) as team.bare:
            url = f"{edge.capture_url}/catch/{plain}"
            yield from captures(team, url, rounds, requests)
            stored = int(team.server.ask("SELECT count(*) FROM hookline.capture"))
            with team.node(WORKING_NODE) as worker, Client(worker.api_url, worker.token) as api:
                yield from searches(team, stored)
                api.targets.create(to_target, f"{target}/hook", parallel=8)
                yield from deliveries(team, f"{edge.capture_url}/catch/{to_target}", rounds, forwarded)
            yield from slow_commits(team, url, rounds, requests)
            standby.copy_of(team.server)
            standby.start()
            team.server.confirm_by_standby()
            yield from captures(team, url, rounds, requests)
    finally:
        standby.close()
        team.server.close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.team_cost", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args(arguments)
    try:
        with fresh_folder("hookline-cost-") as folder:
            folder.chmod(0o755)
            for line in measure(folder, options.rounds, REQUESTS, DELIVERIES):
                print(line, flush=True)
    except BenchError as error:
        print(f"benchmark broke: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
