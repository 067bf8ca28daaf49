"""`python -m benchmarks.team`: what a node on a PostgreSQL store costs, and three nodes behind HAProxy, while one is
killed every ten seconds and started again.

Each request has a body of its own. In the end every one that got a 2xx must be stored once, byte for byte. Meanwhile an
endpoint is switched off and on: whatever begins after the change has returned must be answered by it, on each node.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import aiohttp
import psycopg

from benchmarks.lines import Line, exit_status
from benchmarks.load import load
from benchmarks.processor_time import microseconds
from benchmarks.programs import BenchError, Running, bare_process, fresh_folder, running
from tests.postgres import PostgresServer

NODES, SENDERS = 3, 64
SHARE_BAR = 0.35
ROUNDS, ROUND_S = 15, 0.4
KILL_EACH_S, TOGGLE_EACH_S = 10.0, 1.0
PATIENCE_S = 20.0
STORED = range(200, 300)
NO_ANSWER = (aiohttp.ClientError, asyncio.TimeoutError, OSError)

_PROXY = """\
global
    maxconn 2000
defaults
    mode http
    timeout connect 1s
    timeout client 20s
    timeout server 20s
    retries 2
    option redispatch
frontend senders
    bind 127.0.0.1:{port}
    default_backend nodes
backend nodes
    balance roundrobin
    default-server check inter 200ms fall 1 rise 1
{servers}
"""


@dataclass
class Seen:
    """What the senders saw."""

    acknowledged: dict[str, bytes] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    broken: int = 0
    wrong: list[str] = field(default_factory=list)
    """Answers to the endpoint that was switched, which belong to the other state."""


class Switch:
    """The endpoint that is switched off and on."""

    def __init__(self) -> None:
        self.on, self.settled_at = True, 0.0
        """The last state, and since when it holds for every request that begins; infinite while it changes."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_proxy(folder: Path, ports: Sequence[int]) -> tuple[subprocess.Popen[bytes], str]:
    """HAProxy in front of the nodes; its URL."""
    program = shutil.which("haproxy") or "/usr/sbin/haproxy"
    if not Path(program).exists():
        raise BenchError("haproxy is not installed")
    port = free_port()
    servers = "\n".join(f"    server node{number} 127.0.0.1:{at}" for number, at in enumerate(ports))
    config = folder / "haproxy.cfg"
    config.write_text(_PROXY.format(port=port, servers=servers))
    with (folder / "haproxy.log").open("wb") as log:
        process = subprocess.Popen([program, "-db", "-f", str(config)], stdout=log, stderr=log)
    return process, f"http://127.0.0.1:{port}"


