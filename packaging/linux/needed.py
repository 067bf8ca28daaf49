"""Finds the Debian packages that a bundle needs, as wide as they may be."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import project
from linux.elf import programs

# dpkg-shlibdeps wants a source package around it, of which it reads only this.
CONTROL = "Source: hookline\n\nPackage: hookline\nArchitecture: any\n"
# Debian names for this library the version it was built with, though it has had one function only, since 2006.
WIDER = "libX11-xcb 1 libx11-xcb1\n"


def needed_packages(tree: Path, private: str) -> list[str]:
    """What `Depends` has to name for what is in the package `tree`, which has a `DEBIAN` folder.

    `private` is the folder, as installed, of libraries that the package brings itself.
    """
    with tempfile.TemporaryDirectory(prefix="hookline-shlibs-") as folder:
        source = Path(folder) / "debian"
        source.mkdir()
        (source / "control").write_text(CONTROL, "utf-8")
        (source / "shlibs.local").write_text(WIDER, "utf-8")
        options = ("-O", f"-S{tree}", f"-l{private}")
        line = project.run("dpkg-shlibdeps", *options, *programs(tree), folder=Path(folder)).strip()
    found = re.fullmatch(r"shlibs:Depends=(.*)", line)
    if found is None:
        raise project.PackagingError(f"dpkg-shlibdeps printed {line!r}.")
    return [either(package) for package in found[1].split(", ")]


def either(package: str) -> str:
    """The dependency by both names when it has one of the year 2024, when dates of 64 bits renamed libraries."""
    newer = re.fullmatch(r"(\S+)t64( .*)?", package)
    return f"{package} | {newer[1]}{newer[2] or ''}" if newer else package
