"""Makes `hookline_VERSION_ARCHITECTURE.deb` for Debian, Ubuntu and their relatives.

`PYTHONPATH=packaging .venv/bin/python -m linux.deb` makes it alone, from a bundle and icons that are there already.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
import tempfile
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import project
from linux.needed import needed_packages
from linux.share import packed, put, set_modes, sorted_version, stage_program, stage_share, stage_unit, write
from whole import made_whole

HERE = Path(__file__).resolve().parent
LIB = "usr/lib/hookline"
DOC = "usr/share/doc/hookline"
OVERRIDES = HERE / "hookline.lintian-overrides"
MAINTAINER = "The Hookline authors <hello@hookline.example>"
DESCRIPTION = "catches webhooks on the desktop, exactly as they were sent"
# What the program reads rather than links to: keyboard layouts, and a font, of which any will do.
READ = (
    "fonts-dejavu-core | fonts-noto-core | fonts-liberation | fonts-ubuntu",
    "xkb-data",
)
# Opening the data folder and links: without it, only that does not work.
RECOMMENDED = ("xdg-utils",)
SUGGESTED = ("fonts-inter", "fonts-jetbrains-mono", "fonts-noto-color-emoji")


def architecture() -> str:
    """This machine's, as dpkg calls it: `amd64`."""
    return project.run("dpkg", "--print-architecture").strip()


def file_name(version: str) -> str:
    """What the package is to be called."""
    return f"hookline_{sorted_version(version)}_{architecture()}.deb"


def make_deb(bundle: Path, icons: Path, out: Path, version: str | None = None, *, licences: Path | None = None) -> Path:
    """Pack the onedir `bundle` as the file `out`; `icons` holds `hookline-SIZE.png`, `licences` all licences' texts.

    `version` is Hookline's own unless given. PackagingError when a Debian tool is missing or refuses.
    """
    version = sorted_version(version or project.version())
    with tempfile.TemporaryDirectory(prefix="hookline-deb-") as folder:
        tree = Path(folder) / "tree"
        _stage(tree, bundle, icons, version, licences)
        set_modes(tree)
        # dpkg-shlibdeps knows the package's own libraries by this folder.
        (tree / "DEBIAN").mkdir()
        depends = sorted({*needed_packages(tree, f"/{LIB}/_internal"), *READ})
        (tree / "DEBIAN/md5sums").write_text(_sums(tree), "utf-8")
        (tree / "DEBIAN/control").write_text(_control(tree, version, depends), "utf-8")
        set_modes(tree / "DEBIAN")
        with made_whole(out) as part:
            # Files are dated by it, and none later.
            environment = os.environ | {"SOURCE_DATE_EPOCH": str(project.epoch())}
            # -z9 makes it 1.6 % smaller; to unpack it takes 65 MiB of memory.
            options = ("--root-owner-group", "-Zxz", "-z9", "--build")
            project.run("dpkg-deb", *options, tree, part, environment=environment)
    return out


def _stage(tree: Path, bundle: Path, icons: Path, version: str, licences: Path | None) -> None:
    """Lay out everything under `tree` as it is to lie on the system."""
    stage_program(tree / "usr", bundle)
    stage_unit(tree / "usr")
    stage_share(tree / "usr", icons, licences=licences)
    put(OVERRIDES, tree / "usr/share/lintian/overrides/hookline")
    write(tree / DOC / "changelog.gz", packed(_changelog(version)))


def _changelog(version: str) -> str:
    """Debian's form of it, which names the package's version; what has changed is told in one place."""
    date = format_datetime(datetime.fromtimestamp(project.epoch(), UTC))
    told = f"Hookline {version}: what has changed is told in NEWS.gz beside this file."
    return f"hookline ({version}) stable; urgency=medium\n\n  * {told}\n\n -- {MAINTAINER}  {date}\n"


def _sums(tree: Path) -> str:
    """A line for each file, which `dpkg --verify` compares."""
    files = sorted(path for path in (tree / "usr").rglob("*") if path.is_file() and not path.is_symlink())
    return "".join(f"{_md5(file)}  {file.relative_to(tree)}\n" for file in files)


def _md5(file: Path) -> str:
    with file.open("rb") as stream:
        # Not for security: Debian's format has no other.
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def installed_kib(tree: Path) -> int:
    """The size of what is installed in KiB, counted as Debian counts it: a file by its begun KiB, all else 1."""
    paths = [path for path in tree.rglob("*") if path.relative_to(tree).parts[0] != "DEBIAN"]
    return sum(-(-path.stat().st_size // 1024) if path.is_file() and not path.is_symlink() else 1 for path in paths)


def _control(tree: Path, version: str, depends: list[str]) -> str:
    paragraphs = project.DESCRIPTION.strip().split("\n\n")
    description = "\n .\n".join(re.sub("^", " ", paragraph, flags=re.MULTILINE) for paragraph in paragraphs)
    fields = {
        "Package": "hookline",
        "Version": version,
        "Architecture": architecture(),
        "Maintainer": MAINTAINER,
        "Installed-Size": str(installed_kib(tree)),
        "Depends": ", ".join(depends),
        "Recommends": ", ".join(RECOMMENDED),
        "Suggests": ", ".join(SUGGESTED),
        "Section": "web",
        "Priority": "optional",
        "Homepage": project.HOME,
        "Description": f"{DESCRIPTION}\n{description}",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def main() -> int:
    """Make the package from what lies in dist/ and build/."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, default=project.DIST / "hookline", help="the onedir bundle")
    parser.add_argument("--icons", type=Path, default=project.ICONS, help="what packaging/icons.py made")
    parser.add_argument("--licences", type=Path, help="the list of third-party licences to ship")
    parser.add_argument("--out", type=Path, help="the file to make; without, it goes into dist/")
    options = parser.parse_args()
    out = options.out or project.DIST / file_name(project.version())
    try:
        print(make_deb(options.bundle, options.icons, out, licences=options.licences))
    except (project.PackagingError, FileNotFoundError) as error:
        print(f"deb: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
