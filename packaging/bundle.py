#!/usr/bin/env python3
"""Makes the program that needs no Python: a folder `dist/hookline/`, or one file, with PyInstaller.

It is made in an environment of its own that holds the packages to run and PyInstaller, so that nothing else gets in.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from environment import (
    SetUpError,
    dotted,
    find_python,
    install_packages,
    make_venv,
    stamp,
    stamp_file,
    up_to_date,
    venv_python,
    version_of,
    works,
)
from project import BUILD, DIST, ICONS, ROOT, PackagingError, epoch, told, version
from system import output
from whole import remove

KIND = "bundle"
VENV = BUILD / "bundle-venv"
WORK = BUILD / "pyinstaller"
LOG = BUILD / "pyinstaller.log"
SYSTEMS = {"linux": "linux", "win32": "windows", "darwin": "macos"}
FIND_LIBRARY = "from PyInstaller.depend.bindepend import get_python_library_path as find; print(find() or '')"


def make_bundle(onefile: bool = False) -> Path:
    """The folder `dist/hookline` (on macOS `dist/Hookline.app`), or the one file, made anew; PackagingError if not."""
    lacking = [tool for tool in ("objdump", "strip") if sys.platform == "linux" and not shutil.which(tool)]
    if lacking:
        raise PackagingError(f"{' and '.join(lacking)} missing: install the package binutils, then run this again.")
    python = bundle_python()
    if not output(str(python), "-c", FIND_LIBRARY):
        own = dotted(version_of(str(python)))
        raise PackagingError(
            f"The Python of {VENV} ({own}) has no shared library, which a bundle is made of."
            " Use one that was built with --enable-shared, or install your system's libpython package."
        )
    make_icons()
    run_pyinstaller(python, onefile)
    return take(onefile)


def bundle_python() -> Path:
    """The interpreter of the bundle's environment, which is made anew whenever Python or the lock changed."""
    try:
        python, found = find_python()
        if not (works(VENV) and up_to_date(ROOT, VENV, KIND, version_of(str(venv_python(VENV))))):
            VENV.parent.mkdir(exist_ok=True)
            make_venv(VENV, python, found)
            install_packages(ROOT, VENV, KIND)
            stamp_file(VENV, KIND).write_text(stamp(ROOT, KIND, version_of(str(venv_python(VENV)))), "utf-8")
    except SetUpError as error:
        raise PackagingError(str(error)) from error
    return venv_python(VENV)


def make_icons() -> None:
    """Windows and macOS want the icon inside the program; on Linux it lies beside it, where packages put it."""
    if sys.platform == "linux":
        return
    import icons  # draws with Qt, which nothing else here needs

    icons.make_icons(ICONS)


def onefile_name() -> str:
    """The one file's name without `.exe`, as `hookline-1.2-linux-x86_64`."""
    return f"hookline-{version()}-{SYSTEMS[sys.platform]}-{platform.machine()}"


def run_pyinstaller(python: Path, onefile: bool) -> None:
    """Leave what PyInstaller makes in `build/pyinstaller/dist`; what it says goes into a log."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    # The same sources give the same bytes, as far as the tools allow.
    environment |= {"PYTHONHASHSEED": "1", "SOURCE_DATE_EPOCH": str(epoch())}
    environment["PYINSTALLER_CONFIG_DIR"] = str(WORK)
    places = ("--distpath", str(WORK / "dist"), "--workpath", str(WORK))
    kind = ("--", "--onefile") if onefile else ()
    command = [str(python), "-m", "PyInstaller", "--noconfirm", *places, str(ROOT / "build.spec"), *kind]
    WORK.mkdir(parents=True, exist_ok=True)
    with LOG.open("w", encoding="utf-8") as log:
        failed = subprocess.run(command, cwd=ROOT, env=environment, stdout=log, stderr=log, check=False).returncode
    if failed:
        # On Windows its encoding is another.
        lines = LOG.read_text("utf-8", errors="replace").strip().splitlines()
        raise PackagingError(f"PyInstaller failed: {lines[-1] if lines else 'no words'} (all of it: {LOG})")


def take(onefile: bool) -> Path:
    """Move what was made into `dist/`, where an earlier one stays until the new one is whole."""
    if onefile:
        name = onefile_name() + (".exe" if sys.platform == "win32" else "")
    else:
        name = "Hookline.app" if sys.platform == "darwin" else "hookline"
    DIST.mkdir(exist_ok=True)
    remove(DIST / name)
    return (WORK / "dist" / name).rename(DIST / name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--onefile", action="store_true", help="one file that unpacks itself at each start")
    options = parser.parse_args()
    return told("bundle", lambda: make_bundle(options.onefile))


if __name__ == "__main__":
    sys.exit(main())
