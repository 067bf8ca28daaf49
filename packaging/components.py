"""Everything by others that a bundle contains, file by file: names, versions, licences and their texts.

A file of the bundle that nobody answers for, or a component without a licence, is an error.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from project import ROOT, PackagingError

TEXTS = ROOT / "resources" / "licences"


@dataclass(frozen=True, order=True)
class Component:
    """One work by others. `licence` is an SPDX expression where one is known, else the licence's name in words."""

    name: str
    version: str
    licence: str
    purl: str
    texts: tuple[str, ...]
    needs: tuple[str, ...] = ()
    """Names of other components that it stands on."""
    remark: str = ""
    """What a reader of the list should know, one sentence."""


@dataclass(frozen=True)
class Part:
    """What lies inside of a distribution that its own metadata do not tell of: files by pattern, and whose they are."""

    name: str
    pattern: str
    version: re.Pattern[str]
    """Finds the version in the file's name."""
    licence: str
    text: str
    """The file in `resources/licences/`."""


LIBPQ = "PostgreSQL AND OLDAP-2.8 AND BSD-4-Clause AND MIT AND LGPL-2.1-or-later"
PARTS = (
    Part("Phosphor Icons", "phosphor-*.ttf", re.compile(r"-([\d.]+)\.ttf"), "MIT", "Phosphor.txt"),
    # Where Python brings it itself; on Linux the system does.
    Part("OpenSSL", "libcrypto-*.dll", re.compile(r"-(\d+)"), "Apache-2.0", "Apache-2.0.txt"),
    Part("OpenSSL", "libcrypto.*.dylib", re.compile(r"\.(\d+)"), "Apache-2.0", "Apache-2.0.txt"),
    # What the wheel of psycopg's driver brings, each with a part of its hash in the name.
    Part("OpenSSL", "libcrypto-*.so.*", re.compile(r"\.so\.([\d.]+)$"), "Apache-2.0", "Apache-2.0.txt"),
    Part("libpq", "libpq[-.]*", re.compile(r"\.so\.([\d.]+)$"), LIBPQ, "libpq.txt"),
    # Relicensed with version 74.
    Part("ICU", "libicudata.so.7[0-3]", re.compile(r"(\d+)$"), "Unicode-DFS-2016", "Unicode-DFS-2016.txt"),
    Part("ICU", "libicudata.so.*", re.compile(r"(\d+)$"), "Unicode-3.0", "Unicode-3.0.txt"),
)
FONTS = (".ttf", ".otf")


def text(name: str) -> str:
    """One of the texts that Hookline itself keeps, because those they belong to bring none."""
    return (TEXTS / name).read_text("utf-8")


def parts_of(files: Iterable[Path]) -> list[Component]:
    """The parts among the files; a font that no part describes is an error."""
    found = {}
    for path in files:
        part = next((part for part in PARTS if fnmatch.fnmatch(path.name, part.pattern)), None)
        if part is not None:
            version = part.version.search(path.name)
            label = version[1] if version else ""
            purl = f"pkg:generic/{part.name.lower().replace(' ', '-')}@{label}"
            found[part.name] = Component(part.name, label, part.licence, purl, (text(part.text),))
        elif path.suffix in FONTS:
            raise PackagingError(f"{path.name} has no known licence; add it to PARTS in packaging/components.py.")
    return sorted(found.values())


def checked(components: Iterable[Component]) -> list[Component]:
    """The components, sorted by name; PackagingError names every one that lacks a licence or its text."""
    found = sorted(components, key=lambda component: (component.name.lower(), component.version))
    lacking = [component.name for component in found if not (component.licence and any(component.texts))]
    if lacking:
        raise PackagingError(f"No licence was found for {', '.join(lacking)}.")
    return found
