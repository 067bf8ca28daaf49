"""A screen of its own for the window's trial, and pictures of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trial.room import TrialError, run

GRAB = """
import sys
from PySide6.QtGui import QGuiApplication
app = QGuiApplication([])
picture = app.primaryScreen().grabWindow(0).toImage()
picture.save(sys.argv[1])
few = picture.scaled(320, 200)
print(len({few.pixel(x, y) for x in range(few.width()) for y in range(few.height())}))
"""


@contextmanager
def screen(width: int = 1280, height: int = 800) -> Iterator[str]:
    """An X server on a free display while the block runs; gives its name, such as `:7`."""
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp", "-ac"]
    server = subprocess.Popen(command, pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            number = told.readline().strip()
        if not number:
            raise TrialError("Xvfb did not start.")
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


def picture(display: str, file: Path) -> int:
    """Write what the display shows as PNG; the number of colours in it, 1 when it is blank."""
    given = {**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
    return int(run(sys.executable, "-c", GRAB, file, env=given).stdout)
