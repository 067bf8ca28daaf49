"""The local API's JSON objects about the tunnel, as far as commands read them."""

from __future__ import annotations

from typing import TypedDict


class ProbeView(TypedDict):
    """A probe through the public URL; `ms` is None if it did not come back."""

    at: str
    ms: float | None
    problem: str | None


class OutdatedUrlView(TypedDict):
    """A copied capture URL that no longer works."""

    endpoint: str
    url: str
    new_url: str | None
    copied_at: str


class TunnelView(TypedDict):
    """The tunnel."""

    state: str
    program: str | None
    url: str | None
    started_at: str | None
    up_since: str | None
    restart_at: str | None
    restarts: int
    problem: str | None
    probe: ProbeView | None
    outdated: list[OutdatedUrlView]
    output: list[str]


def reason_of(tunnel: TunnelView) -> str:
    """Why it is not up, "" if that is not known."""
    probed = tunnel["probe"]["problem"] if tunnel["probe"] is not None else None
    return tunnel["problem"] or probed or ""


class TunnelOptionView(TypedDict):
    """An option of a program; `value` is None for a secret."""

    name: str
    label: str
    help: str
    required: bool
    secret: bool
    default: str
    value: str | None
    is_set: bool


class TunnelProgramView(TypedDict):
    """A tunnel program; `path` is None if it is not installed."""

    id: str
    name: str
    summary: str
    website: str
    path: str | None
    install: str
    fixed_url: bool
    warnings: list[str]
    options: list[TunnelOptionView]


class TunnelUrlView(TypedDict):
    """A public URL that the tunnel had."""

    url: str
    program: str
    since: str
    until: str | None
