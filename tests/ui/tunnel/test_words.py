"""How the tunnel's state is said, at a glance and in full."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from app.core.clock import now_us
from app.core.tunnel import Probe, Tunnel, TunnelState
from app.ui.tunnel.words import facts_of, host_of, mark_of, probe_text, sentence, short_text, shown, title_of

SECOND, MINUTE, HOUR = 1_000_000, 60_000_000, 3_600_000_000
NOW = now_us()
URL = "https://a-b-c.trycloudflare.com"


def up(**fields: object) -> Tunnel:
    return Tunnel(state=TunnelState.UP, program="ngrok", url=URL, **fields)  # type: ignore[arg-type]


UNREACHABLE = replace(up(), state=TunnelState.UNREACHABLE, probe=Probe(at=NOW, ms=None, problem="It is gone."))
RESTARTING = Tunnel(state=TunnelState.RESTARTING, url=URL, restart_at=NOW + 7_400_000, restarts=1)


@pytest.mark.parametrize(
    ("tunnel", "text"),
    [
        (Tunnel(), "Tunnel: off"),
        (Tunnel(state=TunnelState.STARTING), "Tunnel: starting…"),
        (up(), "a-b-c.trycloudflare.com"),
        (replace(up(), state=TunnelState.CHECKING), "Tunnel: checking…"),
        (UNREACHABLE, "Tunnel: unreachable"),
        (RESTARTING, "Restarting in 8 s"),
        (Tunnel(state=TunnelState.RESTARTING, restart_at=NOW - 1), "Restarting now"),
        (Tunnel(state=TunnelState.RESTARTING, restart_at=NOW + 4 * MINUTE), "Restarting in 4 min"),
        (Tunnel(state=TunnelState.FAILED), "Tunnel: failed"),
        (Tunnel(state=TunnelState.STOPPING), "Tunnel: stopping…"),
    ],
)
def test_the_sidebar_says_it_in_a_few_words(tunnel: Tunnel, text: str) -> None:
    assert short_text(tunnel, NOW) == text


def test_states_differ_in_shape_not_only_in_colour() -> None:
    states = [Tunnel(), Tunnel(state=TunnelState.STARTING), up(), UNREACHABLE, RESTARTING]
    states.append(Tunnel(state=TunnelState.FAILED))
    assert len({mark_of(tunnel)[0] for tunnel in states}) == len(states)


def test_screen_readers_hear_the_url_and_the_problem_but_no_countdown() -> None:
    assert sentence(up()) == f"Tunnel: up, {URL}"
    assert sentence(UNREACHABLE) == f"Tunnel: unreachable, {URL}. It is gone."
    assert sentence(RESTARTING) == "Tunnel: restarting"


def test_the_page_says_which_program_and_since_when() -> None:
    tunnel = up(up_since=NOW - 5 * MINUTE, restarts=2)
    facts = facts_of(tunnel, "ngrok", NOW)
    assert facts.startswith("ngrok · up for 5 minutes, since ")
    assert facts.endswith("restarted twice")
    starting = Tunnel(state=TunnelState.STARTING, started_at=NOW - 3 * SECOND)
    assert facts_of(starting, "ngrok", NOW) == "Waiting for its URL · 3 s"
    assert title_of(starting, "ngrok", NOW) == "Starting ngrok…"
    assert title_of(RESTARTING, "ngrok", NOW) == "The tunnel ended. Restarting in 8 s"
    yesterday = up(up_since=NOW - 24 * 60 * MINUTE)
    assert "up for 1 day, since yesterday " in facts_of(yesterday, "ngrok", NOW)


def test_a_check_is_told_with_its_age() -> None:
    assert probe_text(None, NOW) == "Not checked yet"
    assert probe_text(Probe(at=NOW - 12 * SECOND, ms=84.4), NOW) == "Checked 12 s ago: reached in 84 ms"
    assert probe_text(Probe(at=NOW, ms=None, problem="No."), NOW) == "Checked now: not reached"
    # Somebody else's page came back in time.
    assert probe_text(Probe(at=NOW, ms=9.0, problem="No."), NOW) == "Checked now: not reached"


def test_texts_that_the_command_line_shares_get_the_apostrophes_of_the_window() -> None:
    assert shown("Hookline's port, the senders' names: 'x'.\n\x1b[1m") == (
        "Hookline’s port, the senders’ names: 'x'.\n\\x1b[1m"
    )
    assert host_of("http://bore.pub:40213/") == "bore.pub:40213"
