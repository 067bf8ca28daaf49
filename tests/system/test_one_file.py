"""The program in one file ends with the process that unpacked it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux can do it")

UNPACKED = """
import signal, sys
sys.path.insert(0, {root!r})
sys.frozen, sys._MEIPASS, sys.executable = True, {parts!r}, {program!r}
from app.system.installation import end_with_unpacker
end_with_unpacker()
signal.signal(signal.SIGTERM, lambda *_: (print("stopping", flush=True), sys.exit()))
print("ready", flush=True)
sys.stdin.read()  # until the test is over
print("went on", flush=True)
"""
UNPACKER = """
import subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[1]])
"""


@pytest.mark.parametrize(
    ("parts", "end"),
    [
        pytest.param("/tmp/_MEIx", "stopping", id="one file"),
        pytest.param("/opt/hookline/_internal", "went on", id="a folder"),
    ],
)
def test_a_killed_unpacker_stops_the_program_in_one_file(parts: str, end: str, tmp_path: Path) -> None:
    program = UNPACKED.format(root=str(ROOT), parts=parts, program="/opt/hookline/hookline")
    reading, writing = os.pipe()
    command = [sys.executable, "-c", UNPACKER, program]
    with (
        os.fdopen(writing, "wb") as stdin,
        subprocess.Popen(command, stdin=reading, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as unpacker,
    ):
        os.close(reading)
        assert unpacker.stdout is not None
        assert unpacker.stdout.readline() == "ready\n"
        unpacker.send_signal(signal.SIGKILL)
        unpacker.wait()
        if end == "went on":
            stdin.close()
        assert unpacker.stdout.read() == f"{end}\n"
