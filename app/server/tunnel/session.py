"""From the start of a tunnel to its end by the user: runs the program, probes its URL, starts it again with growing
waits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from app.core.clock import now_us
from app.core.gist.words import shortened
from app.core.tunnel.output import WORDS_MAX, known_url
from app.core.tunnel.tunnel import CONNECTED, Probe, TunnelState
from app.server.addresses import Addresses
from app.server.forward.lazy_sender import load
from app.server.probe_key import ProbeKey
from app.server.tunnel.current_tunnel import CurrentTunnel
from app.server.tunnel.launch import Launch, Started
from app.server.tunnel.run import TunnelRun

FIRST_S, LONGEST_S = 1.0, 60.0
STEADY_S = 60.0
"""A tunnel that worked this long begins again with the first wait."""


def restart_delay_s(failures: int) -> float:
    """1, 2, 4, … 60 s after that many failures in a row."""
    doublings = min(max(failures, 1) - 1, 10)
    return min(LONGEST_S, FIRST_S * (1 << doublings))


log = logging.getLogger(__name__)

PROBE_MODULE = "app.server.tunnel.probe"
wall_clock = time.time
"""It goes on while the computer sleeps, where the monotonic clock may not."""


@dataclass(frozen=True)
class Timing:
    """Seconds. A program whose URL is known works if it still runs after `settle`. Probes come each `probe`, after a
    failure each `probe_again`; a new URL may take `patience` until it works. `tick`: how often to look whether the
    computer has slept, for longer than `asleep`. `unit` is the first wait before a restart."""

    settle: float = 2.0
    probe: float = 60.0
    probe_again: float = 10.0
    patience: float = 60.0
    tick: float = 5.0
    asleep: float = 15.0
    output: float = 0.25
    unit: float = 1.0
    start: float | None = None
    first_probe: float | None = None
    probe_timeout: float = 10.0


ALARM_AFTER = 2
"""Failed probes in a row that are an alarm."""
RESTART_AFTER = 4
"""Failed probes in a row after which a program is started again that does not notice by itself."""


class End(NamedTuple):
    """Why a run ended, in a sentence; whether another one may work."""

    message: str
    retry: bool = False


class Session:
    """Runs until its program may not be started again, or `end`."""

    def __init__(
        self,
        current: CurrentTunnel,
        launch: Launch,
        addresses: Addresses,
        timing: Timing,
        probe_key: ProbeKey,
        *,
        persistent: bool,
    ) -> None:
        self.launch, self._addresses = launch, addresses
        self.grace_s: float | None = None
        self._current, self._timing, self._probe_key, self._persistent = current, timing, probe_key, persistent
        self._task: asyncio.Task[None]
        self._run: TunnelRun | None = None
        self._was_up = False
        self._up_s = 0.0
        self._failed_probes = 0
        self._patient_until = 0.0
        """On the monotonic clock: the URL is new, and may need until then to work."""
        self._wake = asyncio.Event()
        self._probing = asyncio.Lock()
        self._publishing: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._work(), name=f"tunnel {self.launch.spec.program.id}")

    async def end(self) -> None:
        """End the program with all that it has started."""
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def probe_now(self) -> Probe:
        """Probe the URL; the tunnel has the result."""
        # Imported with the first probe, on a thread.
        await load(PROBE_MODULE)
        from app.server.tunnel.probe import probe  # loaded by now

        async with self._probing:
            url = self._current.tunnel.url
            if url is None:
                return Probe(at=now_us(), ms=None, problem="The tunnel has no URL now.")
            headers = self.launch.spec.probe.headers
            result = await probe(url, self._probe_key, headers, self._timing.probe_timeout)
            if self._current.tunnel.url == url and self._current.tunnel.state in CONNECTED:
                self._probed(result.probe, unresolved=result.unresolved)
        return result.probe

    # -- runs -----------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        try:
            end = await self._run_repeatedly()
        except Exception:
            log.exception("the tunnel failed")
            end = End("Hookline could not run the tunnel because of an internal error; see its log.")
        self._current.change(state=TunnelState.FAILED, url=None, restart_at=None, problem=end.message)

    async def _run_repeatedly(self) -> End:
        failures = 0
        while True:
            self._up_s = 0.0
            end = await self._run_once()
            if not end.retry or not (self._was_up or self._persistent):
                return end
            failures = 1 if self._up_s >= STEADY_S else failures + 1
            delay = restart_delay_s(failures) * self._timing.unit
            self._current.change(
                state=TunnelState.RESTARTING,
                restart_at=now_us() + round(delay * 1_000_000),
                restarts=self._current.tunnel.restarts + 1,
                problem=end.message,
            )
            await asyncio.sleep(delay)
            self._current.change(state=TunnelState.STARTING, restart_at=None, started_at=now_us())

    async def _run_once(self) -> End:
        name = self.launch.name
        self._failed_probes = 0
        address = self._addresses.listening
        if address is None:
            return End("Hookline's capture port is closed.", retry=True)
        try:
            started = await self._started(address)
        except OSError as error:
            return End(f"{name} could not be started: {error.strerror or error}.")
        run = self._run = TunnelRun(
            started.process,
            self.launch.spec,
            started.values,
            secrets=self.launch.secrets,
            publish_output=self._output_changed,
        )
        up_at = None
        try:
            end = await self._until_up(run, started.values)
            if end is None:
                up_at = time.monotonic()
                end = await self._while_up(run)
            return end
        finally:
            await run.stop(self.grace_s)
            self._publish_output()
            self._run = None
            if up_at is not None:
                self._up_s = time.monotonic() - up_at
                await self._current.went_down()

    async def _started(self, address: tuple[str, int]) -> Started:
        starting = asyncio.get_running_loop().run_in_executor(None, self.launch.start, address)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:  # stopped at this moment: what was started must not stay
            with contextlib.suppress(OSError):
                await asyncio.to_thread((await starting).process.abandon)
            raise

    async def _until_up(self, run: TunnelRun, values: Mapping[str, str]) -> End | None:
        """None once the program works."""
        spec, timing = self.launch.spec, self._timing
        settles = not spec.up and known_url(spec, values) is not None
        limit = timing.settle if settles else timing.start or spec.run.start_s
        try:
            async with asyncio.timeout(limit):
                while True:
                    await run.changed.wait()
                    run.changed.clear()
                    end = self._end_of(run)
                    if end is not None:
                        return end
                    if run.reading.up and run.reading.url is not None:
                        return None
        except TimeoutError:
            return None if settles else self._not_up(run, limit)

    async def _while_up(self, run: TunnelRun) -> End:
        self._was_up = True
        url = None
        probing = asyncio.create_task(self._probe_repeatedly(run), name="tunnel probes")
        try:
            while True:
                end = self._end_of(run)
                if end is not None:
                    return end
                if run.reading.url is not None and run.reading.url != url:
                    url = run.reading.url
                    self._failed_probes = 0
                    self._patient_until = time.monotonic() + self._timing.patience
                    self._wake.set()
                    await self._current.went_up(url)
                await run.changed.wait()
                run.changed.clear()
        finally:
            probing.cancel()
            await asyncio.wait((probing,))

    def _end_of(self, run: TunnelRun) -> End | None:
        """Why this run is over; None if it is not."""
        name, failure = self.launch.name, run.reading.failure
        spec = self.launch.spec
        if failure is not None and (failure.ends or run.exit_code is not None):
            return End(failure.message, failure.retry)
        if self._failed_probes >= RESTART_AFTER and spec.probe.restarts:
            return End(f"The public URL has stopped working, so {name} is started again.", retry=True)
        if run.exit_code is None:
            return None
        how = f"exit code {run.exit_code}" if run.exit_code >= 0 else f"signal {-run.exit_code}"
        return End(f"{name} ended by itself with {how}.{_last_line(run)}", retry=True)

    def _not_up(self, run: TunnelRun, seconds: float) -> End:
        reading, name = run.reading, self.launch.name
        if reading.failure is not None:
            return End(reading.failure.message, reading.failure.retry)
        what = "printed a public URL" if reading.url is None else "connected"
        return End(f"{name} has not {what} within {seconds:g} s.{_last_line(run)}", retry=True)

    # -- probes ---------------------------------------------------------------------------------------------------

    async def _probe_repeatedly(self, run: TunnelRun) -> None:
        spec, timing = self.launch.spec, self._timing
        await asyncio.sleep(spec.probe.first_s if timing.first_probe is None else timing.first_probe)
        while True:
            self._wake.clear()
            probe = await self.probe_now()
            if self._failed_probes >= RESTART_AFTER:
                run.changed.set()
            pause = timing.probe
            if probe.problem is not None:
                new = time.monotonic() < self._patient_until
                pause = min(timing.probe_again, 2.0 * timing.unit) if new else timing.probe_again
            await self._pause(pause)

    def _probed(self, probe: Probe, *, unresolved: bool) -> None:
        new = time.monotonic() < self._patient_until
        if probe.problem is None:
            self._failed_probes, self._patient_until = 0, 0.0
        elif not new and not (unresolved and self._failed_probes >= ALARM_AFTER):
            # Without a connection of this computer's own nothing is known about the tunnel.
            self._failed_probes += 1
        self._current.probed(probe, new=new, alarm=self._failed_probes >= ALARM_AFTER)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not longer than the computer sleeps or the URL stays the same."""
        timing = self._timing
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            tick, wall, steady = min(timing.tick, left), wall_clock(), time.monotonic()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(tick):
                    await self._wake.wait()
            if self._wake.is_set():
                return
            if max(wall_clock() - wall, time.monotonic() - steady) > tick + timing.asleep:
                return

    # -- output ---------------------------------------------------------------------------------------------------

    def _output_changed(self) -> None:
        if self._publishing is None:
            loop = asyncio.get_running_loop()
            self._publishing = loop.call_later(self._timing.output, self._publish_output)

    def _publish_output(self) -> None:
        if self._publishing is not None:
            self._publishing.cancel()
            self._publishing = None
        if self._run is not None:
            self._run.output_taken()
            self._current.change(output=self._run.output())


def _last_line(run: TunnelRun) -> str:
    lines = [line for line in run.output() if line.strip()]
    return f" Its last line: {shortened(lines[-1].strip(), WORDS_MAX)}" if lines else " It printed nothing."
