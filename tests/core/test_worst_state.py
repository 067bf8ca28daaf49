"""Of several states the worst wins."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from app.core.model import DeliveryState, Endpoint, StorageUse
from app.core.replay import (
    MatchingRequests,
    Replay,
    ReplayProgress,
    ReplaySpec,
    ReplayState,
    TargetProgress,
)
from app.core.target import PausedBy, Target
from app.core.tunnel import Probe, Tunnel, TunnelState
from app.core.worst_state import (
    State,
    delivery_state,
    endpoint_state,
    replay_state,
    replay_target_state,
    tunnel_state,
    worst,
)
from tests import factories

TARGET = factories.target("http://127.0.0.1:9/")
PAUSED = replace(TARGET, paused=PausedBy.FAILURES)
OFF = replace(PAUSED, active=False)
ROOM = StorageUse(used=1, limit=2, when_full="stop_capturing", reached=False)
FULL = replace(ROOM, reached=True)
GOOD_TARGET = TargetProgress(url="http://127.0.0.1:9/", delivered=3)
BAD_TARGET = TargetProgress(url="http://127.0.0.1:9/", delivered=3, failed=1)
NO_TARGET = TargetProgress(url="", not_sent=1)
FAILED_PROBE = Probe(at=1, ms=None, problem="Nothing came back.")


def endpoint(*targets: Target) -> Endpoint:
    return Endpoint(id=1, slug="orders", name="Orders", created_at=1, targets=targets)


def test_trouble_is_worse_than_waiting_and_waiting_than_delivered() -> None:
    for wrong in set(State) - {State.WAITING, State.OK, State.NONE}:
        assert worst([State.OK, wrong, State.WAITING]) is wrong
    assert worst([State.NONE, State.OK, State.WAITING]) is State.WAITING
    assert worst([]) is State.NONE


@pytest.mark.parametrize(
    ("state", "targets", "shown"),
    [
        (DeliveryState.QUEUED, [TARGET], State.WAITING),
        (DeliveryState.QUEUED, [TARGET, PAUSED], State.PAUSED),
        (DeliveryState.QUEUED, [None], State.WAITING),
        (DeliveryState.DELIVERED, [PAUSED], State.OK),
        (DeliveryState.FAILED, [PAUSED], State.FAILED),
        (DeliveryState.NONE, [PAUSED], State.NONE),
    ],
)
def test_what_waits_for_a_paused_target_is_paused(
    state: DeliveryState, targets: list[Target | None], shown: State
) -> None:
    assert delivery_state(state, targets) is shown


@pytest.mark.parametrize(
    ("targets", "last", "use", "tunnel", "shown"),
    [
        ([], DeliveryState.NONE, ROOM, None, State.NONE),
        ([], DeliveryState.NONE, FULL, None, State.FULL),
        ([], DeliveryState.NONE, replace(FULL, when_full="delete_oldest"), None, State.NONE),
        ([], DeliveryState.NONE, ROOM, TunnelState.CHECKING, State.NONE),
        ([TARGET], DeliveryState.DELIVERED, ROOM, TunnelState.UP, State.OK),
        ([TARGET], DeliveryState.DELIVERED, FULL, TunnelState.UNREACHABLE, State.NOT_REACHED),
        ([TARGET], DeliveryState.QUEUED, FULL, None, State.FULL),
        ([TARGET], DeliveryState.FAILED, FULL, TunnelState.RESTARTING, State.FAILED),
        ([TARGET, PAUSED], DeliveryState.FAILED, FULL, None, State.PAUSED),
        ([OFF], DeliveryState.FAILED, ROOM, None, State.NONE),
    ],
)
def test_the_worst_of_an_endpoint(
    targets: list[Target], last: DeliveryState, use: StorageUse, tunnel: TunnelState | None, shown: State
) -> None:
    assert endpoint_state(endpoint(*targets), last, use, tunnel) is shown


@pytest.mark.parametrize(
    ("targets", "last", "shown"),
    [
        ([TARGET], DeliveryState.DELIVERED, State.NONE),
        ([TARGET], DeliveryState.FAILED, State.NONE),
        ([TARGET], DeliveryState.NOT_SENT, State.NONE),
        ([TARGET], DeliveryState.QUEUED, State.WAITING),
        ([TARGET, PAUSED], DeliveryState.QUEUED, State.PAUSED),
    ],
)
def test_of_an_endpoint_that_is_off_only_what_is_still_to_be_sent_counts(
    targets: list[Target], last: DeliveryState, shown: State
) -> None:
    off = replace(endpoint(*targets), active=False)
    assert endpoint_state(off, last, FULL, TunnelState.UNREACHABLE) is shown


@pytest.mark.parametrize(
    ("tunnel", "shown"),
    [
        (Tunnel(), State.NONE),
        (Tunnel(state=TunnelState.CHECKING, probe=FAILED_PROBE), State.WAITING),
        (Tunnel(state=TunnelState.UP, probe=Probe(at=1, ms=8.0)), State.OK),
        (Tunnel(state=TunnelState.UP, probe=FAILED_PROBE), State.NOT_REACHED),
        (Tunnel(state=TunnelState.UNREACHABLE), State.NOT_REACHED),
        (Tunnel(state=TunnelState.RESTARTING), State.NOT_REACHED),
        (Tunnel(state=TunnelState.FAILED), State.FAILED),
        (Tunnel(state=TunnelState.STOPPING), State.NONE),
    ],
)
def test_the_worst_of_the_tunnel(tunnel: Tunnel, shown: State) -> None:
    assert tunnel_state(tunnel) is shown


@pytest.mark.parametrize(
    ("state", "targets", "shown"),
    [
        (ReplayState.QUEUED, [], State.WAITING),
        (ReplayState.RUNNING, [GOOD_TARGET], State.WAITING),
        (ReplayState.RUNNING, [GOOD_TARGET, BAD_TARGET], State.FAILED),
        (ReplayState.PAUSED, [BAD_TARGET], State.PAUSED),
        (ReplayState.INTERRUPTED, [GOOD_TARGET], State.PAUSED),
        (ReplayState.DONE, [GOOD_TARGET], State.OK),
        (ReplayState.DONE, [GOOD_TARGET, NO_TARGET], State.NOT_SENT),
        (ReplayState.CANCELLED, [GOOD_TARGET], State.NOT_SENT),
        (ReplayState.CANCELLED, [NO_TARGET, BAD_TARGET], State.FAILED),
    ],
)
def test_a_replay_is_as_its_worst_target(state: ReplayState, targets: list[TargetProgress], shown: State) -> None:
    failed = sum(one.failed + one.not_sent for one in targets)
    progress = ReplayProgress(failed=failed, targets=tuple(targets))
    spec = ReplaySpec(source=MatchingRequests())
    assert replay_state(Replay(id="r", created_at=0, spec=spec, state=state, progress=progress)) is shown


def test_a_replay_of_before_targets_were_counted_failed_too() -> None:
    spec, progress = ReplaySpec(source=MatchingRequests()), ReplayProgress(delivered=3, failed=1)
    replay = Replay(id="r", created_at=0, spec=spec, state=ReplayState.DONE, progress=progress)
    assert replay_state(replay) is State.FAILED


def test_a_target_of_a_replay_is_as_its_worst_delivery() -> None:
    assert replay_target_state(GOOD_TARGET) is State.OK
    assert replay_target_state(replace(GOOD_TARGET, not_sent=1)) is State.NOT_SENT
    assert replay_target_state(replace(BAD_TARGET, not_sent=1)) is State.FAILED
