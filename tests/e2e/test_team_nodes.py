"""Several nodes on one store, each a process: what one was at when it died, another goes on with.

`HOOKLINE_FORWARD_RUN=2000` makes a run of that many deliveries.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from app.core.team import Role
from tests.e2e.forward_run import FaultyProcess, check, create_endpoint, deliveries, faulty_process, none_queued, order
from tests.e2e.program import START_S, Program, api, hookline
from tests.e2e.test_forwarding_faults import COUNT, ORDERED, PARALLEL, SEED, WAIT_S, senders, sending

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

FREE_PORTS = ("--port", "0", "--api-port", "0")
KILLS = 2
TAKEN_OVER_S = 10.0

pytestmark = [pytest.mark.timeout(180 + COUNT), pytest.mark.slow]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[FaultyProcess]:
    with faulty_process(tmp_path) as process:
        yield process


def node(tmp_path: Path, number: int, url: str) -> Program:
    return Program(tmp_path / f"node{number}", HOOKLINE_STORE=url)


def test_deliveries_go_on_when_their_node_dies(tmp_path: Path, place: FaultyProcess, postgres_url: str) -> None:
    rng = random.Random(SEED)
    those = senders(rng)
    nodes = [node(tmp_path, number, postgres_url) for number in range(2)]
    for one in nodes:
        one.wait_ready()
    try:
        create_endpoint(nodes[0], ORDERED, place.url, None)
        create_endpoint(nodes[0], PARALLEL, place.url, 8)
        for kill in range(KILLS):
            victim, other = nodes[kill % 2], nodes[(kill + 1) % 2]
            enough = len(place.received()) + rng.randint(1, COUNT // (KILLS + 1))
            with sending(those, victim.port):
                try:
                    victim.wait_until(lambda enough=enough: len(place.received()) >= enough, WAIT_S)  # type: ignore[misc]
                finally:
                    victim.kill()
            killed_at, before = time.monotonic(), len(place.received())
            if not none_queued(other, ORDERED, PARALLEL):
                other.wait_until(lambda before=before: len(place.received()) > before, WAIT_S)  # type: ignore[misc]
                assert time.monotonic() - killed_at < TAKEN_OVER_S
            nodes[kill % 2] = node(tmp_path, kill % 2, postgres_url)
            nodes[kill % 2].wait_ready()
        with sending(those, nodes[1].port):
            pass
        nodes[0].wait_until(lambda: none_queued(nodes[0], ORDERED, PARALLEL), WAIT_S)
        given = [one for slug in (ORDERED, PARALLEL) for one in deliveries(nodes[0], slug)]
    finally:
        for one in nodes:
            one.stop()
    received = place.received()
    totals = check(given, received, killed=True)
    assert totals.attempts - totals.interrupted <= len(received) <= totals.attempts
    names = [one["url"].split("/")[-2] for one in given]
    assert len(set(names)) == len(names)
    assert {name for one in those for name in one.acknowledged} <= set(names)
    in_order = order(received, ORDERED)
    assert in_order == sorted(in_order, key=lambda name: int(name.split("-")[1]))
    print(f"\n{totals}")


@pytest.mark.parametrize("role", Role)
def test_each_role_can_serve(tmp_path: Path, postgres_server: PostgresServer, role: Role) -> None:
    from tests.team import USERS, as_user, team_store

    with team_store(postgres_server) as address:
        store = as_user(address, USERS[role])
        done = hookline(tmp_path, "serve", *FREE_PORTS, "--exit-on-stdin-close", HOOKLINE_STORE=store)
    assert (done.returncode, done.stderr) == (0, "")


def test_readers_of_events_miss_nothing_and_see_all_in_one_order(tmp_path: Path, postgres_url: str) -> None:
    """Three readers on each of two nodes, and senders to both."""
    each, read = 100, {number: list[str]() for number in range(6)}
    with ExitStack() as stack:
        nodes = [stack.enter_context(node(tmp_path, number, postgres_url)) for number in range(2)]
        assert api(nodes[0], "POST", "/endpoints", {"name": "team", "slug": "team"})[0] == 201
        readers = [
            threading.Thread(target=follow, args=(nodes[number % 2], read[number], 4 * each), daemon=True)
            for number in read
        ]
        for reader in readers:
            reader.start()
        time.sleep(0.5)
        posters = [threading.Thread(target=post, args=(nodes[number % 2].port, each)) for number in range(4)]
        for poster in posters:
            poster.start()
        for thread in (*posters, *readers):
            thread.join(START_S)
        listed = api(nodes[1], "GET", f"/requests?limit={4 * each}")[1]["items"]
    assert len({one["id"] for one in listed}) == 4 * each
    assert all(names == read[0] for names in read.values())
    assert set(read[0]) == {one["id"] for one in listed}


def post(port: int, count: int) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=START_S)
    for number in range(count):
        connection.request("POST", "/catch/team", body=json.dumps({"number": number}))
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    connection.close()


def follow(program: Program, seen: list[str], count: int) -> None:
    """Read the stream of events until so many requests were announced."""
    connection = HTTPConnection(urlsplit(program.api_url).netloc, timeout=START_S)
    headers = {"Authorization": f"Bearer {program.token}", "Accept": "text/event-stream"}
    connection.request("GET", "/api/v1/events", headers=headers)
    lines = iter(connection.getresponse().readline, b"")
    kind = b""
    for line in lines:
        if line.startswith(b"event:"):
            kind = line[6:].strip()
        elif line.startswith(b"data:") and kind == b"captured":
            told: dict[str, Any] = json.loads(line[5:])
            seen.append(told["id"])
            if len(seen) == count:
                break
    connection.close()
