"""Writes what package managers want to know of a release: a Homebrew cask, winget's manifests, a Flatpak manifest and a
PKGBUILD, with the checksums of the files in `dist/`.

`python packaging/manifests.py [--releases URL]` makes `dist/hookline-VERSION-manifests.tar.gz`; in it every file lies
where its repository has it. `URL/vVERSION/FILE` is where the release's files can be downloaded.
"""

from __future__ import annotations

import argparse
import gzip
import io
import re
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

from checksums import sha256
from project import DIST, HOME, ROOT, SUMMARY, PackagingError, epoch, told, version
from whole import made_whole

RELEASES = f"{HOME}/releases/download"
FILES = {
    "SHA256_LINUX": "hookline-{}-linux-x86_64.tar.gz",
    "SHA256_MACOS_ARM64": "hookline-{}-macos-arm64.dmg",
    "SHA256_MACOS_X86_64": "hookline-{}-macos-x86_64.dmg",
    "SHA256_SETUP": "hookline-{}-setup.exe",
}
"""The files that manifests name, by what stands for their checksums in the templates."""
WINGET = "winget/manifests/h/Hookline/Hookline/{}/Hookline.Hookline"
TEMPLATES = {
    "macos/hookline.rb.in": "homebrew/Casks/h/hookline.rb",
    "windows/winget/version.yaml.in": f"{WINGET}.yaml",
    "windows/winget/installer.yaml.in": f"{WINGET}.installer.yaml",
    "windows/winget/locale.yaml.in": f"{WINGET}.locale.en-US.yaml",
    "linux/flatpak.yml.in": "flathub/io.hookline.Hookline.yml",
    "linux/PKGBUILD.in": "aur/hookline-bin/PKGBUILD",
    "linux/SRCINFO.in": "aur/hookline-bin/.SRCINFO",
}
"""Where the manifest that is made of each template goes."""


def file_name(version: str) -> str:
    return f"hookline-{version}-manifests.tar.gz"


def values(dist: Path, version: str, releases: str) -> dict[str, str]:
    """What stands for what in the templates. PackagingError names the files that `dist` lacks."""
    paths = {name: dist / file.format(version) for name, file in FILES.items()}
    if missing := [path.name for path in paths.values() if not path.is_file()]:
        raise PackagingError(f"{dist} lacks {', '.join(missing)}. Put all files of the release there first.")
    found = {name: sha256(path) for name, path in paths.items()}
    found["SHA256_SETUP_UPPER"] = found["SHA256_SETUP"].upper()
    return {"HOME": HOME, "RELEASES": releases.rstrip("/"), "SUMMARY": SUMMARY, "VERSION": version, **found}


def manifests(given: Mapping[str, str]) -> dict[str, str]:
    """Each manifest by its path."""
    return {
        name.format(given["VERSION"]): re.sub(
            r"@([A-Z0-9_]+)@",
            lambda found: given[found[1]],
            (ROOT / "packaging" / template).read_text("utf-8"),
        )
        for template, name in TEMPLATES.items()
    }


def make_manifests(dist: Path, version: str, releases: str, epoch: int) -> Path:
    """Write `dist/hookline-VERSION-manifests.tar.gz`; the same bytes from the same files."""
    made = manifests(values(dist, version, releases))
    out = dist / file_name(version)
    with (
        made_whole(out) as part,
        part.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name, text in sorted(made.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(text.encode()), epoch
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--releases", default=RELEASES, help=f"where releases are downloaded from (default: {RELEASES})"
    )
    options = parser.parse_args()
    return told("manifests", lambda: make_manifests(DIST, version(), options.releases, epoch()))


if __name__ == "__main__":
    sys.exit(main())
