"""The tunnel, how it is doing, and the URLs it had."""

from __future__ import annotations

from enum import StrEnum

from app.core.record import Record

URLS_KEPT = 1_000
"""The newest that the tunnel had."""


class TunnelState(StrEnum):
    """What the tunnel does now.

    STARTING: its program runs and has no public URL yet. CHECKING: it has one, through which nothing has arrived yet.
    UP: the last probe arrived. UNREACHABLE: it did not. RESTARTING: the program ended by itself and is started again
    at `restart_at`. FAILED: it does not start again by itself. STOPPING: its program is being ended.
    """

    OFF = "off"
    STARTING = "starting"
    CHECKING = "checking"
    UP = "up"
    UNREACHABLE = "unreachable"
    RESTARTING = "restarting"
    FAILED = "failed"
    STOPPING = "stopping"


CONNECTED = frozenset({TunnelState.CHECKING, TunnelState.UP, TunnelState.UNREACHABLE})
"""Its program works, as far as it says, and it has a public URL."""
DOWN = frozenset({TunnelState.UNREACHABLE, TunnelState.RESTARTING, TunnelState.FAILED})
"""It should be up, and is not."""


class Probe(Record, frozen=True):
    """A request of Hookline's own through the public URL. `ms` is how long it took, None if it did not come back;
    `problem` then says why, in a sentence."""

    at: int
    ms: float | None
    problem: str | None = None


class OutdatedUrl(Record, frozen=True):
    """A capture URL that was copied and no longer works, because the tunnel's URL changed: the provider that has it
    must be given the new one."""

    endpoint_id: int
    url: str
    copied_at: int


class TunnelCopy(Record, frozen=True):
    """When an endpoint's capture URL was last copied under the public URL `base`."""

    endpoint_id: int
    base: str
    copied_at: int


class TunnelUrl(Record, frozen=True):
    """A public base URL that a tunnel had, such as `https://a-b.example.com`. `until` is None while it has it."""

    url: str
    program: str
    since: int
    until: int | None = None


class Tunnel(Record, frozen=True):
    """The one tunnel of this program. Times are microseconds.

    `program` is the catalogue's id, None before the first start. `url` is the public base URL while it is CONNECTED,
    and the last one while it is RESTARTING or STARTING again. `problem` says what went wrong last, and what to do,
    until it is CONNECTED again; while UNREACHABLE it is what a second probe in a row found. `probe` is the last one,
    None before the first. `output` are the last lines of the program, newest last, without control characters and
    secrets.
    """

    state: TunnelState = TunnelState.OFF
    program: str | None = None
    url: str | None = None
    started_at: int | None = None
    up_since: int | None = None
    restart_at: int | None = None
    restarts: int = 0
    problem: str | None = None
    probe: Probe | None = None
    outdated: tuple[OutdatedUrl, ...] = ()
    output: tuple[str, ...] = ()

    @property
    def reason(self) -> str | None:
        """Why it is not up, as far as is known."""
        return self.problem or (self.probe.problem if self.probe is not None and self.state in CONNECTED else None)

    @property
    def sentence(self) -> str:
        """`Tunnel: unreachable. a-b.example.com responds with 502.`"""
        return f"Tunnel: {self.state}." + (f" {self.reason}" if self.reason else "")


def connected_state(probe: Probe | None, *, new: bool) -> TunnelState:
    """The state of a tunnel that has a URL, after its last probe. `new`: the URL may still need time until it works."""
    if probe is not None and probe.problem is None:
        return TunnelState.UP
    return TunnelState.CHECKING if probe is None or new else TunnelState.UNREACHABLE


def url_mark(state: str | None) -> str:
    """What to show beside a capture URL that begins with the URL of a tunnel in this `state`, such as `tunnel:
    unreachable`; "" if it works, or begins with another (None)."""
    return "" if state in (None, TunnelState.UP) else f"tunnel: {state}"


def marked_url(url: str, state: str | None) -> str:
    """`https://a-b.example.com (tunnel: unreachable)`."""
    mark = url_mark(state)
    return f"{url} ({mark})" if mark else url
