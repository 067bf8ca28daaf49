"""The Python distributions of the bundle's environment, Python itself and PyInstaller, as components with licences."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cyclonedx.spdx import is_expression
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from components import Component, parts_of, text
from project import ROOT, PackagingError, run

LOCK = ROOT / "requirements" / "run.txt"
# What their own metadata say in other words, or not at all.
SPELLINGS = {"Apache 2.0": "Apache-2.0", "MIT License": "MIT"}
LICENCES = {
    "peewee": "MIT",
    "pyinstaller": "GPL-2.0-or-later WITH Bootloader-exception",
    "segno": "BSD-3-Clause",
    "wcwidth": "MIT AND HPND-Markus-Kuhn",
}
QT = {"pyside6-essentials", "shiboken6"}
REMARKS = {
    "pyinstaller": "Its start-up code is part of the program; the exception to its GPL lets that have any licence.",
} | dict.fromkeys(QT, "Used under the LGPL; how to get its sources and replace it is told below.")
LICENCE_FILE = re.compile(r"licen[cs]e|copying|notice|authors", re.IGNORECASE)


@dataclass(frozen=True)
class Environment:
    """Where the bundle's packages and its Python lie."""

    site: Path
    base: Path
    standard_library: Path
    version: str


def environment_of(python: Path) -> Environment:
    """What that interpreter says of itself."""
    ask = "import json, sys, sysconfig as s; v = '.'.join(map(str, sys.version_info[:3])); "
    ask += "print(json.dumps([s.get_path('purelib'), sys.base_prefix, s.get_path('stdlib'), v]))"
    site, base, standard_library, version = json.loads(run(python, "-c", ask))
    return Environment(Path(site), Path(base), Path(standard_library), version)


def locked_names(lock: Path) -> set[str]:
    """The names that a requirements file pins."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==", lock.read_text("utf-8"), re.MULTILINE)
    return {canonicalize_name(name) for name in found}


def shipped(environment: Environment, lock: Path = LOCK) -> list[importlib.metadata.Distribution]:
    """The installed distributions that the program runs on; of those to build it only PyInstaller leaves anything."""
    wanted = locked_names(lock) | {"pyinstaller"}
    installed = importlib.metadata.distributions(path=[str(environment.site)])
    return [found for found in installed if canonicalize_name(found.name) in wanted]


def licence_of(found: importlib.metadata.Distribution) -> str:
    """The SPDX expression, from the distribution's metadata; empty when they do not tell."""
    name, metadata = canonicalize_name(found.name), found.metadata
    told = LICENCES.get(name) or next(
        (metadata[key] for key in ("License-Expression", "License") if key in metadata), ""
    )
    told = SPELLINGS.get(told.strip(), told.strip())
    return told if told and is_expression(told) else ""


def texts_of(found: importlib.metadata.Distribution) -> tuple[str, ...]:
    """The licence files among the distribution's metadata; Qt's bring none."""
    if canonicalize_name(found.name) in QT:
        return text("Qt.txt"), text("LGPL-3.0.txt"), text("GPL-3.0.txt")
    # Only of the metadata: some distributions carry others' whole packages inside.
    files = [file for file in found.files or () if file.parts[0].endswith(".dist-info")]
    chosen = [file for file in files if LICENCE_FILE.search(file.name)]
    return tuple(Path(str(file.locate())).read_text("utf-8", errors="replace") for file in sorted(chosen))


def needs_of(found: importlib.metadata.Distribution, names: Mapping[NormalizedName, str]) -> tuple[str, ...]:
    """Those of `names` (canonical to own spelling) that the distribution requires without extras, on this system."""
    wanted = (Requirement(line) for line in found.requires or ())
    met = {canonicalize_name(w.name) for w in wanted if w.marker is None or w.marker.evaluate({"extra": ""})}
    return tuple(sorted(names[name] for name in met & names.keys()))


def python_itself(environment: Environment) -> Component:
    """The interpreter and its standard library."""
    places = (environment.standard_library, environment.base)
    papers = [place / name for place in places for name in ("LICENSE.txt", "LICENSE") if (place / name).is_file()]
    if not papers:
        raise PackagingError(
            f"Python's licence was not found: neither {' nor '.join(map(str, places))} has LICENSE.txt."
        )
    purl = f"pkg:generic/python@{environment.version}"
    return Component("Python", environment.version, "Python-2.0.1", purl, (papers[0].read_text("utf-8"),))


def python_components(environment: Environment, files: Iterable[Path], lock: Path = LOCK) -> list[Component]:
    """Python, what is installed for it, and the parts of that which `files` of the bundle show to be in it."""
    found = shipped(environment, lock)
    names = {canonicalize_name(each.name): each.name for each in found}
    made = [python_itself(environment), *parts_of(files)]
    for each in found:
        name = canonicalize_name(each.name)
        made.append(
            Component(
                each.name,
                each.version,
                licence_of(each),
                f"pkg:pypi/{name}@{each.version}",
                texts_of(each),
                ("Python", *needs_of(each, names)),
                REMARKS.get(name, ""),
            )
        )
    return made
