"""Starts a program so that it ends with Hookline, however that ends, and with all programs that it has started.

On POSIX the program leads a process group of its own. In that group a shell waits for the end of a pipe that only
Hookline holds: when Hookline is gone, even killed, it ends the group. On Linux it also ends processes that have left
the group: all of the program's control group, where Hookline may make one, and elsewhere those that still have a
variable of its environment. On Windows the program belongs to a job that the system ends with
Hookline's handle.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

if sys.platform == "win32":
    from app.server.tunnel.windows_job import start_in_job

MARK = "HOOKLINE_TUNNEL"
PREFIX = "hookline-tunnel-"
# $0 is the program's folder, $1 its control group or "". Its standard input is a pipe that nobody writes to and that
# does not end: ssh ends where it can read the end of its input. dash knows descriptors of one digit only.
_GUARD = f"""
cgroup=$1
shift
exec 3<&0
(
    trap '' HUP INT QUIT TERM
    read -r _ <&3
    kill -TERM 0
    sleep 1
    [ -z "$cgroup" ] || echo 1 >"$cgroup/cgroup.kill"
    for file in /proc/[0-9]*/environ; do
        if grep -qsF "{MARK}=$0" "$file"; then
            process=${{file#/proc/}}
            kill -KILL "${{process%/environ}}"
        fi
    done
    rm -rf -- "$0"
    [ -z "$cgroup" ] || rmdir -- "$cgroup"
    kill -KILL 0
) </dev/null >/dev/null 2>&1 &
[ -z "$cgroup" ] || {{ echo 0 >"$cgroup/cgroup.procs"; }} 2>/dev/null
export {MARK}="$0"
exec "$@" <>"$0/stdin" 3<&-
"""


def new_folder() -> Path:
    """A folder for the program's files, which its owner alone can read."""
    return Path(tempfile.mkdtemp(prefix=PREFIX))


class GuardedProcess:
    """A running program. All calls may block. `folder` is deleted by `finish`."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        """Raises OSError if it cannot be started; `folder` is deleted then too."""
        self._folder = folder
        self._cgroup: Path | None = None
        try:
            if sys.platform == "win32":
                self._popen, self._job = start_in_job(command, environment)
            else:
                os.mkfifo(folder / "stdin", 0o600)
                self._cgroup = _new_cgroup(folder.name)
                self._popen = subprocess.Popen(
                    ["/bin/sh", "-c", _GUARD, str(folder), str(self._cgroup or ""), *command],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=dict(environment),
                    start_new_session=True,
                )
        except BaseException:
            self._remove_cgroup()
            shutil.rmtree(folder, ignore_errors=True)
            raise

    @property
    def pid(self) -> int:
        return self._popen.pid

    def output(self) -> dict[str, int]:
        """The descriptors of both streams, by name."""
        assert self._popen.stdout is not None
        assert self._popen.stderr is not None
        return {"stdout": self._popen.stdout.fileno(), "stderr": self._popen.stderr.fileno()}

    def wait(self) -> int:
        """Wait until the program itself ends; returns its exit code, -N for signal N."""
        return self._popen.wait()

    def send(self, name: str) -> None:
        """Send the signal `int` or `term` to the program and its children; Windows knows no such thing and ends
        them."""
        if sys.platform == "win32":
            self.kill()
        else:
            self._signal(signal.SIGINT if name == "int" else signal.SIGTERM)

    def kill(self) -> None:
        """End the program and all its children at once."""
        if sys.platform == "win32":
            self._job.end()
        else:
            self._signal(signal.SIGKILL)
            if self._cgroup is not None:
                with contextlib.suppress(OSError):
                    (self._cgroup / "cgroup.kill").write_text("1")
            for process in _marked(f"{MARK}={self._folder}".encode()):
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)

    def abandon(self) -> None:
        """End it, where nobody reads its output."""
        self.kill()
        self.wait()
        self.finish(reading=False)

    def finish(self, *, reading: bool) -> None:
        """Close what belongs to the ended program, and delete its folder. The streams stay open if a thread is still
        `reading` one of them."""
        output = () if reading else (self._popen.stdout, self._popen.stderr)
        for stream in (self._popen.stdin, *output):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if sys.platform == "win32":
            self._job.close()
        self._remove_cgroup()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _remove_cgroup(self) -> None:
        if self._cgroup is None:
            return
        for _ in range(50):
            with contextlib.suppress(OSError):
                self._cgroup.rmdir()
            if not self._cgroup.exists():
                break
            time.sleep(0.01)  # a process in it is still ending

    def _signal(self, number: int) -> None:
        if sys.platform != "win32":
            # The guard stays in the group until it is killed, so that the group's number is not given to another.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, number)


def _new_cgroup(name: str) -> Path | None:
    """A control group for the program, below Hookline's own, whose processes the system ends at once; None where
    Hookline may not make one, or the kernel (before 5.14) cannot do that."""
    try:
        own = Path("/proc/self/cgroup").read_text("ascii").split("0::", 1)[1].splitlines()[0]
        mounts = Path("/proc/self/mounts").read_text("utf-8").splitlines()
        root = next(mount.split()[1] for mount in mounts if mount.split()[2] == "cgroup2")
        cgroup = Path(root + own) / name
        cgroup.mkdir()
    except (OSError, LookupError, StopIteration):
        return None
    if not (cgroup / "cgroup.kill").exists():
        cgroup.rmdir()
        return None
    return cgroup


def _marked(mark: bytes) -> list[int]:
    """The processes with this in their environment; none where there is no /proc."""
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in file.read_bytes().split(b"\0"):
                found.append(int(file.parent.name))
    return found
