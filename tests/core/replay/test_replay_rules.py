"""What a replay may be asked to do."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from app.core.delivery import RequestEdit
from app.core.replay import (
    ChosenRequests,
    Faults,
    FixedRate,
    MatchingRequests,
    OneUrl,
    OriginalGaps,
    OtherEndpoint,
    ReplayProgress,
    ReplaySpec,
    received_until,
    replay_errors,
)

OWN = ("http://127.0.0.1:8787/catch/",)
ONE = ChosenRequests(ids=("a",))


def spec(**fields: Any) -> ReplaySpec:
    return ReplaySpec(**{"source": ONE, **fields})


@pytest.mark.parametrize(
    "allowed",
    [
        spec(),
        spec(source=MatchingRequests(endpoint_id=1, query="status:500", received_after=1, received_before=2)),
        spec(destination=OneUrl(url="http://127.0.0.1:3000/hooks")),
        spec(destination=OtherEndpoint(slug="shop")),
        spec(pace=FixedRate(per_second=0.1)),
        spec(pace=OriginalGaps(scale=0, longest_gap_ms=0)),
        spec(concurrency=64, times=100_000, seed=2**63 - 1),
        spec(faults=Faults(duplicate=1, swap=1, drop=1, delay=1, cut_off=1)),
        spec(edit=RequestEdit(method="PURGE", url="https://example.org/", headers=(("X-Length", "5"),), body=b"x")),
    ],
)
def test_a_valid_replay_breaks_no_rule_and_can_be_stored(allowed: ReplaySpec) -> None:
    assert replay_errors(allowed, OWN) == []
    assert msgspec.json.decode(msgspec.json.encode(allowed), type=ReplaySpec) == allowed


@pytest.mark.parametrize(
    ("refused", "field", "part"),
    [
        (spec(source=ChosenRequests(ids=())), "source.ids", "at least one"),
        (spec(source=MatchingRequests(received_after=2, received_before=2)), "source.received_before", "end after"),
        (spec(destination=OneUrl(url="ftp://x")), "destination.url", "http://"),
        (spec(destination=OneUrl(url="http://127.0.0.1:8787/catch/x")), "destination.url", "loop forever"),
        (spec(destination=OtherEndpoint(slug="no")), "destination.slug", "3 to 64"),
        (spec(pace=FixedRate(per_second=0)), "pace.per_second", "10,000"),
        (spec(pace=FixedRate(per_second=float("nan"))), "pace.per_second", "nan"),
        (spec(pace=OriginalGaps(scale=-1)), "pace.scale", "not -1"),
        (spec(pace=OriginalGaps(longest_gap_ms=-1)), "pace.longest_gap_ms", "not -1"),
        (spec(concurrency=65), "concurrency", "1 to 64, not 65"),
        (spec(times=0), "times", "1 to 100,000, not 0"),
        (spec(seed=-1), "seed", "not -1"),
        (spec(faults=Faults(drop=1.5)), "faults.drop", "0 to 1, not 1.5"),
        (spec(faults=Faults(delay_max_ms=700_000)), "faults.delay_max_ms", "700,000"),
        (spec(source=ChosenRequests(ids=("a", "b")), edit=RequestEdit(method="PUT")), "edit", "single request"),
        (spec(edit=RequestEdit(method="P T")), "edit.method", "'P T'"),
        (spec(edit=RequestEdit(url="http://user@host/")), "edit.url", "user name"),
        (spec(edit=RequestEdit(headers=(("a b", "c"),))), "edit.headers", "not a header name"),
    ],
)
def test_a_broken_rule_names_its_field(refused: ReplaySpec, field: str, part: str) -> None:
    errors = replay_errors(refused, OWN)
    assert [error.field for error in errors] == [field]
    assert part in errors[0].message


def test_a_duplicate_is_no_progress() -> None:
    assert ReplayProgress(total=10, sent=7, duplicated=2, dropped=1).done == 6


def test_a_repeat_sends_nothing_that_came_after_the_first_start() -> None:
    chosen = ChosenRequests(ids=("a",))
    assert received_until(chosen, 5) is chosen
    assert received_until(MatchingRequests(query="x"), 5) == MatchingRequests(query="x", received_before=5)
    assert received_until(MatchingRequests(received_before=3), 5) == MatchingRequests(received_before=3)
