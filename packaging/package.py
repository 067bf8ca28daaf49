#!/usr/bin/env python3
"""`make package`: makes everything that people on Linux are handed, into `dist/`, step by step.

Names of steps choose some of them; what those build on has to be there already then.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

# Started as a file, it finds only its own folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import bundle
import checksums
import icons
import licences
import sbom
from components import Component
from inventory import made_bundle, take_stock
from linux import appdir, deb, rpm, tarball
from linux.share import COMMON_ZSH, stage_share
from linux.sonames import Needs, needs_of
from project import BUILD, DIST, ICONS, ROOT, PackagingError, epoch, version
from whole import made_whole

VERSION = version()
LICENCES = DIST / licences.NAME
PAPERS = (ROOT / "LICENSE", LICENCES)
TARBALL = DIST / f"hookline-{VERSION}-linux-x86_64.tar.gz"
APPDIR = DIST / "Hookline.AppDir"


# -- What several steps build on -------------------------------------------------------------------------------------


@cache
def components() -> list[Component]:
    """What the bundle contains of others."""
    made, _, python = made_bundle()
    return take_stock(made, python)


@cache
def share() -> Path:
    """The tree for `usr/share`, as all but Debian's package have it."""
    usr = BUILD / "usr"
    with made_whole(usr) as part:
        stage_share(part, ICONS, zsh=COMMON_ZSH)
    return usr / "share"


@cache
def needs() -> Needs:
    return needs_of(made_bundle()[0])


# -- Steps -----------------------------------------------------------------------------------------------------------


def make_icons() -> Path:
    with made_whole(ICONS) as part:
        icons.make_icons(part)
    return ICONS


def make_folder() -> Path:
    return bundle.make_bundle()


def make_onefile() -> Path:
    return bundle.make_bundle(onefile=True)


def make_licences() -> Path:
    return licences.make_licences(components(), LICENCES, VERSION)


def make_sbom() -> Path:
    _, program, _ = made_bundle()
    return sbom.make_sbom(components(), program, DIST / sbom.file_name(VERSION), VERSION, epoch())


def make_deb() -> Path:
    return deb.make_deb(made_bundle()[0], ICONS, DIST / deb.file_name(VERSION), licences=LICENCES)


def make_rpm() -> Path:
    licence, out = licences.combined(components()), DIST / rpm.file_name(VERSION)
    return rpm.make_rpm(
        made_bundle()[0], share(), PAPERS, out, version=VERSION, epoch=epoch(), licence=licence, needs=needs()
    )


def make_tarball() -> Path:
    glibc = needs().glibc
    return tarball.make_tarball(made_bundle()[0], share(), PAPERS, TARBALL, version=VERSION, epoch=epoch(), glibc=glibc)


def make_appdir() -> Path:
    return appdir.make_appdir(made_bundle()[0], share(), PAPERS, APPDIR)


def make_checksums() -> Path:
    return checksums.make_checksums(DIST)


STEPS: dict[str, Callable[[], Path]] = {
    "icons": make_icons,
    "bundle": make_folder,
    "licences": make_licences,
    "sbom": make_sbom,
    "deb": make_deb,
    "rpm": make_rpm,
    "tarball": make_tarball,
    "appdir": make_appdir,
    "onefile": make_onefile,
    "checksums": make_checksums,
}


# -- The whole -------------------------------------------------------------------------------------------------------


def make_all(names: Sequence[str]) -> list[Path]:
    """Take the steps of these names in their order, telling of each; the paths of what was made, checksums last."""
    made: list[Path] = []
    for name, step in STEPS.items():
        if name in names or step is make_checksums:
            start = time.monotonic()
            print(f"{name:10}", end="", flush=True)
            made.append(step())
            print(f"{time.monotonic() - start:7.1f} s  {made[-1].relative_to(ROOT)}", flush=True)
    return made


def size_of(path: Path) -> int:
    """Bytes of the file, or of all files in the folder, links not followed."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.lstat().st_size for file in path.rglob("*") if file.is_symlink() or file.is_file())


def table(made: Sequence[Path]) -> str:
    """What lies in `dist/` now, with sizes."""
    rows = [(path.name + "/" * path.is_dir(), size_of(path)) for path in made if path.parent == DIST]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}} {size / 2**20:7.1f} MiB {size:>12,} bytes" for name, size in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"{', '.join(STEPS)}; without any: all of them")
    options = parser.parse_args()
    unknown = [name for name in options.steps if name not in STEPS]
    if unknown:
        parser.error(f"there is no step {', '.join(unknown)}; there are {', '.join(STEPS)}.")
    if sys.platform != "linux":
        print("package: this makes the packages for Linux, on Linux only.", file=sys.stderr)
        return 1
    # One date for all, also when the checkout moves on meanwhile.
    os.environ.setdefault("SOURCE_DATE_EPOCH", str(epoch()))
    # Icons are drawn by Qt, without a screen.
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    try:
        made = make_all(options.steps or list(STEPS))
    except (PackagingError, OSError) as error:
        print(f"\npackage: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\npackage: broken off; what is in dist/ is whole. Run make package again.", file=sys.stderr)
        return 130
    print(f"\nin {DIST}:\n{table(made)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
