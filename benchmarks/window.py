"""The windowed program with the first endpoint's requests in view, as they come in: the most a window has to do.

With `--gaps` a heartbeat beside it keeps each longer stretch without a turn of Qt's loop.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from PySide6.QtCore import QObject, Qt, QTimer

from app.cli.options import WindowOptions
from app.gui import Ready, run_window

BEAT_MS = 1
KEPT_S = 0.005
MAX_GAPS = 200_000


class Heartbeat(QObject):
    """A timer of 1 ms. `beats` counts them, `gaps` are the moments (monotonic seconds) and lengths of those that came
    over 5 ms late."""

    def __init__(self) -> None:
        super().__init__()
        self.gaps: list[tuple[float, float]] = []
        self.beats = 0
        self._last = monotonic()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._timer.start(BEAT_MS)

    def _beat(self) -> None:
        now = monotonic()
        self.beats += 1
        if now - self._last > KEPT_S and len(self.gaps) < MAX_GAPS:
            self.gaps.append((now, now - self._last))
        self._last = now


class Watch:
    """Opens the list once the window is shown, and starts the heartbeat if there is to be one."""

    def __init__(self, beating: bool) -> None:
        self._beating = beating
        self._heartbeat: Heartbeat | None = None

    def begin(self, ready: Ready) -> None:
        """Look at the list, and beat, from now on."""
        ready.window.show_endpoint(ready.application.store.endpoints.all()[0].id)
        if self._beating:
            self._heartbeat = Heartbeat()

    def found(self) -> dict[str, object]:
        """What the heartbeat noted; no beats if it never began."""
        beat = self._heartbeat
        return {"beats": beat.beats, "gaps": beat.gaps} if beat else {"beats": 0, "gaps": []}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM, then write the gaps, if kept, as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.window")
    parser.add_argument("--gaps", type=Path)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--api-port", type=int, default=0)
    options = parser.parse_args(arguments)
    watch = Watch(beating=options.gaps is not None)
    window = WindowOptions(data_dir=options.data_dir, port=options.port, api_port=options.api_port)
    code = run_window(window, watch.begin)
    if options.gaps is not None:
        options.gaps.write_text(json.dumps(watch.found()))
    return code


if __name__ == "__main__":
    sys.exit(main())
