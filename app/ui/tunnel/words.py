"""The tunnel's state in words, and by icon and colour: never by colour alone."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from app.core.bodies.escape import escape
from app.core.text import ago, clock_time, count_of, day_text, span_text
from app.core.tunnel import CONNECTED, Probe, Tunnel, TunnelState
from app.core.tunnel_program import FoundProgram
from app.core.worst_state import tunnel_state
from app.ui.state_look import LOOKS

RUNNING = CONNECTED | {TunnelState.STARTING, TunnelState.RESTARTING}
"""Its program runs, or is about to run again."""
_PASSING = frozenset({TunnelState.STARTING, TunnelState.CHECKING, TunnelState.STOPPING})
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)|(?<=s)'(?= [a-z])")
_TIMES = {1: "once", 2: "twice"}


def mark_of(tunnel: Tunnel) -> tuple[str, str]:
    """The icon and its colour token."""
    if tunnel.state in _PASSING:
        return "starting", "text_muted" if tunnel.state is TunnelState.STOPPING else "accent_text"
    look = LOOKS.get(tunnel_state(tunnel))
    if look is None:
        return "off", "text_muted"
    return "retry" if tunnel.state is TunnelState.RESTARTING else look.icon, look.colour


def is_usable(found: FoundProgram) -> bool:
    """Whether it is installed; the user's own command need not be."""
    return found.path is not None or not found.program.executables


def shown(text: str) -> str:
    """A text of the catalogue or the engine, which the command line has too, as the window writes it."""
    return _APOSTROPHE.sub("’", "\n".join(map(escape, text.split("\n"))))


def short_text(tunnel: Tunnel, now_us: int) -> str:
    """For the sidebar: `Tunnel: off`, `a-b.example.com`, `Restarting in 8 s`, which fits beside its icon."""
    if tunnel.state is TunnelState.UP:
        return host_of(tunnel.url or "")
    if tunnel.state is TunnelState.RESTARTING:
        return f"Restarting {_in_seconds(tunnel.restart_at, now_us)}"
    return f"Tunnel: {tunnel.state}{'…' if tunnel.state in _PASSING else ''}"


def sentence(tunnel: Tunnel) -> str:
    """For screen readers and the tooltip of `short_text`; it does not count down."""
    text = f"Tunnel: {tunnel.state}"
    if tunnel.state in CONNECTED and tunnel.url is not None:
        text += f", {escape(tunnel.url)}"
    return f"{text}. {shown(tunnel.reason)}" if tunnel.reason else text


def title_of(tunnel: Tunnel, program: str, now_us: int) -> str:
    """The heading of the page's first card."""
    if tunnel.state is TunnelState.RESTARTING:
        return f"The tunnel ended. Restarting {_in_seconds(tunnel.restart_at, now_us)}"
    return {
        TunnelState.OFF: "The tunnel is off",
        TunnelState.STARTING: f"Starting {program}…",
        TunnelState.CHECKING: "Checking the tunnel…",
        TunnelState.UP: "The tunnel is up",
        TunnelState.UNREACHABLE: "The tunnel is unreachable",
        TunnelState.FAILED: "The tunnel failed",
        TunnelState.STOPPING: f"Stopping {program}…",
    }[tunnel.state]


def facts_of(tunnel: Tunnel, program: str, now_us: int) -> str:
    """`ngrok · up for 5 minutes, since 14:02 · restarted twice`."""
    named = tunnel.state in (*CONNECTED, TunnelState.RESTARTING, TunnelState.FAILED)
    facts = [program] if named else []
    if tunnel.state is TunnelState.UP and tunnel.up_since is not None:
        since = moment(tunnel.up_since, now_us).replace("Yesterday", "yesterday")
        facts.append(f"up for {span_text(now_us - tunnel.up_since)}, since {since}")
    if tunnel.state is TunnelState.STARTING and tunnel.started_at is not None:
        waited = max(0, now_us - tunnel.started_at) // 1_000_000
        facts.append(f"Waiting for its URL · {waited} s")
    if tunnel.restarts and tunnel.state in RUNNING:
        facts.append(f"restarted {_TIMES.get(tunnel.restarts, count_of(tunnel.restarts, 'time'))}")
    return " · ".join(facts)


def probe_text(probe: Probe | None, now_us: int) -> str:
    """`Checked 12 s ago: reached in 84 ms`."""
    if probe is None:
        return "Not checked yet"
    result = f"reached in {probe.ms:,.0f} ms" if probe.ms is not None and not probe.problem else "not reached"
    return f"Checked {ago(probe.at, now_us)}: {result}"


def probed_text(probe: Probe) -> str:
    """What a check has just found."""
    if probe.problem:
        return shown(probe.problem)
    return f"The tunnel works: a request through it took {probe.ms or 0:,.0f} ms."


def moment(at_us: int, now_us: int) -> str:
    """`14:02`, `Yesterday 23:59`, `12 Nov 02:04`."""
    day = day_text(at_us, now_us)
    clock = clock_time(at_us)[:5]
    return clock if day == "Today" else f"{day} {clock}"


def host_of(url: str) -> str:
    """`a-b.example.com`, with the port if there is one."""
    return escape(urlsplit(url).netloc or url)


def _in_seconds(at_us: int | None, now_us: int) -> str:
    seconds = -(-(at_us - now_us) // 1_000_000) if at_us is not None else 0
    if seconds <= 0:
        return "now"
    return f"in {seconds} s" if seconds < 120 else f"in {seconds // 60} min"
