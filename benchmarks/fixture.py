"""`python -m benchmarks.fixture`: the fixture `hookline` side by side with `httpserver` of pytest-httpserver.

The same tests run with both, in turn, round after round: in one process, and on four workers of pytest-xdist. Each
sends one request and asserts what came. Then one test sends thousands of requests from several threads and finds each.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.lines import Line, exit_status
from benchmarks.programs import ROOT, BenchError, fresh_folder
from hookline.instance import Instance

TESTS, REQUESTS, ROUNDS, WORKERS = 200, 10_000, 5, 4
RATIO, START_MS = 1.5, 300.0
LIMIT_S = 600.0
OTHERS = "pytest-qt", "schemathesis", "hypothesispytest", "asyncio", "timeout"
"""Plugins of this environment that neither needs."""
PLUGINS = {"hookline": "hookline", "pytest-httpserver": "pytest_httpserver"}
"""By project; a project has one of the two."""

SEND = """
import json
import urllib.request

import pytest


def send(url, number):
    body = json.dumps({{"order": {{"id": number}}}}).encode()
    request = urllib.request.Request(url, body, {{"Content-Type": "application/json"}})
    urllib.request.urlopen(request, timeout=60).close()


@pytest.mark.parametrize("number", range({tests}))
"""
PROJECTS = {
    "hookline": """
def test_it(hookline, number):
    endpoint = hookline.endpoint()
    send(f"{endpoint.url}/orders", number)
    request = endpoint.wait_for(method="POST", path="/orders")
    assert request.json()["order"]["id"] == number
""",
    "pytest-httpserver": """
def test_it(httpserver, number):
    httpserver.expect_request("/orders", method="POST").respond_with_data("")
    send(httpserver.url_for("/orders"), number)
    ((request, _),) = httpserver.log
    assert request.json["order"]["id"] == number
""",
}
MANY = """
import http.client
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

SENDERS = 4


def test_none_is_missed(hookline):
    endpoint = hookline.endpoint()
    parts = urlsplit(endpoint.url)

    def send(first):
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        for number in range(first, {requests}, SENDERS):
            connection.request("POST", f"{{parts.path}}/{{number}}", str(number))
            response = connection.getresponse()
            assert response.status == 200
            response.read()
        connection.close()

    with ThreadPoolExecutor(SENDERS) as pool:
        sending = [pool.submit(send, first) for first in range(SENDERS)]
        requests = endpoint.wait_for(count={requests}, timeout=600)
        for one in sending:
            one.result()
    assert {{int(request.body) for request in requests}} == set(range({requests}))
    endpoint.assert_none(after=requests[-1])
"""


def measure_tests(folder: Path, tests: int, rounds: int) -> list[Line]:
    """Medians of the rounds, and of the ratios of each."""
    for name, test in PROJECTS.items():
        (folder / name).mkdir()
        (folder / name / "test_it.py").write_text(SEND.format(tests=tests) + test, "utf-8")
    lines = []
    for workers in (0, WORKERS):
        taken: dict[str, list[float]] = {name: [] for name in PROJECTS}
        for number in range(rounds + 1):
            for name in PROJECTS:
                absent = [plugin for project, plugin in PLUGINS.items() if project != name]
                seconds = run_pytest(folder / name, workers, tests, absent)
                if number:  # the first compiles what was never loaded
                    taken[name].append(seconds)
        where = f"on {workers} workers" if workers else "in one process"
        ours, others = taken.values()
        lines += [Line(f"{tests} tests {where}, {name}", median(times), "s") for name, times in taken.items()]
        ratio = median(our / other for our, other in zip(ours, others, strict=True))
        lines.append(Line("  a multiple of its time", ratio, "x", RATIO))
    return lines


def measure_many(folder: Path, requests: int) -> list[Line]:
    (folder / "many").mkdir()
    (folder / "many" / "test_many.py").write_text(MANY.format(requests=requests), "utf-8")
    seconds = run_pytest(folder / "many", 0, 1)
    return [Line(f"{requests:,} requests sent and found, none missed", seconds, "s")]


def measure_start(rounds: int) -> list[Line]:
    """Processor time until it can be used."""
    taken = []
    for number in range(rounds + 1):
        with tempfile.TemporaryDirectory() as folder:
            instance = Instance(Path(folder))
            if number:
                taken.append(_processor_ms(instance.client.status().pid))
            instance.stop()
    return [Line("start of the fixture's Hookline, processor time", median(taken), "ms", START_MS)]


def _processor_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def run_pytest(folder: Path, workers: int, tests: int, absent: Sequence[str] = ()) -> float:
    """Seconds that pytest takes for the tests in `folder`, without the plugins `absent`; BenchError unless they all
    pass."""
    others = [word for name in (*OTHERS, *absent) for word in ("-p", f"no:{name}")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *others]
    command += ["-n", str(workers)] if workers else ["-p", "no:xdist"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    began = time.monotonic()
    done = subprocess.run(
        [*command, f"--basetemp={folder / 'temporary'}", "."],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    seconds = time.monotonic() - began
    if not re.search(rf"^{tests} passed in", done.stdout, re.MULTILINE):
        raise BenchError(f"{folder.name}: {done.stdout}{done.stderr}"[-4_000:])
    return seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """1 when a bar is missed, or something broke."""
    parser = argparse.ArgumentParser(prog="benchmarks.fixture", description=__doc__)
    parser.add_argument("--tests", type=int, default=TESTS)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args(arguments)
    try:
        with fresh_folder("hookline-fixture-") as folder:
            lines = measure_start(options.rounds)
            lines += measure_tests(folder, options.tests, options.rounds)
            lines += measure_many(folder, options.requests)
    except BenchError as error:
        print(f"benchmarks.fixture: {error}", file=sys.stderr)
        return 1
    print("\n".join(map(str, lines)))
    return exit_status(lines)


if __name__ == "__main__":
    sys.exit(main())
