"""Fills a Hookline with a little of everything, and lets schemathesis loose on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

from app.core.model import EndpointDraft
from benchmarks.endpoints import add_endpoints
from benchmarks.process_stats import troubles_in
from benchmarks.programs import ROOT, BenchError, Running, running

CONFIG, HOOKS = Path(__file__).parent / "schemathesis.toml", "benchmarks.fuzz_api.hooks"
STREAM = "/events"
"""Never ends; tests/server/api/test_events.py tries it."""
SLUG, NOBODY = "orders", "http://127.0.0.1:1/"
CAPTURES, REPLAYS = 40, 5
SETTLE_S = 30.0
QUICK = ("--max-examples", "5", "--generation-deterministic", "--seed", "1")
"""Every phase, always the same way, in about ten seconds."""


def run(folder: Path, options: Sequence[str]) -> tuple[int, str]:
    """schemathesis's exit code and its report, for a Hookline in `folder`; `options` are its own."""
    data, log = folder / "data", folder / "program.log"
    add_endpoints(data, [EndpointDraft(name="Orders", slug=SLUG, forward_url=NOBODY)])
    with running(data, log, "-m", "hookline", "serve") as program:
        code, report = _schemathesis(folder, program, _fill(program), options)
        alive = program.process.poll() is None
    troubles = ([] if alive else ["Hookline has ended."]) + troubles_in(log)
    return code or len(troubles), "\n".join([report, *troubles])


def _fill(program: Running) -> dict[str, list[str]]:
    """Requests, deliveries that failed, replays and a refused request; their IDs by the segment of the path before."""
    with _client(program) as api:
        api.patch("/account", json={"plan": "pro"}).raise_for_status()
        target = {"url": NOBODY, "retry": {"retries": 0}}
        api.post(f"/endpoints/{SLUG}/targets", json=target).raise_for_status()
        with httpx.Client(base_url=program.capture_url, trust_env=False, verify=False) as sender:
            for number in range(CAPTURES):
                sender.post(f"/catch/{SLUG}/{number}", json={"number": number}).raise_for_status()
            sender.get("/nowhere")
        for _ in range(REPLAYS):
            api.post("/replays", json={"endpoint": SLUG, "url": NOBODY}).raise_for_status()
        _wait_for_replays(api)
        kinds = ("requests", "deliveries", "replays", "refused")
        ids = {kind: [str(one["id"]) for one in api.get(f"/{kind}").json()["items"]] for kind in kinds}
        targets = api.get(f"/endpoints/{SLUG}/targets").json()["items"]
    return {**ids, "endpoints": [SLUG], "targets": [str(one["id"]) for one in targets], "attempts": ["1"]}


def _wait_for_replays(api: httpx.Client) -> None:
    end = time.monotonic() + SETTLE_S
    while any(one["state"] != "done" for one in api.get("/replays").json()["items"]):
        if time.monotonic() > end:
            raise BenchError("the replays did not end")
        time.sleep(0.05)


def _client(program: Running) -> httpx.Client:
    headers = {"Authorization": f"Bearer {program.token}"}
    return httpx.Client(
        base_url=f"{program.api_url}/api/v1", headers=headers, trust_env=False, verify=False, timeout=SETTLE_S
    )


def _schemathesis(
    folder: Path, program: Running, stored: dict[str, list[str]], options: Sequence[str]
) -> tuple[int, str]:
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "--no-color"),
        *("run", f"{program.api_url}/api/v1/openapi.json", "--header", f"Authorization: Bearer {program.token}"),
        *("--exclude-path", STREAM, "--continue-on-failure", "--warnings", "off"),
        *("--suppress-health-check", "all", *options),
    ]
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SCHEMATHESIS_HOOKS": HOOKS,
        "HOOKLINE_STORED": json.dumps(stored),
        "NO_PROXY": "*",
        # Its table of characters takes a second to make; the tests' own hypothesis keeps one there too.
        "HYPOTHESIS_STORAGE_DIRECTORY": str(ROOT / ".hypothesis"),
    }
    # It keeps what it found in the current folder.
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
