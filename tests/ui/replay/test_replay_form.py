"""The form of a replay of many: it asks for what was asked for before."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from PySide6.QtWidgets import QWidget

from app.core.replay import (
    BackToBack,
    Faults,
    FixedRate,
    MatchingRequests,
    OneUrl,
    OriginalGaps,
    OtherEndpoint,
    OwnTargets,
)
from app.ui.replay.replay_form import ReplayForm
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


async def test_it_asks_for_what_was_asked_for_before(desk: Desk) -> None:
    await desk.endpoint(name="Orders", slug="orders")
    over = QWidget()
    for asked in ASKED:
        form = ReplayForm(MatchingRequests(), desk.services, ("http://127.0.0.1:9/in",), desk.theme, over)
        spec = replace(form.spec(), **asked)
        form.fill(spec)
        assert form.spec() == spec
        assert not form.problems()


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
