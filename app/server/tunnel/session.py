"""From the start of a tunnel to its end by the user: runs the program, probes its URL, starts it again with growing
waits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.core.clock import now_us
from app.core.text import shortened
from app.core.tunnel import CONNECTED, Probe, TunnelState
from app.core.tunnel_program import WORDS_MAX, Failure, LineReader, OutputReader, Reading, known_url, without_secrets
from app.server.addresses import Addresses, ProbeKey
from app.server.forward.lazy_sender import load
from app.server.tunnel.current_tunnel import CurrentTunnel
from app.server.tunnel.launch import Launch, Started

log = logging.getLogger(__name__)

LINES_KEPT = 50
READ_MAX = 16 * 1024
BYTES_PER_S = 256 * 1024
BUSY_SHARE = 0.2
"""A program that prints more than this, or lines that take longer to read, waits: its output must not keep the
interpreter busy."""
CHILDREN_S = 0.4
"""How long what the program has started may take to end by itself once the program has ended."""
TERM_S = 0.3
_JOIN_S = 1.0


class TunnelRun:
    """A program that runs. `changed` is set whenever anything is new; `exit_code` is None while it runs.

    Threads read its output, because a window's loop has no child processes on all systems.
    """

    def __init__(
        self,
        launch: Launch,
        started: Started,
        *,
        publish_output: Callable[[tuple[str, ...]], None],
        publish_s: float,
    ) -> None:
        """`publish_output` gets the last lines when there are new ones, `publish_s` later."""
        self._process, self._spec, self._secrets = started.process, launch.spec, launch.secrets
        self._reader = OutputReader(self._spec, started.values)
        self._hidden = re.compile(self._spec.hidden) if self._spec.hidden else None
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self.output: tuple[str, ...] = ()
        """The last lines, newest last, without secrets."""
        self._lock = threading.Lock()
        """Of the threads that read: the loop must not wait for them."""
        self._loop = asyncio.get_running_loop()
        self._publish_output, self._publish_s = publish_output, publish_s
        self._output_pending = self._stopped = False
        self.changed = asyncio.Event()
        self._ended = asyncio.Event()
        self._program_ended = threading.Event()
        self.exit_code: int | None = None
        threading.Thread(target=self._watch, name="tunnel program", daemon=True).start()

    @property
    def reading(self) -> Reading:
        return self._reader.reading

    @property
    def pid(self) -> int:
        return self._process.pid

    def _publish(self) -> None:
        """Once it was stopped, there may be another run, whose output is shown."""
        if self._output_pending and not self._stopped:
            self._output_pending = False
            self._publish_output(self.output)

    async def stop(self, grace_s: float | None = None) -> None:
        """End it and all its children; returns once nothing is left. Harmless when it has ended."""
        grace_s = self._spec.stop.grace_s if grace_s is None else grace_s
        steps: list[tuple[Callable[[], None], float]] = [(lambda: self._process.send(self._spec.stop.signal), grace_s)]
        if self._spec.stop.signal == "int":
            steps.append((lambda: self._process.send("term"), TERM_S))
        for step, seconds in steps:
            if self.exit_code is None:
                step()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._ended.wait()
        if self.exit_code is None:
            await self._loop.run_in_executor(None, self._process.kill)
        await self._ended.wait()
        self._publish()
        self._stopped = True

    # -- on threads -----------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        process = self._process
        readers = [
            threading.Thread(target=self._read, args=stream, name="tunnel output", daemon=True)
            for stream in process.output().items()
        ]
        for reader in readers:
            reader.start()
        code = process.wait()
        self._program_ended.set()  # what it has printed last is read at once
        until = time.monotonic() + CHILDREN_S
        for reader in readers:  # its children hold the streams too
            reader.join(max(0.0, until - time.monotonic()))
        process.kill()
        for reader in readers:
            reader.join(_JOIN_S)
        process.finish(reading=any(reader.is_alive() for reader in readers))
        self._call(self._end, code)

    def _read(self, name: str, stream: int) -> None:
        lines = LineReader()
        with contextlib.suppress(OSError):
            while data := os.read(stream, READ_MAX):
                began = time.monotonic()
                self._take(name, lines.feed(data))
                busy_s = time.monotonic() - began
                self._program_ended.wait(max(len(data) / BYTES_PER_S, busy_s * (1 / BUSY_SHARE - 1)))
        self._take(name, lines.feed(b"", final=True))

    def _take(self, name: str, lines: Sequence[str]) -> None:
        if not lines:
            return
        with self._lock:
            before = self._reader.reading
            for line in lines:
                self._reader.read(name, line)
                if line and not (self._hidden is not None and self._hidden.search(line)):
                    self._lines.append(without_secrets(line, self._secrets))
            self.output = tuple(self._lines)
            changed = self._reader.reading != before
        if changed:
            self._call(self.changed.set)
        if not self._output_pending:
            self._output_pending = True
            self._call(self._loop.call_later, self._publish_s, self._publish)

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function, *arguments)

    def _end(self, code: int) -> None:
        self.exit_code = code
        self._ended.set()
        self.changed.set()


FIRST_S, LONGEST_S = 1.0, 60.0
STEADY_S = 60.0
"""A tunnel that worked this long begins again with the first wait."""


def restart_delay_s(failures: int) -> float:
    """1, 2, 4, … 60 s after that many failures in a row."""
    doublings = min(max(failures, 1) - 1, 10)
    return min(LONGEST_S, FIRST_S * (1 << doublings))


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
        self._run: TunnelRun | None = None
        self._was_up = False
        self._failed_probes = 0
        self._patient_until = 0.0
        """On the monotonic clock: the URL is new, and may need until then to work."""
        self._wake = asyncio.Event()
        self._probing = asyncio.Lock()
        self._task = asyncio.create_task(self._work(), name=f"tunnel {launch.spec.program.id}")

    async def end(self) -> None:
        """End the program with all that it has started."""
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def probe_now(self) -> Probe:
        """Probe the URL; the tunnel has the result."""
        await load("app.server.test_request")
        from app.server.test_request import probe  # loaded by now

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
            end = Failure(message="Hookline could not run the tunnel because of an internal error; see its log.")
        self._current.change(state=TunnelState.FAILED, url=None, restart_at=None, problem=end.message)

    async def _run_repeatedly(self) -> Failure:
        failures = 0
        while True:
            end, up_s = await self._run_once()
            if not end.retry or not (self._was_up or self._persistent):
                return end
            failures = 1 if up_s >= STEADY_S else failures + 1
            delay = restart_delay_s(failures) * self._timing.unit
            self._current.change(
                state=TunnelState.RESTARTING,
                restart_at=now_us() + round(delay * 1_000_000),
                restarts=self._current.tunnel.restarts + 1,
                problem=end.message,
            )
            await asyncio.sleep(delay)
            self._current.change(state=TunnelState.STARTING, restart_at=None, started_at=now_us())

    async def _run_once(self) -> tuple[Failure, float]:
        """How it ended, and for how many seconds it was up."""
        name = self.launch.name
        self._failed_probes = 0
        address = self._addresses.listening
        if address is None:
            return Failure(message="Hookline's capture port is closed.", retry=True), 0.0
        try:
            started = await self._started(address)
        except OSError as error:
            return Failure(message=f"{name} could not be started: {error.strerror or error}."), 0.0
        run = self._run = TunnelRun(
            self.launch,
            started,
            publish_output=lambda lines: self._current.change(output=lines),
            publish_s=self._timing.output,
        )
        up_at = None
        try:
            end = await self._until_up(run, started.values)
            if end is None:
                up_at = time.monotonic()
                end = await self._while_up(run)
        finally:
            await run.stop(self.grace_s)
            self._run = None
            if up_at is not None:
                await self._current.went_down()
        return end, 0.0 if up_at is None else time.monotonic() - up_at

    async def _started(self, address: tuple[str, int]) -> Started:
        starting = asyncio.get_running_loop().run_in_executor(None, self.launch.start, address)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:  # stopped at this moment: what was started must not stay
            with contextlib.suppress(OSError):
                await asyncio.to_thread((await starting).process.abandon)
            raise

    async def _until_up(self, run: TunnelRun, values: Mapping[str, str]) -> Failure | None:
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

    async def _while_up(self, run: TunnelRun) -> Failure:
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

    def _end_of(self, run: TunnelRun) -> Failure | None:
        """Why this run is over; None if it is not."""
        name, failure = self.launch.name, run.reading.failure
        spec = self.launch.spec
        if failure is not None and (failure.ends or run.exit_code is not None):
            return failure
        if self._failed_probes >= RESTART_AFTER and spec.probe.restarts:
            return Failure(message=f"The public URL has stopped working, so {name} is started again.", retry=True)
        if run.exit_code is None:
            return None
        how = f"exit code {run.exit_code}" if run.exit_code >= 0 else f"signal {-run.exit_code}"
        return Failure(message=f"{name} ended by itself with {how}.{_last_line(run)}", retry=True)

    def _not_up(self, run: TunnelRun, seconds: float) -> Failure:
        reading, name = run.reading, self.launch.name
        if reading.failure is not None:
            return reading.failure
        what = "printed a public URL" if reading.url is None else "connected"
        return Failure(message=f"{name} has not {what} within {seconds:g} s.{_last_line(run)}", retry=True)

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


def _last_line(run: TunnelRun) -> str:
    lines = [line for line in run.output if line.strip()]
    return f" Its last line: {shortened(lines[-1].strip(), WORDS_MAX)}" if lines else " It printed nothing."
