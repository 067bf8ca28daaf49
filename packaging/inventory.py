"""Takes stock of a bundle: every file in it belongs to Hookline or to a component by others."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from bundle import VENV
from components import Component, checked
from distributions import Environment, environment_of, python_components, shipped
from environment import venv_python
from libraries import library_components
from project import DIST, PackagingError

# Made by PyInstaller, from Hookline and from Python; with Apple's files of a program on macOS.
OWN = (
    "hookline*",
    "licen[cs]e",
    "third-party-licences.txt",
    "base_library.zip",
    "info.plist",
    "pkginfo",
    "coderesources",
)
# Python in a bundle for macOS, and what Microsoft lets Python's own installer pass on, as the licence of that says.
PYTHONS = ("python", "vcruntime*.dll", "msvcp*.dll", "ucrtbase.dll", "api-ms-win-*.dll")
PYTHON_PLACES = ("lib/*", "DLLs/*", "*.dll")


def made_bundle() -> tuple[Path, Path, Path]:
    """The bundle in `dist/`, its program, and the interpreter that it was made with; PackagingError without one."""
    bundle = DIST / ("Hookline.app" if sys.platform == "darwin" else "hookline")
    program = {"darwin": "Contents/MacOS/hookline", "win32": "hookline.exe"}.get(sys.platform, "hookline")
    if not (bundle / program).is_file():
        raise PackagingError(f"{bundle / program} is missing; run packaging/bundle.py first.")
    return bundle, bundle / program, venv_python(VENV)


def files_of(bundle: Path) -> Iterator[Path]:
    """The files of a bundle, without links to others of them, and without Hookline's own data."""
    for path in sorted(bundle.rglob("*")):
        if path.is_file() and not path.is_symlink() and "app" not in path.relative_to(bundle).parts[:-1]:
            yield path


def known_names(environment: Environment) -> set[str]:
    """The names, in lower case, of all files that came with Python or were installed for it, and may be in a bundle."""
    names = {file.name for found in shipped(environment) for file in found.files or ()}
    names |= {path.name for place in PYTHON_PLACES for path in environment.base.glob(place)}
    names |= {path.name for path in (environment.standard_library / "lib-dynload").glob("*")}
    # Windows does not tell the cases apart, and PyInstaller writes some names in another.
    return {name.lower() for name in names}


def strangers(files: Iterable[Path], names: set[str]) -> set[str]:
    """The names of the files that are neither Hookline's own nor among the known `names`."""
    found = {path.name for path in files if path.name.lower() not in names}
    return {name for name in found if not any(fnmatch.fnmatch(name.lower(), own) for own in OWN + PYTHONS)}


def take_stock(bundle: Path, python: Path) -> list[Component]:
    """The components that `bundle` contains, made in the environment of the interpreter `python`; sorted.

    PackagingError when a file belongs to nobody, or a component has no licence.
    """
    environment = environment_of(python)
    files = list(files_of(bundle))
    left = strangers(files, known_names(environment))
    if left and sys.platform != "linux":
        raise PackagingError(f"{', '.join(sorted(left))} in the bundle belongs to no known component.")
    return checked([*python_components(environment, files), *(library_components(left) if left else ())])
