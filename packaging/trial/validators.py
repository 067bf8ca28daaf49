"""What the systems' own checkers say of desktop files, packages, manual and workflows."""

from __future__ import annotations

import sys
from pathlib import Path

from project import ROOT
from trial.room import run

LINUX = ROOT / "packaging" / "linux"


def desktop_entry() -> str:
    """The desktop entry, without a warning or a hint."""
    said = run("desktop-file-validate", LINUX / "hookline.desktop")
    return said.stdout.strip()


def metainfo() -> str:
    """The AppStream metainfo."""
    return run("appstreamcli", "validate", "--no-net", "--explain", LINUX / "io.hookline.Hookline.metainfo.xml").stdout


def lintian(package: Path) -> str:
    """The .deb. What is overridden is explained beside each override."""
    command = ("lintian", "--allow-root", "--display-info", "--pedantic", "--fail-on", "error,warning", package)
    done = run(*command)
    return (done.stdout + done.stderr).strip() or "no tags"


def manual(page: Path) -> str:
    """The manual page, by mandoc and as man would show it."""
    run("mandoc", "-T", "lint", "-W", "warning", page)
    run(
        "sh",
        "-c",
        'test -z "$(LC_ALL=C.UTF-8 MANROFFSEQ="" MANWIDTH=80 man --warnings -l "$1" 2>&1 >/dev/null)"',
        "sh",
        page,
    )
    return ""


def workflows() -> str:
    """Every workflow, against the schema that check-jsonschema brings along."""
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    program = Path(sys.executable).parent / "check-jsonschema"
    run(program, "--builtin-schema", "vendor.github-workflows", *files)
    return " ".join(file.name for file in files)