class Nodes:
    """The nodes, each on a port of its own that it keeps."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder, self._stack = folder, [ExitStack() for _ in range(NODES)]
        os.environ["HOOKLINE_STORE"] = address
        self.ports = [free_port() for _ in range(NODES)]
        self.running: list[Running | None] = [None] * NODES

    def start(self, number: int) -> None:
        data = self._folder / f"node{number}"
        data.mkdir(exist_ok=True)
        (data / "runtime.json").unlink(missing_ok=True)
        log = self._folder / f"node{number}.log"
        program = running(data, log, "-m", "hookline", "serve", port=self.ports[number])
        self.running[number] = self._stack[number].enter_context(program)

    def kill(self, number: int) -> None:
        node, self.running[number] = self.running[number], None
        assert node is not None
        node.process.send_signal(signal.SIGKILL)
        self._stack[number].close()

    def alive(self) -> list[Running]:
        return [node for node in self.running if node is not None]

    def close(self) -> None:
        for stack in self._stack:
            stack.close()


class Trial:
    """Sends through the proxy until a moment, and records what it saw."""

    def __init__(self, session: aiohttp.ClientSession, nodes: Nodes, base: str, until: float) -> None:
        self._session, self._nodes, self._base, self._until = session, nodes, base, until
        self.seen, self._switch = Seen(), Switch()
        self.kills = self.toggles = 0

    async def run(self, slugs: Sequence[str], rate: float) -> None:
        """Requests to the first endpoint at this rate, in all; the second is switched off and on."""
        senders = [self._send(slugs[0], SENDERS / rate) for _ in range(SENDERS)]
        watchers = [self._watch(slugs[1]) for _ in range(3)]
        await asyncio.gather(*senders, *watchers, self._kill(), self._toggle(slugs[1]))

    async def _send(self, slug: str, each_s: float) -> None:
        due = time.monotonic() + random.random() * each_s
        while time.monotonic() < self._until:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due = max(due + each_s, time.monotonic() - 1)
            token = os.urandom(12).hex()
            body = f'{{"token":"{token}","text":"{"é" * (int(token[:4], 16) % 400)}"}}'.encode()
            status = await self._post(slug, body)
            if status is None:
                self.seen.broken += 1
                continue
            self.seen.statuses[status] += 1
            if status in STORED:
                self.seen.acknowledged[token] = body

    async def _post(self, slug: str, body: bytes) -> int | None:
        try:
            async with self._session.post(f"{self._base}/catch/{slug}", data=body) as response:
                await response.read()
                return response.status
        except NO_ANSWER:
            return None

    async def _watch(self, slug: str) -> None:
        """Judge the answers of the endpoint that is switched: 502 to 504 are also the proxy's, while a node is down."""
        switch = self._switch
        while time.monotonic() < self._until:
            began, on = time.monotonic(), switch.on
            status = await self._post(slug, b"{}")
            settled = switch.on == on and switch.settled_at <= began
            if settled and status is not None and (status in STORED) is not on and status not in {502, 503, 504}:
                self.seen.wrong.append(f"{status} while it was {'on' if on else 'off'}")
            await asyncio.sleep(0.005)

    async def _toggle(self, slug: str) -> None:
        """Switch it through whichever node lives."""
        switch = self._switch
        while time.monotonic() < self._until:
            await asyncio.sleep(TOGGLE_EACH_S)
            switch.settled_at = float("inf")
            changed = await self._call(slug, {"active": not switch.on})
            while changed is None:
                await asyncio.sleep(0.1)
                changed = await self._call(slug, None)
            self.toggles += changed is not switch.on
            switch.on, switch.settled_at = changed, time.monotonic()

    async def _call(self, slug: str, change: dict[str, bool] | None) -> bool | None:
        """Whether the endpoint is on, after the change; None if no node says it."""
        node = random.choice(self._nodes.alive())
        headers = {"Authorization": f"Bearer {node.token}"}
        method = "GET" if change is None else "PATCH"
        try:
            url = f"{node.api_url}/api/v1/endpoints/{slug}"
            async with self._session.request(method, url, json=change, headers=headers) as response:
                return bool((await response.json())["active"]) if response.status == 200 else None
        except NO_ANSWER:
            return None

    async def _kill(self) -> None:
        """One node after the other, each started again."""
        while time.monotonic() + KILL_EACH_S < self._until:
            await asyncio.sleep(KILL_EACH_S)
            number = self.kills % NODES
            self._nodes.kill(number)
            self.kills += 1
            await asyncio.sleep(0.5)
            await asyncio.to_thread(self._nodes.start, number)


async def drive(nodes: Nodes, base: str, slugs: Sequence[str], seconds: float, rate: float) -> Trial:
    timeout = aiohttp.ClientTimeout(total=PATIENCE_S)
    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session:
        trial = Trial(session, nodes, base, time.monotonic() + seconds)
        await trial.run(slugs, rate)
        return trial


def stored(address: str) -> Counter[bytes]:
    """The bodies in the store, with how often each is there."""
    with psycopg.connect(address) as connection:
        rows = connection.execute(
            "SELECT data FROM hookline.capture JOIN hookline.capture_body ON key = seq WHERE size > 2"
        )
        return Counter(bytes(body) for (body,) in rows)


