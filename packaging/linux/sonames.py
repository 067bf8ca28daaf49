"""What a bundle asks of the system it runs on: the libraries that it does not bring, and how new a glibc."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from linux.elf import programs
from project import run

# These belong to glibc, whose version is asked for on its own.
GLIBC = re.compile(r"^(ld-linux-x86-64|libc|libdl|libm|libpthread|libresolv|librt|libutil)\.so\.")
OPTIONAL = re.compile("wayland")
"""Only the plugins of Wayland ask for these, and Qt goes on to the next plugin when one cannot be loaded."""


@dataclass(frozen=True)
class Needs:
    """What the system has to have, and what makes more of Hookline work; library names such as `libGL.so.1`."""

    glibc: str
    required: tuple[str, ...]
    optional: tuple[str, ...]


def needs_of(bundle: Path) -> Needs:
    """Ask every program and library of the folder. A glibc older than 2.17 counts as that."""
    files = programs(bundle)
    text = run("objdump", "-p", *files) if files else ""
    versions = {(2, 17)} | {(int(major), int(minor)) for major, minor in re.findall(r"\bGLIBC_(\d+)\.(\d+)", text)}
    brought = {path.name for path in bundle.rglob("*")}
    asked = sorted(set(re.findall(r"^\s+NEEDED\s+(\S+)$", text, re.MULTILINE)) - brought)
    lacking = [name for name in asked if not GLIBC.match(name)]
    return Needs(
        ".".join(map(str, max(versions))),
        tuple(name for name in lacking if not OPTIONAL.search(name)),
        tuple(name for name in lacking if OPTIONAL.search(name)),
    )
