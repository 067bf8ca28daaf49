"""A clock that may be wrong deletes nothing by age, until somebody trusts it or a day of running has passed."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from app.core.clock import DAY_US
from app.core.events import Event, Purged, RetentionWaiting
from app.core.model import Endpoint
from app.core.text import clock_text
from app.db.sqlite.store import Store
from tests import factories
from tests.db.helpers import add, of_kind, query
from tests.support import until

NOW = 1_795_000_000_000_000
SECOND, HOUR = 1_000_000, 3_600_000_000
YEAR = 365 * DAY_US
LOGGER = "app.db.sqlite.retention"


class Machine:
    """A data folder on a machine whose clock and running time the test sets."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now, self.running_s = folder, NOW, 0.0
        self.events: list[Event] = []

    @asynccontextmanager
    async def store(self, **more: float) -> AsyncIterator[Store]:
        opened = await Store.open(
            self.folder, self.events.append, clock=lambda: self.now, running_s=lambda: self.running_s, **more
        )
        yield opened
        await opened.close()

    async def fill(self, days: int = 7, number: int = 3) -> Endpoint:
        """An endpoint with requests that came just now, by a clock that is right."""
        async with self.store() as store:
            made = await store.endpoints.create(factories.draft(retention_days=days))
            for _ in range(number):
                await add(store, made.id, received_at=self.now)
            await store.retention.purge()
        self.events.clear()
        return made

    async def run_for(self, store: Store, hours: float) -> None:
        """Let time pass as Hookline runs: a run of retention at first, and one each half hour."""
        await store.retention.purge()
        for _ in range(int(hours * 2)):
            self.now += HOUR // 2
            self.running_s += 1800
            await store.retention.purge()

    @property
    def kinds(self) -> list[str | None]:
        """What was announced about the clock, in order."""
        waiting = of_kind(self.events, RetentionWaiting)
        return [None if event.problem is None else event.problem.kind for event in waiting]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def held(store: Store) -> int:
    return sum(store.captures.counts(endpoint.id).total for endpoint in store.endpoints.all())


@pytest.mark.parametrize(
    ("passed", "kind", "words"),
    [
        (10 * YEAR, "ahead", "The clock is 10 years ahead of the last time Hookline ran."),
        (31 * DAY_US, "ahead", "The clock is 31 days ahead of the last time Hookline ran."),
        (30 * DAY_US + 1, "ahead", "The clock is 30 days ahead of the last time Hookline ran."),
        (30 * DAY_US, None, ""),
        (-5 * 60 * SECOND, None, ""),
        (-5 * 60 * SECOND - 1, "behind", "The clock is 5 minutes behind the last time Hookline ran."),
        (-HOUR, "behind", "The clock is 1 hour behind the last time Hookline ran."),
        (-10 * YEAR, "behind", "The clock is 10 years behind the last time Hookline ran."),
    ],
)
async def test_at_start(
    machine: Machine, caplog: pytest.LogCaptureFixture, passed: int, kind: str | None, words: str
) -> None:
    await machine.fill()
    machine.now += passed
    async with machine.store() as store:
        found = store.retention.problem
        assert (found.kind if found else None) == kind  # known before anything is deleted
        with caplog.at_level(logging.WARNING, LOGGER):
            for _ in range(3):
                await store.retention.purge()
        assert held(store) == (0 if passed == 30 * DAY_US else 3)
        assert machine.kinds == ([kind] if kind else [])
        assert [words in message for message in caplog.messages] == ([True] if kind else [])
        caplog.clear()
        assert len(of_kind(machine.events, Purged)) == 3


async def test_the_message_says_how_many_requests_wait(machine: Machine) -> None:
    await machine.fill()
    machine.now += 45 * DAY_US
    async with machine.store() as store:
        await store.retention.purge()
        problem = store.retention.problem
        assert problem is not None
        assert problem.expired == 3
        assert clock_text(problem)[1] == (
            "Nothing is deleted by age for now. If the clock is right, resume deleting: 3 requests are past their"
            " retention. If it is wrong, correct it. Deleting resumes by itself after 1 day of running on this clock."
        )
        assert (await store.retention.size()).expired == 3


async def test_resumed_by_hand_it_deletes_soon_and_waits_no_more(machine: Machine) -> None:
    await machine.fill()
    machine.now += 45 * DAY_US
    async with machine.store() as store:
        store.retention.start()
        await until(lambda: of_kind(machine.events, Purged))
        assert held(store) == 3
        await store.retention.resume()
        await until(lambda: len(of_kind(machine.events, Purged)) == 2)
        assert held(store) == 0
    assert machine.kinds == ["ahead", None]
    async with machine.store() as store:
        assert store.retention.problem is None


