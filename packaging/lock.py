"""Writes the files in `requirements/` from `pyproject.toml`: all packages pinned, for all systems, hashed.

Pins that still fit are kept. Arguments go to uv: `--upgrade`, or `--upgrade-package NAME`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# No index address, header or origin in the files: they are the same wherever they are made.
COMPILE = (
    *("pip", "compile", "--quiet", "--universal", "--generate-hashes", "--python-version", "3.11"),
    *("--no-emit-index-url", "--no-header", "--no-annotate"),
)

EXTRAS = {
    "run": ("window", "team"),
    "dev": ("window", "team", "dev"),
    "bundle": ("window", "team", "bundle"),
    "docs": ("docs",),
}
"""Which extras of `pyproject.toml` each file has, with the packages to run."""


def main() -> int:
    """Compile with the newest uv, in a virtual environment thrown away afterwards; an address in a lock is an error."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", "uv"], check=True)
        for name, extras in EXTRAS.items():
            same = () if name == "run" else ("--constraint", "requirements/run.txt")
            lock = ROOT / "requirements" / f"{name}.txt"
            options = (*(f"--extra={extra}" for extra in extras), *same, "--output-file", lock)
            command = [programs / "uv", *COMPILE, *sys.argv[1:], *options, "pyproject.toml"]
            subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
            if "://" in lock.read_text("utf-8"):
                print(f"{lock} names an address; take it out before you commit it.", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
