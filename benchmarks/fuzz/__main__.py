"""`python -m benchmarks.fuzz`: is `hookline serve` still right and well after minutes of odd and broken requests?

Valid requests of many shapes and mutations of them are sent over many connections; what must hold is in
`invariants.py`. Each minute a row is printed, and the store is emptied. Ends with 1 when anything did not hold; what
was sent is then kept in a file, and the command that sends just that again is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.endpoints import add_endpoints
from benchmarks.fuzz.run import CONNECTIONS, Fuzz, Violation
from benchmarks.fuzz.stored_requests import count_stored
from benchmarks.fuzz.valid_requests import ENDPOINTS
from benchmarks.process_stats import Growth, Stats, quarters, stats_of, troubles_in
from benchmarks.programs import BenchError, Running, fresh_folder, running

MINUTE_S = 60.0
BATCH = 4_000
SETTLE_S, IDLE_S = 3.0, 10.0
JUDGED_S = 120.0
"""A shorter run says nothing about growth."""
MEMORY_SHARE, MEMORY_SPARE_MIB = 0.05, 4.0
DESCRIPTORS_SPARE, THREADS_SPARE = 4, 1
MOST_KEPT = 20
"""Violations that are written to files; after so many the run ends."""
HEADER = (
    f"{'minute':>6}{'requests':>10}{'conns':>8}{'stored':>8}{'2xx':>8}{'4xx':>8}{'5xx':>7}{'reset':>7}"
    f"{'longest s':>10}{'alive ms':>9}{'MiB':>7}{'fds':>5}{'threads':>8}{'wrong':>6}"
)


@dataclass
class Report:
    """What a run found."""

    seed: int
    folder: Path
    violations: list[Violation] = field(default_factory=list)
    stats: list[Stats] = field(default_factory=list)

    def add(self, violations: Sequence[Violation]) -> None:
        """Keep each in a file, and say how it is sent again."""
        for violation in violations:
            self.violations.append(violation)
            print(f"\nVIOLATION {violation}")
            if violation.sent is not None and len(self.violations) <= MOST_KEPT:
                number = violation.sent.case.number
                file = self.folder / f"fuzz-{self.seed}-{number}.json"
                file.write_text(violation.report(self.seed))
                print(f"  {file}\n  make fuzz ARGS='--seed {self.seed} --only {number}'", flush=True)

    def say(self, text: str) -> None:
        """Something that no case is to blame for."""
        self.add([Violation((text,))])

    def growths(self) -> list[Growth]:
        """Memory, descriptors and threads, if the run was long enough."""
        if not self.stats or self.stats[-1].at - self.stats[0].at < JUDGED_S:
            return []
        memory = [one.resident_mib for one in self.stats]
        threads = [float(one.threads) for one in self.stats]
        return [
            quarters("memory", memory, "MiB", share=MEMORY_SHARE, spare=MEMORY_SPARE_MIB),
            quarters("threads", threads, "threads", share=0.0, spare=THREADS_SPARE),
        ]


class Minutes:
    """Runs cases against the program until the time is over, and prints a row each minute."""

    def __init__(self, program: Running, fuzz: Fuzz, report: Report) -> None:
        self._program, self._fuzz, self._report = program, fuzz, report
        self._stop = asyncio.Event()
        self._begun = time.monotonic()
        self._descriptors: int | None = None
        headers = {"Authorization": f"Bearer {program.token}"}
        self._api = httpx.AsyncClient(base_url=program.api_url, headers=headers, timeout=30, trust_env=False)

    async def run(self, seconds: float) -> None:
        """Until `seconds` are over, Ctrl-C is pressed, or too much went wrong."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._stop.set)
        sampling = asyncio.create_task(self._sample(), name="sample")
        print(HEADER)
        try:
            end, minute = self._begun + seconds, 0
            while time.monotonic() < end and not self._over():
                minute += 1
                await self._minute(min(end, self._begun + minute * MINUTE_S))
                self._row()
            self._report.add(await self._fuzz.settle(self._fuzz.limit_s + 5))
            totals = self._fuzz.totals
            print(f"longest wait for a connection's end: {totals.longest_wait_s:.1f} s")
            print(f"connections of which something was stored long after their sender had left: {totals.late}")
        finally:
            sampling.cancel()
            await asyncio.wait((sampling,))
            await self._api.aclose()

    def _over(self) -> bool:
        return (
            self._stop.is_set() or self._program.process.poll() is not None or len(self._report.violations) >= MOST_KEPT
        )

    async def _minute(self, end: float) -> None:
        def stop() -> bool:
            return time.monotonic() >= end or self._over()

        while not stop():
            self._report.add(await self._fuzz.batch(BATCH, stop))
        self._report.add(await self._fuzz.settle(SETTLE_S))
        if self._program.process.poll() is not None:
            self._report.say(f"the program has ended with {self._program.process.returncode}")
            return
        for line in troubles_in(self._program.log):
            self._report.say(f"the program printed: {line}")
        await self._check_idle()
        await self._empty()

    async def _check_idle(self) -> None:
        """Counts agree with the table, and no descriptor stays of a connection that has ended."""
        end = time.monotonic() + IDLE_S
        while True:
            stored, counted = count_stored(self._program.data), await self._counted()
            spare = DESCRIPTORS_SPARE + self._fuzz.open_connections
            held = stats_of(self._program.process.pid).descriptors
            if self._descriptors is None:
                self._descriptors = held - self._fuzz.open_connections
            if counted == stored and held <= self._descriptors + spare:
                return
            if time.monotonic() > end:
                break
            await asyncio.sleep(0.2)
        if counted != stored:
            self._report.say(f"{stored} requests are stored, and /status counts {counted}")
        if held > self._descriptors + spare:
            open_now = self._fuzz.open_connections
            self._report.say(
                f"{held} descriptors are open with {open_now} connections; after the first minute {self._descriptors}"
            )

    async def _counted(self) -> int:
        return int((await self._api.get("/api/v1/status")).raise_for_status().json()["counts"]["requests"])

    async def _empty(self) -> None:
        """Delete all requests, so that the store and its memory stay of one size."""
        for draft in ENDPOINTS:
            (await self._api.delete(f"/api/v1/endpoints/{draft.slug}/requests")).raise_for_status()
        self._fuzz.emptied()

    async def _sample(self) -> None:
        while True:
            self._report.stats.append(stats_of(self._program.process.pid))
            await asyncio.sleep(1)

    def _row(self) -> None:
        totals, stats = self._fuzz.totals, self._report.stats[-1]
        kinds = {
            kind: sum(count for status, count in totals.statuses.items() if status // 100 == kind) for kind in (2, 4, 5)
        }
        passed = (time.monotonic() - self._begun) / MINUTE_S
        print(
            f"{passed:>6.1f}{totals.requests:>10,}{totals.connections:>8,}{totals.stored:>8,}{kinds[2]:>8,}{kinds[4]:>8,}"
            f"{kinds[5]:>7,}{totals.reset:>7,}{totals.longest_wait_s:>10.1f}{totals.longest_alive_s * 1000:>9.0f}"
            f"{stats.resident_mib:>7.0f}{stats.descriptors:>5}{stats.threads:>8}{len(self._report.violations):>6}",
            flush=True,
        )


async def _fuzz(program: Running, report: Report, options: argparse.Namespace) -> None:
    fuzz = Fuzz(report.seed, program.data, program.address, connections=options.connections)
    if options.only is None:
        await Minutes(program, fuzz, report).run(options.minutes * MINUTE_S)
        return
    sent, violations = await fuzz.one(options.only)
    print(Violation((), sent).report(report.seed))
    report.add(violations)


def run(options: argparse.Namespace) -> Report:
    """One run on a program of its own."""
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    report = Report(seed, options.folder)
    report.folder.mkdir(parents=True, exist_ok=True)
    print(f"seed {seed}", flush=True)
    with fresh_folder("hookline-fuzz-") as folder:
        add_endpoints(folder / "data", ENDPOINTS)
        log = folder / "program.log"
        with running(folder / "data", log, "-m", "hookline", "serve") as program:
            asyncio.run(_fuzz(program, report, options))
        if program.process.returncode:
            report.say(f"the program ended with {program.process.returncode} when it was stopped")
        for line in troubles_in(log):
            report.say(f"the program printed: {line}")
        if report.violations:
            kept = report.folder / f"fuzz-{seed}-program.log"
            kept.write_text(log.read_text(errors="replace"))
            print(f"what the program printed: {kept}")
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when all that must hold did, 1 when something did not."""
    parser = argparse.ArgumentParser(prog="benchmarks.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (10)")
    parser.add_argument("--seed", type=int, help="decides all cases; without it a new one each time")
    parser.add_argument("--only", type=int, metavar="CASE", help="send this one case, and print what became of it")
    parser.add_argument("--connections", type=int, default=CONNECTIONS, help=f"open at once ({CONNECTIONS})")
    place = Path(tempfile.gettempdir()) / "hookline-fuzz"
    parser.add_argument("--folder", type=Path, default=place, help=f"where what went wrong is kept ({place})")
    options = parser.parse_args(arguments)
    try:
        report = run(options)
    except BenchError as error:
        print(f"fuzz broke: {error}", file=sys.stderr)
        return 1
    growths = report.growths()
    for one in growths:
        print(one)
    wrong = len(report.violations)
    print("nothing is wrong" if not wrong else f"{wrong} violations of seed {report.seed}")
    return 1 if wrong or not all(one.accepted for one in growths) else 0


if __name__ == "__main__":
    raise SystemExit(main())