async def test_resuming_survives_an_end_right_after_it(machine: Machine) -> None:
    await machine.fill()
    machine.now += 45 * DAY_US
    async with machine.store() as store:
        await store.retention.resume()
    async with machine.store() as store:
        await store.retention.purge()
        assert held(store) == 0


async def test_a_day_of_running_counts_over_restarts_and_time_off_does_not(machine: Machine) -> None:
    await machine.fill()
    machine.now += 45 * DAY_US
    for hours in (10, 10):
        async with machine.store() as store:
            await machine.run_for(store, hours)
            assert held(store) == 3
        machine.now += 14 * HOUR  # switched off
    async with machine.store() as store:
        await machine.run_for(store, 3.5)
        assert held(store) == 3
        problem = store.retention.problem
        assert problem is not None
        assert problem.left_us < HOUR
        await machine.run_for(store, 1)
        assert held(store) == 0
        assert store.retention.problem is None


async def test_after_exactly_a_day_of_running_the_clock_is_trusted_for_good(machine: Machine) -> None:
    await machine.fill()
    machine.now += 45 * DAY_US
    async with machine.store() as store:
        await machine.run_for(store, 23.5)
        assert held(store) == 3
        assert store.retention.problem is not None
        assert store.retention.problem.left_us == HOUR // 2
        machine.running_s += 1800
        await store.retention.purge()
        assert held(store) == 0
    assert machine.kinds == ["ahead", None]
    async with machine.store() as store:
        assert store.retention.problem is None


