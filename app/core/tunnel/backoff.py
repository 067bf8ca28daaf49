"""How long to wait before a tunnel program is started again."""

from __future__ import annotations

FIRST_S, LONGEST_S = 1.0, 60.0
STEADY_S = 60.0
"""A tunnel that worked this long begins again with the first wait."""


def restart_delay_s(failures: int) -> float:
    """1, 2, 4, … 60 s after that many failures in a row."""
    doublings = min(max(failures, 1) - 1, 10)
    return min(LONGEST_S, FIRST_S * (1 << doublings))
