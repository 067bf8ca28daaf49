"""A terminal in which a reader of the guide types commands: a POSIX shell on a pseudo-terminal."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping
from pathlib import Path

ROWS, COLUMNS = 40, 120
LIMIT_S, STOP_S = 60.0, 15.0
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
OVERWRITTEN = re.compile(r"[^\n]*\r(?=[^\n])")
"""Progress, in a line that is written again."""


class Terminal:
    """`command` with its output on a terminal. `type_file` runs a file in it, if the command is a shell."""

    def __init__(self, command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._screen, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        try:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=slave,
                stderr=slave,
                start_new_session=True,  # its process group can be ended, with what the shell has started
            )
        finally:
            os.close(slave)
        self._text, self._ended, self._change = "", False, threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def text(self) -> str:
        """All that it shows, without colours and what was overwritten."""
        with self._change:
            text = ESCAPES.sub("", self._text)
        return OVERWRITTEN.sub("", re.sub(r"\r+\n", "\n", text))

    def wait_for(self, pattern: str, start: int = 0) -> re.Match[str]:
        """The first match in what it shows from `start` on. AssertionError if the command ends without one."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            with self._change:
                seen, ended = len(self._text), self._ended
            found = re.compile(pattern, re.MULTILINE).search(self.text, start)
            if found:
                return found
            assert not ended, f"it ended without {pattern!r}:\n{self.text}"
            assert time.monotonic() < deadline, f"no {pattern!r} within {LIMIT_S:g} s:\n{self.text}"
            with self._change:
                if not self._ended and len(self._text) == seen:
                    self._change.wait(1.0)

    def type_file(self, file: str, mark: str) -> str:
        """What the commands in the file print, before a line `mark`. AssertionError if one fails."""
        assert self.process.stdin is not None
        start = len(self.text)
        self.process.stdin.write(f". '{file}' </dev/null; echo '{mark}'\n".encode())
        self.process.stdin.flush()
        end = self.wait_for(rf"{re.escape(mark)}\n", start)
        return self.text[start : end.start()]

    def close(self) -> None:
        """End what runs in it, by the id of its process group."""
        assert self.process.stdin is not None
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)
            self._reader.join(STOP_S)  # until the last of the group has closed the terminal
            if not self._reader.is_alive():
                break
        self.process.wait(STOP_S)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        os.close(self._screen)

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with contextlib.suppress(OSError):  # how Linux tells that the last program has closed the terminal
            while data := os.read(self._screen, 65_536):
                with self._change:
                    self._text += decoder.decode(data)
                    self._change.notify_all()
        with self._change:
            self._ended = True
            self._change.notify_all()