@pytest.mark.parametrize(
    ("jump", "same"),
    [(30 * DAY_US, True), (30 * DAY_US + 1, False), (-5 * 60 * SECOND, True), (-5 * 60 * SECOND - 1, False)],
)
async def test_a_jump_of_a_doubtful_clock_starts_the_day_again_only_if_it_is_long(
    machine: Machine, jump: int, same: bool
) -> None:
    await machine.fill()
    machine.now += YEAR
    async with machine.store() as store:
        await machine.run_for(store, 2)
        machine.now += jump
        machine.running_s += 1800
        await store.retention.purge()
        assert store.retention.problem is not None
        assert store.retention.problem.left_us == DAY_US - (5 * HOUR // 2 if same else 0)


async def test_running_on_another_wrong_clock_starts_the_day_again(machine: Machine) -> None:
    await machine.fill()
    for ahead in (10, 20):
        machine.now = NOW + ahead * YEAR
        async with machine.store() as store:
            await machine.run_for(store, 23)
            assert held(store) == 3


async def test_a_clock_that_jumps_while_running_is_noticed(machine: Machine) -> None:
    made = await machine.fill()
    async with machine.store() as store:
        await store.retention.purge()
        machine.now += 10 * YEAR
        await add(
            store, made.id, received_at=machine.now
        )  # before retention runs, and no proof that the clock is right
        await store.retention.purge()
        assert held(store) == 4
        assert machine.kinds == ["ahead"]
        machine.now = NOW + HOUR
        await store.retention.purge()
        assert machine.kinds == ["ahead", "future"]


async def test_changed_days_wait_too(machine: Machine) -> None:
    made = await machine.fill(days=90)
    machine.now += 45 * DAY_US
    async with machine.store() as store:
        store.retention.start()
        await until(lambda: of_kind(machine.events, Purged))
        await store.endpoints.update(made.id, msgspec.structs.replace(made.draft(), retention_days=1))
        await until(lambda: len(of_kind(machine.events, Purged)) == 2)
        assert held(store) == 3


async def test_deleting_by_hand_goes_on_and_gives_the_space_back(machine: Machine) -> None:
    made = await machine.fill(number=5)
    machine.now += 10 * YEAR
    async with machine.store() as store:
        ids = [row.id for row in await store.captures.page(made.id)]
        await store.captures.delete(ids[:2])
        assert held(store) == 3
        await store.captures.clear(made.id)
        assert held(store) == 0
        await store.endpoints.delete(made.id)
        await store.retention.purge()
        assert query(machine.folder, "SELECT count(*) FROM endpoint") == [(0,)]
        assert query(machine.folder, "PRAGMA freelist_count") == [(0,)]


async def test_what_came_on_a_clock_behind_keeps_its_days_once_the_clock_is_right(machine: Machine) -> None:
    made = await machine.fill()
    machine.now = NOW - 10 * YEAR
    async with machine.store() as store:
        await store.retention.purge()
        misdated = await add(store, made.id, received_at=machine.now)
    machine.now = right = NOW + HOUR
    async with machine.store() as store:
        assert store.retention.problem is None
        await store.retention.purge()
        assert held(store) == 4
        machine.now = right + 7 * DAY_US - SECOND
        await store.retention.purge()
        assert held(store) == 1
        assert [row.id for row in await store.captures.page(made.id)] == [misdated.id]
        assert [row.received_at for row in await store.captures.page(made.id)] == [NOW - 10 * YEAR]
        machine.now += 2 * SECOND
        await store.retention.purge()
        assert held(store) == 0


async def test_sleep_is_not_running(machine: Machine) -> None:
    """Windows counts it in the clock that otherwise counts running alone."""
    await machine.fill()
    machine.now += 45 * DAY_US
    async with machine.store() as store:
        await store.retention.purge()
        machine.now += 2 * DAY_US
        machine.running_s += 2 * 86_400
        await store.retention.purge()
        assert held(store) == 3


async def test_what_came_before_a_jump_back_was_noticed_keeps_its_days(machine: Machine) -> None:
    made = await machine.fill()
    async with machine.store() as store:
        await store.retention.purge()
        machine.now -= 10 * YEAR
        await add(store, made.id, received_at=machine.now)
        await store.retention.purge()
        machine.now = NOW + HOUR
        await store.retention.purge()
        assert held(store) == 4


async def test_what_was_received_in_the_future_goes_after_its_days_from_then_on(machine: Machine) -> None:
    made = await machine.fill()
    machine.now = NOW + 10 * YEAR
    async with machine.store() as store:
        await store.retention.purge()
        future = [await add(store, made.id, received_at=machine.now + number) for number in range(2)]
    machine.now = NOW + HOUR
    async with machine.store() as store:
        problem = store.retention.problem
        assert problem is not None
        assert clock_text(problem)[0] == "2 stored requests were received in the future, the newest 10 years from now."
        await machine.run_for(store, 8)
        assert held(store) == 5
        await store.retention.resume()
    confirmed = machine.now
    for _ in range(2):  # it waits for them at no later start
        async with machine.store() as store:
            assert store.retention.problem is None
    machine.now = confirmed + 7 * DAY_US - SECOND
    async with machine.store() as store:
        await store.retention.purge()
        assert {row.id for row in await store.captures.page(made.id)} == {capture.id for capture in future}
        machine.now += 2 * SECOND
        assert (await store.retention.size()).expired == 2
        await store.retention.purge()
        assert held(store) == 0
    machine.now += 100 * DAY_US
    async with machine.store() as store:
        await store.retention.resume()
        await store.retention.purge()
        assert query(machine.folder, "SELECT count(*) FROM misdated") == [(0,)]


async def test_deleting_what_was_received_in_the_future_ends_the_wait(machine: Machine) -> None:
    made = await machine.fill()
    async with machine.store() as store:
        future = await add(store, made.id, received_at=NOW + YEAR)
        await store.retention.purge()
        assert machine.kinds == ["future"]
        await store.captures.delete([future.id])
        await store.retention.purge()
        assert machine.kinds == ["future", None]


async def test_a_clock_that_was_wrong_before_is_told_from_one_that_is_wrong_now(machine: Machine) -> None:
    made = await machine.fill()
    machine.now += 10 * YEAR
    async with machine.store() as store:
        await store.retention.resume()  # a mistake
        await add(store, made.id, received_at=machine.now)
    machine.now = NOW + HOUR
    async with machine.store() as store:
        await store.retention.purge()
        assert machine.kinds[-1] == "behind"
        right = await add(store, made.id, received_at=machine.now)
        await store.retention.resume()
        await store.retention.purge()
        machine.now += 8 * DAY_US
        await store.retention.purge()
        assert held(store) == 0
        assert store.retention.problem is None
        assert await store.captures.get(right.id) is None


async def test_a_new_store_trusts_the_clock(machine: Machine) -> None:
    machine.now += 10 * YEAR
    async with machine.store() as store:
        assert store.retention.problem is None
        await store.retention.purge()
    assert query(machine.folder, "SELECT seen_at FROM clock") == [(machine.now,)]


async def test_the_time_is_remembered_by_runs_of_retention_and_at_the_end(machine: Machine) -> None:
    await machine.fill()
    machine.now += HOUR
    async with machine.store() as store:
        await store.retention.purge()
        assert query(machine.folder, "SELECT seen_at FROM clock") == [(NOW + HOUR,)]
        machine.now += HOUR
    assert query(machine.folder, "SELECT seen_at FROM clock") == [(NOW + 2 * HOUR,)]


async def test_opening_writes_nothing_about_the_time(machine: Machine) -> None:
    """A full disk keeps no store from opening."""
    await machine.fill()
    machine.now += 10 * YEAR
    async with machine.store():
        assert query(machine.folder, "SELECT problem FROM clock") == [(None,)]
