"""The program in one file is two processes: the one that is started unpacks the other, waits for it and cleans up."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from app.system import installation

PR_SET_PDEATHSIG = 1
"""From Linux's <sys/prctl.h>."""


def end_with_unpacker() -> None:
    """Have this process get SIGTERM when the process that unpacked it is killed. Otherwise Hookline would go on
    without the process that its user sees. Does nothing unless this is the program in one file, on Linux."""
    if not sys.platform.startswith("linux") or not _is_one_file():
        return
    import ctypes  # start-up time: no other form of the program needs it

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _is_one_file() -> bool:
    """Whether the program's parts are elsewhere than its file: unpacked into a temporary folder."""
    parts = getattr(sys, "_MEIPASS", sys.executable)
    return installation.is_bundle() and not Path(parts).is_relative_to(Path(sys.executable).parent)
