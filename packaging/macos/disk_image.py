"""Makes the disk image for macOS from `dist/Hookline.app`, on macOS only.

Signed ad hoc, which Apple silicon requires, unless MACOS_SIGNING_IDENTITY names a certificate in the keychain; then
also notarised when MACOS_NOTARY_APPLE_ID, MACOS_NOTARY_TEAM_ID and MACOS_NOTARY_PASSWORD are given.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# Started as a file, it finds only its own folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from licences import NAME as LICENCES
from project import DIST, ROOT, PackagingError, run, told, version

IDENTITY = "MACOS_SIGNING_IDENTITY"
NOTARY = ("MACOS_NOTARY_APPLE_ID", "MACOS_NOTARY_TEAM_ID", "MACOS_NOTARY_PASSWORD")
AD_HOC = "-"
ENTITLEMENTS = Path(__file__).with_name("entitlements.plist")
TRIES = 5


def make_disk_image(
    app: Path, out: Path, version: str, papers: Sequence[Path] = (), environment: Mapping[str, str] = os.environ
) -> Path:
    """Write `out/hookline-VERSION-macos-ARCH.dmg`: the program, with `papers` inside it, and a link to Applications.

    PackagingError says what is missing.
    """
    if platform.system() != "Darwin":
        raise PackagingError("A disk image for macOS is made on macOS only; the release workflow has a runner for it.")
    missing = [str(path) for path in (app / "Contents" / "Info.plist", *papers) if not path.is_file()]
    if missing:
        raise PackagingError(
            f"{' and '.join(missing)} missing. Make them first: packaging/bundle.py, packaging/licences.py"
        )
    identity, notary = signing(environment)
    image = out / file_name(version)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as given:
        stage = Path(given) / "Hookline"
        copy = stage / app.name
        shutil.copytree(app, copy, symlinks=True)
        for paper in papers:
            shutil.copy(paper, (copy / "Contents" / "Resources" / paper.name).with_suffix(".txt"))
        (stage / "Applications").symlink_to("/Applications")
        run(*sign_command(copy, identity))
        run("codesign", "--verify", "--deep", "--strict", copy)
        create(stage, image)
    for command in finishing_commands(image, identity, notary):
        run(*command)
    return image


def file_name(version: str) -> str:
    """The image's name, which tells the processor it is for: `arm64` or `x86_64`."""
    return f"hookline-{version}-macos-{platform.machine()}.dmg"


def signing(environment: Mapping[str, str]) -> tuple[str, list[str]]:
    """Who signs, and what the notary asks for (empty: not notarised); PackagingError when only part of it is given."""
    identity = environment.get(IDENTITY, "") or AD_HOC
    given = [name for name in NOTARY if environment.get(name)]
    if given and (identity == AD_HOC or len(given) < len(NOTARY)):
        lacking = [name for name in (IDENTITY, *NOTARY) if not environment.get(name)]
        raise PackagingError(f"Notarising needs {' and '.join(lacking)} as well.")
    return identity, [environment[name] for name in given]


def sign_command(app: Path, identity: str) -> list[str | Path]:
    """Signs the program and everything inside it."""
    command: list[str | Path] = ["codesign", "--force", "--deep", "--sign", identity]
    if identity != AD_HOC:
        # What the notary demands: the hardened runtime, and a time that somebody else vouches for.
        command += ["--options", "runtime", "--timestamp", "--entitlements", ENTITLEMENTS]
    return [*command, app]


def create(stage: Path, image: Path) -> None:
    """Pack the folder. Spotlight may be looking into it, so a refusal is tried again."""
    for attempt in range(TRIES):
        try:
            run("hdiutil", "create", "-volname", "Hookline", "-srcfolder", stage, "-format", "UDZO", "-ov", image)
        except PackagingError:
            if attempt == TRIES - 1:
                raise
            time.sleep(5)
        else:
            return


def finishing_commands(image: Path, identity: str, notary: Sequence[str]) -> list[list[str | Path]]:
    """What is done to the image itself: signed, then notarised and the notary's ticket put inside; nothing ad hoc."""
    commands: list[list[str | Path]] = []
    if identity != AD_HOC:
        commands.append(["codesign", "--force", "--timestamp", "--sign", identity, image])
    if notary:
        who = [part for pair in zip(("--apple-id", "--team-id", "--password"), notary, strict=True) for part in pair]
        commands.append(["xcrun", "notarytool", "submit", image, *who, "--wait"])
        commands.append(["xcrun", "stapler", "staple", image])
    return commands


def main() -> int:
    papers = (ROOT / "LICENSE", DIST / LICENCES)
    return told("disk image", lambda: make_disk_image(DIST / "Hookline.app", DIST, version(), papers))


if __name__ == "__main__":
    sys.exit(main())
