"""The JSON schemas of the local API's calls about the tunnel."""

from __future__ import annotations

from app.core.record import Record
from app.core.tunnel.tunnel import TunnelState


class TunnelStartIn(Record, frozen=True):
    """The body of `POST /tunnel/start`: the id of a program, as `GET /tunnel/programs` has it."""

    program: str


class TunnelUpdatedIn(Record, frozen=True):
    """The body of `POST /tunnel/updated`: the slug of an endpoint."""

    endpoint: str


class ProbeOut(Record, frozen=True):
    """A request of Hookline's own through the public URL: how long it took, or why it did not come back."""

    at: str
    ms: float | None
    problem: str | None


class OutdatedUrlOut(Record, frozen=True):
    """A capture URL that was copied and no longer works; the provider needs `new_url`, null while there is none."""

    endpoint: str
    url: str
    new_url: str | None
    copied_at: str


class TunnelOut(Record, frozen=True):
    """The tunnel. It is `checking` from when it has a URL until a first probe arrives through that, `up` while the last
    one arrived, else `unreachable`. `url` is its public URL in these states, and the last one while it is
    `restarting` at `restart_at`.

    `problem` says what went wrong last, and what to do; that it is unreachable, once two probes in a row have failed.
    `output` are the last lines of the program.
    """

    state: TunnelState
    program: str | None
    url: str | None
    started_at: str | None
    up_since: str | None
    restart_at: str | None
    restarts: int
    problem: str | None
    probe: ProbeOut | None
    outdated: tuple[OutdatedUrlOut, ...]
    output: tuple[str, ...]


class TunnelOptionOut(Record, frozen=True):
    """An option of a program. `value` is null if none is saved, and for a secret; `is_set` says whether there is one.
    Its text must match `pattern`, or be one of `choices`."""

    name: str
    label: str
    help: str
    required: bool
    secret: bool
    default: str
    placeholder: str
    pattern: str
    choices: tuple[str, ...]
    value: str | None
    is_set: bool


class TunnelProgramOut(Record, frozen=True):
    """A tunnel program. `path` is null if it is not installed; `install` says how to. `fixed_url`: with
    the options that are saved, its URL is the same the next time."""

    id: str
    name: str
    summary: str
    website: str
    path: str | None
    install: str
    fixed_url: bool
    warnings: tuple[str, ...]
    options: tuple[TunnelOptionOut, ...]


class TunnelProgramsOut(Record, frozen=True):
    """All programs that Hookline can run as a tunnel."""

    items: tuple[TunnelProgramOut, ...]


class TunnelUrlOut(Record, frozen=True):
    """A public URL that the tunnel had; `until` is null while it has it."""

    url: str
    program: str
    since: str
    until: str | None
