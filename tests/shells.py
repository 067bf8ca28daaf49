"""The POSIX shells that are on this machine; `sh` and bash have to be."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

SHELLS = ("sh", "bash", "dash", "zsh", "mksh", "busybox")
posix_only = pytest.mark.skipif(os.name == "nt", reason="shells of POSIX")


def run_in(shell: str, script: str, **environment: str) -> bytes:
    """What the script, given on standard input, prints; the test is skipped where the shell may be missing and is."""
    if not shutil.which(shell) and shell not in ("sh", "bash"):
        pytest.skip(f"{shell} is not installed")
    command = [shell, "sh"] if shell == "busybox" else [shell]
    # no proxy, and no start-up file
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith(("_proxy", "env"))}
    done = subprocess.run(
        command, input=script.encode(), env={**kept, **environment}, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout
