"""The program as it is started by `benchmarks.start`, which ends as soon as it is painted and answers.

`python -m benchmarks.started_window FOLDER BEGAN` prints the milliseconds since it `BEGAN` (monotonic seconds), and
those on the processor. It imports nothing before the program does: that would be a part of what is measured.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.options import WindowOptions
from app.start import leave_out, show_window

if TYPE_CHECKING:
    from app.application import Application
    from app.gui import Ready


async def answered(application: Application) -> None:
    """Ask the capture port for an endpoint that is not there. On a team's store the window has none by itself."""
    if application.addresses.listening is None:
        return
    reader, writer = await asyncio.open_connection(*application.addresses.listening)
    writer.write(b"GET /catch/not-there HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    if b" 404 " not in await reader.readline():
        raise ConnectionError("the capture port did not answer")
    writer.close()


class Start:
    """A start of the program that began at `began` (monotonic seconds)."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._task: asyncio.Task[None]
        self.result: tuple[float, float] | None = None

    def begin(self, ready: Ready) -> None:
        """Look on, once the window is there."""
        self._task = asyncio.get_running_loop().create_task(self._look(ready), name="look on")

    async def _look(self, ready: Ready) -> None:
        from benchmarks.painted import Painted  # Qt: the program loads it first, and in its own way

        try:
            await Painted(ready.window).wait()
            await answered(ready.application)
            self.result = (time.monotonic() - self._began) * 1000, time.process_time() * 1000
        finally:
            ready.window.close()


def main() -> int:
    """Start it on a data folder."""
    leave_out()
    start = Start(float(sys.argv[2]))
    code = show_window(WindowOptions(data_dir=Path(sys.argv[1]), port=0, api_port=0), start.begin)
    if start.result is not None:
        print(*start.result)
    return code


if __name__ == "__main__":
    sys.exit(main())
