"""Which sends a replay makes, when, and with which faults."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.replay import (
    BackToBack,
    ChosenRequests,
    Faults,
    FixedRate,
    OriginalGaps,
    PlannedSend,
    ReplaySpec,
    plan,
)

START = 1_800_000_000_000_000
MANY = 20_000


def spec(**fields: Any) -> ReplaySpec:
    return ReplaySpec(**{"source": ChosenRequests(ids=("a",)), **fields})


def captures(count: int, gap_us: int = 1_000) -> list[tuple[str, int]]:
    return [(f"capture-{number}", START + number * gap_us) for number in range(count)]


probabilities = st.floats(0, 1)
any_faults = st.builds(
    Faults,
    duplicate=probabilities,
    swap=probabilities,
    drop=probabilities,
    delay=probabilities,
    delay_max_ms=st.integers(0, 5_000),
    cut_off=probabilities,
)
any_pace = st.one_of(
    st.builds(BackToBack),
    st.builds(FixedRate, per_second=st.floats(0.01, 10_000)),
    st.builds(OriginalGaps, scale=st.floats(0, 1_000), longest_gap_ms=st.one_of(st.none(), st.integers(0, 86_400_000))),
)
any_spec = st.builds(spec, faults=any_faults, pace=any_pace, times=st.integers(1, 3), seed=st.integers(0, 2**63 - 1))
any_source = st.lists(st.integers(0, 10**12), max_size=40).map(
    lambda times: [(f"capture-{number}", at) for number, at in enumerate(sorted(times))]
)


@given(any_source, any_spec)
def test_the_same_seed_gives_the_same_sequence_however_it_is_read(
    source: list[tuple[str, int]], wanted: ReplaySpec
) -> None:
    whole = list(plan(source, wanted))
    pages = (source[at : at + 3] for at in range(0, len(source), 3))
    assert list(plan(chain.from_iterable(pages), wanted)) == whole
    assert list(plan(iter(source), wanted)) == whole


@given(any_source, any_spec, st.integers(0, 40))
def test_what_is_left_of_a_replay_has_the_same_faults(
    source: list[tuple[str, int]], wanted: ReplaySpec, done: int
) -> None:
    def faults(some: list[tuple[str, int]]) -> dict[tuple[str, int, bool], tuple[bool, int, float | None]]:
        sends = plan(some, wanted)
        return {(one.capture_id, one.copy, one.duplicate): (one.dropped, one.delay_ms, one.cut_off) for one in sends}

    left = faults(source[done:])
    assert left == {key: of_whole for key, of_whole in faults(source).items() if key in left}


@given(any_source, any_spec)
def test_every_copy_is_sent_or_dropped_and_nothing_else(source: list[tuple[str, int]], wanted: ReplaySpec) -> None:
    sends = list(plan(source, wanted))
    firsts = [send for send in sends if not send.duplicate]
    assert sorted((send.capture_id, send.copy) for send in firsts) == sorted(
        (capture_id, copy + 1) for capture_id, _ in source for copy in range(wanted.times)
    )
    assert [send.position for send in firsts] == list(range(len(firsts)))
    assert all(before.at_us <= after.at_us for before, after in pairwise(sends))
    assert all(0 <= send.delay_ms <= wanted.faults.delay_max_ms for send in sends)
    assert all(send.cut_off is None or 0 <= send.cut_off < 1 for send in sends)
    for before, after in pairwise(sends):
        if after.duplicate:
            assert not before.dropped
            assert after == before._replace(duplicate=True, delay_ms=0, cut_off=None)


@given(any_source, st.integers(1, 3), any_pace)
def test_without_faults_requests_keep_their_order(
    source: list[tuple[str, int]], times: int, pace: BackToBack | FixedRate | OriginalGaps
) -> None:
    sends = list(plan(source, spec(times=times, pace=pace)))
    assert [send.capture_id for send in sends] == [capture_id for capture_id, _ in source for _ in range(times)]
    assert {send[4:] for send in sends} <= {PlannedSend(0, "", 1, 0)[4:]}


def test_the_sequence_of_a_seed_never_changes() -> None:
    """As recorded: a stored seed has to give the same faults in every later version, and on every Python."""
    faults = Faults(duplicate=0.3, swap=0.3, drop=0.2, delay=0.3, delay_max_ms=100, cut_off=0.2)
    sends = list(plan(captures(8), spec(faults=faults, seed=7)))
    assert [describe(send) for send in sends] == RECORDED


RECORDED = [
    "capture-0",
    "capture-0 duplicate",
    "capture-1",
    "capture-2",
    "capture-2 duplicate",
    "capture-3 +28 cut 0.661",
    "capture-5 swapped",
    "capture-4 dropped swapped",
    "capture-6 +21",
    "capture-7",
]


def describe(send: PlannedSend) -> str:
    marks = [name for name in ("dropped", "duplicate", "swapped") if getattr(send, name)]
    late = [f"+{send.delay_ms}"] if send.delay_ms else []
    return " ".join(
        [send.capture_id, *marks, *late, *([f"cut {send.cut_off:.3f}"] if send.cut_off is not None else [])]
    )


def rates(faults: Faults, seed: int = 1) -> Counter[str]:
    counts: Counter[str] = Counter()
    for send in plan(captures(MANY), spec(faults=faults, seed=seed)):
        counts["sent"] += not send.dropped
        counts["dropped"] += send.dropped
        counts["duplicate"] += send.duplicate
        counts["delayed"] += bool(send.delay_ms)
        counts["cut off"] += send.cut_off is not None
        counts["swapped"] += send.swapped and not send.duplicate
    return counts


@pytest.mark.slow
def test_faults_are_as_frequent_as_wanted() -> None:
    # Five standard deviations of 20,000 draws at 0.3 are 0.016.
    counts = rates(Faults(drop=0.3))
    assert abs(counts["dropped"] / MANY - 0.3) < 0.02
    assert counts["sent"] + counts["dropped"] == MANY
    counts = rates(Faults(duplicate=0.3, delay=0.1, cut_off=0.05))
    assert abs(counts["duplicate"] / MANY - 0.3) < 0.02
    assert abs(counts["delayed"] / MANY - 0.1) < 0.015
    assert abs(counts["cut off"] / MANY - 0.05) < 0.01
    assert counts["sent"] == MANY + counts["duplicate"]


def test_of_those_not_yet_swapped_as_many_are_swapped_as_wanted() -> None:
    pairs = rates(Faults(swap=0.2))["swapped"] / 2
    assert abs(pairs / (MANY - pairs) - 0.2) < 0.02


def test_faults_are_independent_of_one_another() -> None:
    both = sum(
        send.cut_off is not None and bool(send.delay_ms)
        for send in plan(captures(MANY), spec(faults=Faults(delay=0.5, cut_off=0.5)))
    )
    assert abs(both / MANY - 0.25) < 0.02


def test_different_seeds_and_copies_have_different_faults() -> None:
    def dropped(**fields: Any) -> list[bool]:
        return [send.dropped for send in plan(captures(200), spec(faults=Faults(drop=0.5), **fields))]

    assert dropped(seed=1) != dropped(seed=2)
    copies = dropped(times=2)
    assert copies[::2] != copies[1::2]


def test_a_certain_fault_always_happens_and_an_impossible_one_never() -> None:
    sends = list(plan(captures(5), spec(faults=Faults(swap=1.0))))
    assert [send.capture_id[-1] for send in sends] == ["1", "0", "3", "2", "4"]
    assert [send.swapped for send in sends] == [True] * 4 + [False]
    assert all(send.dropped for send in plan(captures(500), spec(faults=Faults(drop=1.0))))


def test_swapped_requests_exchange_places_and_times() -> None:
    sends = list(plan(captures(4), spec(faults=Faults(swap=1.0), pace=OriginalGaps())))
    assert [(send.capture_id[-1], send.at_us) for send in sends] == [("1", 0), ("0", 1_000), ("3", 2_000), ("2", 3_000)]


@given(any_source, st.floats(0, 1_000))
def test_original_gaps_are_exact_from_the_start(source: list[tuple[str, int]], scale: float) -> None:
    sends = plan(source, spec(pace=OriginalGaps(scale=scale)))
    for (_, received_at), send in zip(source, sends, strict=True):
        assert send.at_us == round((received_at - source[0][1]) * scale)


def test_scaled_gaps_do_not_drift() -> None:
    *_, last = plan(captures(100_001, gap_us=1), spec(pace=OriginalGaps(scale=1 / 3)))
    assert last.at_us == round(100_000 / 3)


def test_a_long_gap_is_shortened_for_all_that_follow() -> None:
    times = [0, 1_000, 3_601_001_000, 3_601_003_000, 3_603_004_000]
    source = [(str(number), START + at) for number, at in enumerate(times)]
    shortened = plan(source, spec(pace=OriginalGaps(longest_gap_ms=2_000)))
    assert [send.at_us for send in shortened] == [0, 1_000, 2_001_000, 2_003_000, 4_003_000]
    # The limit is on the gap as it is replayed.
    slow = plan(source[:2], spec(pace=OriginalGaps(scale=1_000, longest_gap_ms=200)))
    assert [send.at_us for send in slow] == [0, 200_000]


def test_a_clock_that_went_back_costs_no_order() -> None:
    source = [("a", START), ("b", START - 5_000), ("c", START + 7_000), ("d", START + 1_000), ("e", START + 8_000)]
    assert [send.at_us for send in plan(source, spec(pace=OriginalGaps()))] == [0, 0, 7_000, 7_000, 8_000]


def test_a_rate_is_kept_from_the_start() -> None:
    sends = list(plan(captures(3_001), spec(pace=FixedRate(per_second=3), times=1)))
    assert [send.at_us for send in sends[:4]] == [0, 333_333, 666_667, 1_000_000]
    assert sends[-1].at_us == 1_000_000_000


def test_captures_are_read_as_they_are_needed() -> None:
    read = 0

    def source() -> Iterator[tuple[str, int]]:
        nonlocal read
        for read, capture in enumerate(captures(50), 1):  # noqa: B007 - the test reads it
            yield capture

    sends = plan(source(), spec(faults=Faults(swap=1.0), times=1))
    assert len(list(islice(sends, 10))) == 10
    assert read <= 11


@pytest.mark.slow
def test_thousands_of_captures_take_no_more_memory_than_a_few() -> None:
    wanted = spec(faults=Faults(duplicate=0.1, swap=0.1), pace=OriginalGaps(longest_gap_ms=5))

    def run(count: int) -> None:
        for _ in plan(((f"capture-{number}", START + number) for number in range(count)), wanted):
            pass

    run(10_000)  # fills the interpreter's lists of free tuples
    tracemalloc.start()
    try:
        run(10_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * 1024
