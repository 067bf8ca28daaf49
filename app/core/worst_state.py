"""The one rule for how an endpoint, a target, a request or the tunnel stands: of several states the worst wins."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from app.core.model import DeliveryState, Endpoint, StorageUse
from app.core.replay import Replay, ReplayState, TargetProgress
from app.core.target import Target
from app.core.tunnel import DOWN, Tunnel, TunnelState


class State(StrEnum):
    """The worst first. OK: delivered, or up. NONE: nothing is forwarded, or it is off."""

    PAUSED = "paused"
    FAILED = "failed"
    NOT_SENT = "not sent"
    NOT_REACHED = "not reached"
    FULL = "full"
    DAMAGED = "damaged"
    WAITING = "waiting"
    OK = "ok"
    NONE = "none"


_WORST_FIRST = tuple(State)
GOOD = (State.OK, State.NONE)
_TO_BE_SENT = (State.PAUSED, State.WAITING)
_OF_DELIVERY = {
    DeliveryState.FAILED: State.FAILED,
    DeliveryState.NOT_SENT: State.NOT_SENT,
    DeliveryState.QUEUED: State.WAITING,
    DeliveryState.DELIVERED: State.OK,
    DeliveryState.NONE: State.NONE,
}


_OF_REPLAY = {
    ReplayState.QUEUED: State.WAITING,
    ReplayState.RUNNING: State.WAITING,
    ReplayState.PAUSED: State.PAUSED,
    ReplayState.INTERRUPTED: State.PAUSED,
    ReplayState.DONE: State.OK,
    ReplayState.CANCELLED: State.NOT_SENT,
}


def worst(states: Iterable[State]) -> State:
    return min(states, key=_WORST_FIRST.index, default=State.NONE)


def target_state(*, active: bool, paused: bool, failures: int) -> State:
    """`failures` counts the deliveries to it that failed in a row."""
    if not active:
        return State.NONE
    return State.PAUSED if paused else State.FAILED if failures else State.OK


def delivery_state(state: DeliveryState, targets: Iterable[Target | None]) -> State:
    """Of a delivery to one of `targets`, or of a request whose worst delivery is in `state`: what waits for a paused
    target is paused."""
    if state is DeliveryState.QUEUED and any(one is not None and one.paused is not None for one in targets):
        return State.PAUSED
    return _OF_DELIVERY[state]


def endpoint_state(endpoint: Endpoint, last: DeliveryState, use: StorageUse, url_state: TunnelState | None) -> State:
    """`last` is how its latest delivery ended, `url_state` the tunnel's state if its URL is the tunnel's. One that
    deletes its oldest requests at its storage limit is not full: it does what it was told. For one that is
    switched off, only what is still to be sent counts."""
    states = [State.FULL] if use.capturing_stopped else []
    if url_state in DOWN:
        states.append(State.NOT_REACHED)
    active = [target for target in endpoint.targets if target.active]
    if active:
        states.append(_OF_DELIVERY[last])
        states += [State.PAUSED for target in active if target.paused is not None]
    return worst(state for state in states if endpoint.active or state in _TO_BE_SENT)


def replay_state(replay: Replay) -> State:
    """One that the end of Hookline interrupted waits as a paused one does; of a cancelled one the rest was not sent."""
    progress, states = replay.progress, [_OF_REPLAY[replay.state]]
    not_sent = sum(target.not_sent for target in progress.targets)
    if not_sent:
        states.append(State.NOT_SENT)
    if progress.failed > not_sent:
        states.append(State.FAILED)
    return worst(states)


def replay_target_state(target: TargetProgress) -> State:
    """Of what a replay has sent to one target so far."""
    counts = {State.FAILED: target.failed, State.NOT_SENT: target.not_sent, State.OK: target.delivered}
    return worst(state for state, count in counts.items() if count)


def tunnel_state(tunnel: Tunnel) -> State:
    """A tunnel whose last probe did not arrive is not reached, whatever its program says."""
    if tunnel.state is TunnelState.FAILED:
        return State.FAILED
    probe_failed = tunnel.probe is not None and tunnel.probe.problem is not None
    if tunnel.state in DOWN or (tunnel.state is TunnelState.UP and probe_failed):
        return State.NOT_REACHED
    if tunnel.state is TunnelState.UP:
        return State.OK
    return State.WAITING if tunnel.state in (TunnelState.STARTING, TunnelState.CHECKING) else State.NONE
