"""The software in Hookline with its licences, read from what is installed, or from the same records in a bundle."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from sqlite3 import sqlite_version
from ssl import OPENSSL_VERSION

from msgspec.structs import replace

from app import __version__
from app.core.files import Component, resource

PACKAGES = (
    "PySide6-Essentials",
    "aiohttp",
    "backports.zstd",
    "brotli",
    "certifi",
    "filelock",
    "httpx",
    "msgspec",
    "peewee",
    "platformdirs",
    "prometheus-client",
    "psycopg",
    "psycopg-binary",
    "pygments",
    "qasync",
    "segno",
    "sniffio",
    "wcwidth",
)
"""Hookline's direct dependencies, with those of the window and of a team's store; theirs are found through them."""
PHOSPHOR = "1.3.0"
"""The version of the font in `resources/fonts`."""
QT = ("PySide6_Essentials", "shiboken6")
QT_LICENCE = "LGPL-3.0-only"
SQLITE = "SQLite is in the public domain: its authors gave up their copyright. Anyone may use it for any purpose.\n"
USUAL_NAMES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "COPYING")
"""Licence files of a package that does not name them."""
ICU_RELICENSED = 74
RULER = f"\n{'-' * 72}\n\n"
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def components() -> list[Component]:
    """Hookline, what it is built on, and every package, by name. Reads many small files."""
    found = _needed()
    packages = sorted((_component(package) for package in found), key=lambda component: component.name.lower())
    qt = _text("Qt", "LGPL-3.0", "GPL-3.0")
    version = next((package.version for package in packages if package.name in QT), None)
    return [
        Component(name="Hookline", version=__version__, licence="MIT", text=_text("Hookline")),
        Component(name="Python", version=platform.python_version(), licence="PSF-2.0", text=_text("Python")),
        *([Component(name="Qt", version=version, licence=QT_LICENCE, text=qt)] if version else []),
        *_icu(found),
        Component(name="OpenSSL", version=OPENSSL_VERSION.split()[1], licence="Apache-2.0", text=_text("Apache-2.0")),
        Component(name="SQLite", version=sqlite_version, licence="Public domain", text=SQLITE),
        Component(name="Phosphor Icons", version=PHOSPHOR, licence="MIT", text=_text("Phosphor")),
        *(package if package.name not in QT else replace(package, licence=QT_LICENCE, text=qt) for package in packages),
    ]


def _icu(packages: Iterable[Distribution]) -> Iterator[Component]:
    """Unicode's library, which Qt includes on some systems."""
    folders = (package.locate_file("PySide6/Qt/lib") for package in packages if package.metadata["Name"] in QT)
    found = {file.suffix[1:] for folder in folders for file in Path(str(folder)).glob("libicudata.so.*")}
    for version in sorted(found):
        licence = "Unicode-3.0" if int(version) >= ICU_RELICENSED else "Unicode-DFS-2016"
        yield Component(name="ICU", version=version, licence=licence, text=_text(licence))


def _needed() -> list[Distribution]:
    """The installed packages among all direct and indirect dependencies."""
    found: dict[str, Distribution] = {}
    waiting = list(PACKAGES)
    while waiting:
        name = waiting.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found:
            continue
        try:
            found[key] = distribution(name)
        except PackageNotFoundError:
            continue  # needed on another system or by another Python
        asked = [line for line in found[key].requires or [] if "extra ==" not in line]
        waiting += [match[0] for line in asked if (match := _NAME.match(line))]
    return list(found.values())


def _component(package: Distribution) -> Component:
    data = package.metadata
    # Older packages have the texts beside the metadata, newer ones in a folder of their own.
    names = data.get_all("License-File") or USUAL_NAMES
    texts = [package.read_text(f"licenses/{name}") or package.read_text(name) for name in names]
    text = RULER.join(text.strip() + "\n" for text in texts if text)
    said = next((data[key] for key in ("License-Expression", "License") if key in data), "")
    if not said and "Permission is hereby granted, free of charge" in text:
        said = "MIT"
    return Component(name=data["Name"], version=package.version, licence=said or "See the text", text=text)


def _text(*names: str) -> str:
    return "\n".join(resource(f"licences/{name}.txt").read_text("utf-8") for name in names)
