"""A job object of Windows: all processes in it end when its last handle is closed, which the system does for a process
that ends in whatever way."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Mapping, Sequence
from ctypes import wintypes
from typing import Any

KILL_ON_JOB_CLOSE = 0x2000
EXTENDED_LIMITS = 9
CREATE_SUSPENDED = 0x4
_ELSEWHERE = "There are job objects on Windows only."


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("PerProcessUserTimeLimit", wintypes.LARGE_INTEGER),
        ("PerJobUserTimeLimit", wintypes.LARGE_INTEGER),
        ("LimitFlags", wintypes.DWORD),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", wintypes.DWORD),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", wintypes.DWORD),
        ("SchedulingClass", wintypes.DWORD),
    )


class _Limits(ctypes.Structure):
    _fields_ = (
        ("BasicLimitInformation", _BasicLimits),
        ("IoInfo", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


class Job:
    """An empty job. Raises OSError."""

    _kernel: Any
    _handle: wintypes.HANDLE

    def __init__(self) -> None:
        if sys.platform != "win32":
            raise OSError(_ELSEWHERE)
        self._kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        self._kernel.CreateJobObjectW.restype = wintypes.HANDLE
        self._handle = wintypes.HANDLE(self._checked(self._kernel.CreateJobObjectW(None, None)))
        limits = _Limits()
        limits.BasicLimitInformation.LimitFlags = KILL_ON_JOB_CLOSE
        size = ctypes.sizeof(limits)
        self._checked(self._kernel.SetInformationJobObject(self._handle, EXTENDED_LIMITS, ctypes.byref(limits), size))

    def add(self, process: int) -> None:
        """Add the process with this handle; its future children belong to the job too."""
        self._checked(self._kernel.AssignProcessToJobObject(self._handle, wintypes.HANDLE(process)))

    def end(self) -> None:
        """End all processes in the job."""
        self._kernel.TerminateJobObject(self._handle, 1)

    def close(self) -> None:
        """Close the handle, which ends what still runs."""
        handle, self._handle = self._handle, wintypes.HANDLE(None)
        if handle:
            self._kernel.CloseHandle(handle)

    def _checked(self, result: int) -> int:
        if sys.platform != "win32":
            raise OSError(_ELSEWHERE)
        if not result:
            raise ctypes.WinError(ctypes.get_last_error())
        return result


def start_in_job(command: Sequence[str], environment: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], Job]:
    """Start a program in a job of its own, before it can start others."""
    if sys.platform != "win32":
        raise OSError(_ELSEWHERE)
    job = Job()
    try:
        popen = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            creationflags=CREATE_SUSPENDED | subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP,
        )
        handle = int(vars(popen)["_handle"])  # what subprocess itself waits for
        try:
            job.add(handle)
            # Popen closes the thread's handle, so the process is resumed as a whole.
            ctypes.WinDLL("ntdll").NtResumeProcess(wintypes.HANDLE(handle))
        except BaseException:
            popen.kill()
            raise
    except BaseException:
        job.close()
        raise
    return popen, job
