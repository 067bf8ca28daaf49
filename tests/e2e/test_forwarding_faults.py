"""Forwarding to a target that fails in every way: each request is delivered as its rule says, also after kills.

`HOOKLINE_FORWARD_RUN=2000` makes a run of that many requests.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.forward_run import (
    FaultyProcess,
    Sender,
    check,
    create_endpoint,
    deliveries,
    faulty_process,
    none_queued,
    order,
    random_plan,
)
from tests.e2e.program import START_S, Program

COUNT = int(os.environ.get("HOOKLINE_FORWARD_RUN", "150"))
SEED = int(os.environ.get("HOOKLINE_FORWARD_SEED", "12"))
WAIT_S = START_S + COUNT / 10
KILLS = 5
ORDERED, PARALLEL = "ordered", "parallel"

pytestmark = [pytest.mark.timeout(120 + COUNT), pytest.mark.slow]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[FaultyProcess]:
    with faulty_process(tmp_path) as process:
        yield process


def senders(rng: random.Random) -> list[Sender]:
    """One for each endpoint; the one whose target gets its requests in order does not wait for hanging ones."""
    return [
        Sender(slug, {f"{slug}-{n}": random_plan(rng, hangs=slug == PARALLEL) for n in range(COUNT // 2)})
        for slug in (ORDERED, PARALLEL)
    ]


@contextmanager
def sending(those: list[Sender], port: int) -> Iterator[None]:
    threads = [threading.Thread(target=one.run, args=(port,), daemon=True) for one in those]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()


def create(program: Program, place: FaultyProcess) -> None:
    create_endpoint(program, ORDERED, place.url, None)
    create_endpoint(program, PARALLEL, place.url, 8)


def test_every_request_is_delivered_as_its_rule_says(tmp_path: Path, place: FaultyProcess) -> None:
    those = senders(random.Random(SEED))
    with Program(tmp_path / "data") as program:
        create(program, place)
        with sending(those, program.port):
            pass
        program.wait_until(lambda: none_queued(program, ORDERED, PARALLEL), WAIT_S)
        given = [one for slug in (ORDERED, PARALLEL) for one in deliveries(program, slug)]
    received = place.received()
    totals = check(given, received)
    assert totals.attempts == len(received)
    assert totals.delivered + totals.failed == sum(len(one.acknowledged) for one in those) == COUNT // 2 * 2
    assert order(received, ORDERED) == those[0].acknowledged
    print(f"\n{totals}")


def test_five_kills_change_nothing_but_marked_repeats(tmp_path: Path, place: FaultyProcess) -> None:
    rng = random.Random(SEED)
    those = senders(rng)
    for kill in range(KILLS + 1):
        program = Program(tmp_path / "data")
        program.wait_ready()
        if not kill:
            create(program, place)
        enough = len(place.received()) + rng.randint(1, COUNT // (KILLS + 1))
        with sending(those, program.port):
            if kill < KILLS:
                try:
                    program.wait_until(lambda enough=enough: len(place.received()) >= enough, WAIT_S)  # type: ignore[misc]
                finally:
                    program.kill()
    with program:
        program.wait_until(lambda: none_queued(program, ORDERED, PARALLEL), WAIT_S)
        given = [one for slug in (ORDERED, PARALLEL) for one in deliveries(program, slug)]
    received = place.received()
    totals = check(given, received, killed=True)
    assert totals.attempts - totals.interrupted <= len(received) <= totals.attempts
    names = [one["url"].split("/")[-2] for one in given]
    assert len(set(names)) == len(names)
    assert {name for one in those for name in one.acknowledged} <= set(names)
    assert len(names) >= COUNT // 2 * 2 - 2 * KILLS
    in_order = order(received, ORDERED)
    assert in_order == sorted(in_order, key=lambda name: int(name.split("-")[1]))
    print(f"\n{totals}")
