"""Forwarding while the disk is full: no attempt is forgotten, and none is made again because it could not be stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.faulty_target import BUSY_FOR_A_SECOND, LONG, LONG_SIZE
from tests.e2e.forward_run import FaultyProcess, Sender, check, create_endpoint, deliveries, faulty_process, none_queued
from tests.e2e.program import Program, api
from tests.e2e.test_full_disk import DISK, fill_from_outside, folder  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow

SLUG = "full-disk"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[FaultyProcess]:
    with faulty_process(tmp_path) as process:
        yield process


def test_responses_that_fill_the_disk_are_shortened(folder: Path, place: FaultyProcess) -> None:  # noqa: F811
    count = 2 * DISK // LONG_SIZE
    with Program(folder) as program:
        target = create_endpoint(program, SLUG, place.url, 8)
        assert api(program, "POST", f"{target}/pause")[0] == 200
        Sender(SLUG, {f"{SLUG}-{n}": LONG for n in range(count)}).run(program.port)
        assert api(program, "POST", f"{target}/resume")[0] == 200
        program.wait_until(lambda: none_queued(program, SLUG))
        given = list(deliveries(program, SLUG))
        assert program.stop() == 0
    totals = check(given, place.received())
    assert (totals.delivered, totals.attempts) == (count, count)
    sizes = [one["response_size"] for one in given]
    assert sizes[-1] == LONG_SIZE
    assert sizes[0] == 4 * 1024
    assert given[0]["attempts"][0]["response_truncated"]


def fill_between_attempts(program: Program, place: FaultyProcess) -> Path:
    """Fill the disk after the first attempt of eight deliveries, and wait for their second; what fills it."""
    create_endpoint(program, SLUG, place.url, 8)
    sender = Sender(SLUG, {f"{SLUG}-{n}": BUSY_FOR_A_SECOND for n in range(8)})
    sender.run(program.port)
    assert len(sender.acknowledged) == 8
    ballast = fill_from_outside(program.folder)
    program.wait_until(lambda: len(place.received()) == 16)
    return ballast


def check_delivered(program: Program, place: FaultyProcess, *, killed: bool) -> None:
    program.wait_until(lambda: none_queued(program, SLUG))
    assert check(list(deliveries(program, SLUG)), place.received(), killed=killed).delivered == 8


def test_a_result_that_cannot_be_stored_is_stored_later(folder: Path, place: FaultyProcess) -> None:  # noqa: F811
    with Program(folder) as program:
        ballast = fill_between_attempts(program, place)
        assert api(program, "GET", "/status")[0] == 200
        ballast.unlink()
        check_delivered(program, place, killed=False)


def test_a_restart_repeats_at_most_what_could_not_be_stored(folder: Path, place: FaultyProcess) -> None:  # noqa: F811
    with Program(folder) as program:
        ballast = fill_between_attempts(program, place)
        assert program.stop() == 0
    ballast.unlink()
    with Program(folder) as program:
        check_delivered(program, place, killed=True)
