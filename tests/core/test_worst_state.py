"""Of several states the worst wins."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from app.core.model import DeliveryState, StorageUse
from app.core.target import PausedBy, Target
from app.core.tunnel.tunnel import Probe, Tunnel, TunnelState
from app.core.worst_state import State, delivery_state, endpoint_state, tunnel_state, worst
from tests import factories

TARGET = factories.target("http://127.0.0.1:9/")
PAUSED = replace(TARGET, paused=PausedBy.FAILURES)
OFF = replace(PAUSED, active=False)
ROOM = StorageUse(used=1, limit=2, when_full="stop_capturing", reached=False)
FULL = replace(ROOM, reached=True)
FAILED_PROBE = Probe(at=1, ms=None, problem="Nothing came back.")


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
    assert endpoint_state(targets, last, use, tunnel) is shown


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
