"""One run of a tunnel program, from its start to its end: what its output has said, and its last lines."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from app.core.tunnel.options import without_secrets
from app.core.tunnel.output import LineReader, OutputReader, Reading
from app.core.tunnel.spec import ProgramSpec
from app.server.tunnel.guarded_process import GuardedProcess

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
        process: GuardedProcess,
        spec: ProgramSpec,
        values: Mapping[str, str],
        *,
        secrets: Sequence[str],
        publish_output: Callable[[], None],
    ) -> None:
        self._process, self._spec, self._secrets = process, spec, secrets
        self._reader = OutputReader(spec, values)
        self._hidden = re.compile(spec.hidden) if spec.hidden else None
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._output: tuple[str, ...] = ()
        self._lock = threading.Lock()
        """Of the threads that read: the loop must not wait for them."""
        self._loop = asyncio.get_running_loop()
        self._publish_output = publish_output
        self._output_pending = False
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

    def output(self) -> tuple[str, ...]:
        """The last lines, newest last, without secrets."""
        return self._output

    def output_taken(self) -> None:
        """Let the next line be announced."""
        self._output_pending = False

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
            self._output = tuple(self._lines)
            changed = self._reader.reading != before
        if changed:
            self._call(self.changed.set)
        if not self._output_pending:
            self._output_pending = True
            self._call(self._publish_output)

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function, *arguments)

    def _end(self, code: int) -> None:
        self.exit_code = code
        self._ended.set()
        self.changed.set()
