"""The form of a replay of many: it asks for what was asked for before."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget

from app.core.replay import (
    BackToBack,
    Faults,
    FixedRate,
    MatchingRequests,
    OneUrl,
    OriginalGaps,
    OtherEndpoint,
    OwnTargets,
    ReplaySpec,
)
from app.ui.replay.replay_form import GAPS, RATE, ReplayForm
from tests.ui.desk import Desk

ASKED: list[dict[str, Any]] = [
    {"destination": OneUrl(url="http://127.0.0.1:9/in")},
    {"destination": OtherEndpoint(slug="orders")},
    {"destination": OwnTargets(target_id=7)},
    {"pace": BackToBack()},
    {"pace": FixedRate(per_second=0.5)},
    {"pace": OriginalGaps(scale=0.5, longest_gap_ms=2_500)},
    {"pace": OriginalGaps(scale=4, longest_gap_ms=None)},
    {"faults": Faults(duplicate=0.07, drop=0.29, delay=0.5, delay_max_ms=1_500)},
    {"concurrency": 4, "times": 3, "seed": 12_345, "incomplete": True},
]

SHOWN_FOR: dict[type, list[str]] = {
    OneUrl: ["destination.url"],
    OtherEndpoint: ["destination.slug"],
    FixedRate: ["pace.per_second"],
    OriginalGaps: ["pace.scale"],
    Faults: ["seed"],
}
"""The fields that are there only then."""


async def test_it_asks_for_what_was_asked_for_before(desk: Desk) -> None:
    await desk.endpoint(name="Orders", slug="orders")
    over = QWidget()
    for asked in ASKED:
        form = ReplayForm(MatchingRequests(), desk.services, ("http://127.0.0.1:9/in",), desk.theme, over)
        spec = replace(form.spec(), **asked)
        form.fill(spec)
        assert form.spec() == spec
        assert not form.problems()
        own = [
            path
            for path in ("destination.url", "destination.slug", "pace.per_second", "pace.scale", "seed")
            if form.fields[path].isVisibleTo(form)
        ]
        assert own == SHOWN_FOR.get(type(next(iter(asked.values()))), [])


async def test_only_a_replay_that_delays_some_has_a_longest_delay(desk: Desk) -> None:
    over = QWidget()
    form = ReplayForm(MatchingRequests(), desk.services, (), desk.theme, over)
    longest, seed = form.fields["faults.delay_max_ms"], form.fields["seed"]
    for fault, shown, enabled in (("drop", True, False), ("delay", True, True), ("", False, False)):
        for name in ("drop", "delay"):
            form[f"faults.{name}"].setText("5" if name == fault else "0")
        assert (longest.isVisibleTo(form), seed.isVisibleTo(form)) == (shown, shown)
        assert longest.isEnabled() == enabled


async def test_a_seed_that_was_typed_is_asked_for(desk: Desk) -> None:
    over = QWidget()
    form = ReplayForm(MatchingRequests(), desk.services, (), desk.theme, over)
    changes: list[str] = []
    form.changed.connect(changes.append)
    form["seed"].number.lineEdit().setText("77")
    assert form.spec().seed == 77
    assert "seed" in changes


async def test_what_nobody_changed_asks_for_each_request_once_and_for_no_faults(desk: Desk) -> None:
    over = QWidget()
    form = ReplayForm(MatchingRequests(), desk.services, ("http://127.0.0.1:9/in",), desk.theme, over)
    asked = form.spec()
    assert asked == ReplaySpec(source=MatchingRequests(), seed=asked.seed)
    assert "optional" not in [label.text() for label in form.findChildren(QLabel)]
    for pace, expected in ((RATE, FixedRate(per_second=10)), (GAPS, OriginalGaps(scale=1, longest_gap_ms=None))):
        form.pace.set_current(pace)
        assert form.spec().pace == expected
    assert not form.problems()


@pytest.mark.parametrize(
    ("count", "shown"), [(1, "a"), (3, "a\nb\nc"), (4, "a\nb\nand 2 more"), (5, "a\nb\nand 3 more")]
)
async def test_of_many_targets_it_names_two_and_counts_the_others(desk: Desk, count: int, shown: str) -> None:
    over = QWidget()
    form = ReplayForm(MatchingRequests(), desk.services, "abcde"[:count], desk.theme, over)
    assert shown in [label.text() for label in form.findChildren(QLabel) if label.isVisibleTo(form)]


async def test_it_names_the_endpoint_whose_requests_are_listed(desk: Desk) -> None:
    over = QWidget()
    await desk.endpoint(name="First")
    second = await desk.endpoint(name="Second, with a name that is long")
    for listed, title in (
        (MatchingRequests(endpoint_id=second.id), "All of “Second, with a name that…”"),
        (MatchingRequests(), "All requests"),
    ):
        form = ReplayForm(listed, desk.services, (), desk.theme, over)
        assert title in [one.text() for one in form.requests.findChildren(QAbstractButton)]


async def test_a_new_seed_is_drawn_at_a_click(desk: Desk) -> None:
    over = QWidget()
    form = ReplayForm(MatchingRequests(), desk.services, (), desk.theme, over)
    before = form.spec().seed
    (draw,) = (one for one in form.findChildren(QAbstractButton) if one.text() == "New seed")
    draw.click()
    assert form.spec().seed != before
