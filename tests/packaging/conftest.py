"""Lets the tests import the packaging scripts as they import each other: by their names in `packaging/`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

SCRIPTS = str(Path(__file__).parents[2] / "packaging")
if SCRIPTS not in sys.path:
    # At the end: `packaging` is also the name of a package that pytest uses, whose modules come first.
    sys.path.append(SCRIPTS)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A stand-in for `dist/hookline`: its program prints the words it was handed, one to a line."""
    folder = tmp_path / "bundle" / "hookline"
    (folder / "_internal" / "lib").mkdir(parents=True)
    program = folder / "hookline"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', "utf-8")
    program.chmod(0o755)
    (folder / "_internal" / "lib" / "libpart.so.1.2").write_bytes(b"part")
    (folder / "_internal" / "libpart.so.1").symlink_to("lib/libpart.so.1.2")
    return folder


@pytest.fixture
def share(tmp_path: Path) -> Path:
    """A stand-in for the `usr/share` that all Linux packages bring."""
    folder = tmp_path / "usr" / "share"
    files = {
        "applications/hookline.desktop": "[Desktop Entry]\nType=Application\nName=Hookline\nVersion=1.4\n"
        "Exec=hookline %u\nIcon=hookline\nCategories=Development;\nActions=new;\n\n"
        "[Desktop Action new]\nName=New endpoint\nExec=hookline --new-endpoint\n",
        "icons/hicolor/256x256/apps/hookline.png": "png",
        "icons/hicolor/scalable/apps/hookline.svg": "<svg/>",
        "man/man1/hookline.1.gz": "manual",
        "zsh/site-functions/_hookline": "#compdef hookline\n",
        "doc/hookline/copyright": "MIT\n",
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, "utf-8")
    return folder


@pytest.fixture
def papers(tmp_path: Path) -> list[Path]:
    """Hookline's own licence and those of what it is built on."""
    made = [tmp_path / "LICENSE", tmp_path / "THIRD-PARTY-LICENCES.txt"]
    for paper in made:
        paper.write_text(f"{paper.name}\n", "utf-8")
    return made