def cost(folder: Path, rounds: int) -> list[Line]:
    """Captures a second of one node, its server on the same cores, as a share of bare aiohttp's requests; and what a
    capture takes of the node's processor time."""
    server = PostgresServer(fsync=True)
    try:
        nodes = Nodes(folder, server.url(server.create()))
        with ExitStack() as stack:
            stack.callback(nodes.close)
            nodes.start(0)
            (node,) = nodes.alive()
            url = f"{node.capture_url}/catch/{made(node, 'bench')}"
            bare_id, bare_url = stack.enter_context(bare_process(folder))
            for warm_up in (bare_url, url):
                load(warm_up, seconds=1.0)
            rates = [(load(url, seconds=ROUND_S).rate, load(bare_url, seconds=ROUND_S).rate) for _ in range(rounds)]
            times = [
                (microseconds(node.process.pid, url, SENDERS // 2), microseconds(bare_id, bare_url, SENDERS // 2))
                for _ in range(rounds)
            ]
    finally:
        server.close()
    return [
        Line("captures a second of one node", median(own for own, _ in rates), "/s"),
        Line("  share of bare aiohttp", median(own / bare for own, bare in rates), "x", SHARE_BAR, least=True),
        Line("processor time of the node for a capture", median(own for own, _ in times), "us"),
        Line("  of bare aiohttp for a request", median(bare for _, bare in times), "us"),
    ]


def measure(folder: Path, seconds: float, rate: float) -> list[Line]:
    server = PostgresServer(fsync=True)
    nodes, proxy = None, None
    try:
        address = server.url(server.create())
        nodes = Nodes(folder, address)
        for number in range(NODES):
            nodes.start(number)
        slugs = [made(nodes.alive()[0], name) for name in ("bench", "switched")]
        proxy, base = start_proxy(folder, nodes.ports)
        time.sleep(1.0)
        began = time.monotonic()
        trial = asyncio.run(drive(nodes, base, slugs, seconds, rate))
        took = time.monotonic() - began
        found = stored(address)
    finally:
        if proxy is not None:
            proxy.terminate()
            proxy.wait()
        if nodes is not None:
            nodes.close()
        server.close()
    seen = trial.seen
    lost = sum(found[body] == 0 for body in seen.acknowledged.values())
    doubled = sum(found[body] > 1 for body in seen.acknowledged.values())
    answered = sum(seen.statuses.values())
    print(f"answers: {dict(seen.statuses)}, broken off: {seen.broken}, wrong: {seen.wrong[:5]}", file=sys.stderr)
    return [
        Line("requests answered a second", answered / took, "/s"),
        Line("acknowledged", float(len(seen.acknowledged)), ""),
        Line("nodes killed", float(trial.kills), ""),
        Line("  acknowledged and lost", float(lost), "", 0.0),
        Line("  acknowledged and stored twice", float(doubled), "", 0.0),
        Line("times switched off or on", float(trial.toggles), ""),
        Line("  answered by the other state", float(len(seen.wrong)), "", 0.0),
    ]


def made(node: Running, name: str) -> str:
    """The slug of a new endpoint."""
    request = urllib.request.Request(
        f"{node.api_url}/api/v1/endpoints",
        data=json.dumps({"name": name}).encode(),
        headers={"Authorization": f"Bearer {node.token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return str(json.loads(response.read())["slug"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.team", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=2_000.0)
    options = parser.parse_args(arguments)
    with fresh_folder("hookline-team-") as folder:
        lines = cost(folder, ROUNDS)
        print(*lines, sep="\n", flush=True)
        killed = measure(folder, options.seconds, options.rate)
    print(*killed, sep="\n")
    return exit_status([*lines, *killed])


if __name__ == "__main__":
    raise SystemExit(main())
