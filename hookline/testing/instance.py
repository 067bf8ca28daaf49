"""Hookline as a process of its own for a test session: on free ports, with a data folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from hookline.calls import Call, nothing
from hookline.client.client import Client
from hookline.running import FOLDER_VARIABLE, find_running

PROGRAM = Path(__file__).resolve().parents[1] / "__main__.py"
START_S, STOP_S = 60.0, 15.0
LISTENING = "listening on "


class Instance:
    """Started once made; OSError or RuntimeError if it does not start. Ends with this process, however that ends."""

    def __init__(self, folder: Path) -> None:
        self.data_dir = folder / "data"
        self._folder, self._log = folder, folder / "hookline.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(PROGRAM), "serve", *self._arguments()],
                stdin=subprocess.PIPE,  # open as long as this process lives
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(),
                start_new_session=True,  # Ctrl-C in the terminal is for pytest, whose fixtures still need it
                text=True,
                encoding="utf-8",
            )
        try:
            self.url = self._read_url()
            address = find_running(self.data_dir)
            if address is None:
                raise RuntimeError(f"Hookline did not start. {self.trouble()}")
            self.address = address
            self.client = Client(*address)
            # The free plan allows ten endpoints.
            self.client.send(Call("PATCH", "/account", nothing, content={"plan": "pro"}))
        except BaseException:
            self.stop()
            raise

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def trouble(self) -> str:
        """What it printed on standard error, in words for a message."""
        text = self._log.read_text("utf-8", "replace").strip()
        return f"Its last lines:\n{text[-2_000:]}" if text else "It printed nothing."

    def stop(self) -> None:
        """Stop it and delete its data. Idempotent."""
        process = self._process
        if hasattr(self, "client"):
            self.client.close()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _arguments(self) -> list[str]:
        return ["--port", "0", "--api-port", "0", "--data-dir", str(self.data_dir), "--exit-on-stdin-close"]

    def _read_url(self) -> str:
        """The capture port's address, which it prints once it listens."""
        assert self._process.stdout is not None
        limit = threading.Timer(START_S, self._process.kill)
        limit.start()
        try:
            line = self._process.stdout.readline().rstrip("\n")
        finally:
            limit.cancel()
        if not line.startswith(LISTENING):
            self._process.kill()
            self._process.wait()
            raise RuntimeError(f"Hookline did not start. {self.trouble()}")
        return line.removeprefix(LISTENING)


def _environment() -> dict[str, str]:
    """This process's environment without what would change the instance: a data folder, warnings as errors."""
    dropped = (FOLDER_VARIABLE, "PYTHONWARNINGS")
    return {name: value for name, value in os.environ.items() if name not in dropped}
