"""The benchmark of deliveries runs, and its numbers mean what they say."""

from __future__ import annotations

import json

import pytest

from benchmarks.deliveries import main

pytestmark = pytest.mark.long


def test_it_measures_every_sender_once(capsys):
    assert main(["--rounds", "1", "--share", "0.02", "--seconds", "0.3", "--json"]) in (0, 1)  # a bar may be missed
    lines = {line["name"]: line["value"] for line in json.loads(capsys.readouterr().out)}
    for order in ("in order", "1 in parallel", "8 in parallel"):
        rates = {name: lines[f"{name}, {order}"] for name in ("aiohttp", "httpx", "Hookline")}
        assert min(rates.values()) > 0
        better = max(rates["aiohttp"], rates["httpx"])
        assert round(lines[f"  of the better loop, {order}"], 6) == round(rates["Hookline"] / better, 6)
    assert lines["captures at 300/s, forwarding on: p99"] > 0
