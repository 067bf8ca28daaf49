"""What all Linux packages have: the program and its link, and below `usr/share` menu entry, metainfo, icons, manual,
completions and documents."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

from app.cli.commands.completion import script_of
from linux.manual import manual_page
from project import ROOT

HERE = Path(__file__).resolve().parent
DESKTOP_ENTRY = HERE / "hookline.desktop"
UNIT = HERE / "hookline@.service"
METAINFO = HERE / "io.hookline.Hookline.metainfo.xml"
DRAWINGS = ROOT / "resources/icons"
DEBIAN_ZSH = "vendor-completions"
"""The folder below share/zsh where Debian's packages put completions."""
COMMON_ZSH = "site-functions"
"""The same for Fedora, openSUSE and zsh's own default."""


def sorted_version(version: str) -> str:
    """The version as dpkg and rpm sort it: `1.0rc1` comes before `1.0` when written `1.0~rc1`."""
    return re.sub(r"(?<=\d)\.?(a|b|rc|dev)(?=\d)", r"~\1", version)


def stage_program(usr: Path, bundle: Path) -> None:
    """Put the onedir `bundle` into `usr/lib/hookline`, and the link to its program into `usr/bin`."""
    shutil.copytree(bundle, usr / "lib/hookline", symlinks=True)
    (usr / "bin").mkdir()
    (usr / "bin/hookline").symlink_to("../lib/hookline/hookline")


def stage_unit(usr: Path) -> None:
    """Put the unit for systemd where packages have theirs. Nothing starts it."""
    put(UNIT, usr / "lib/systemd/system" / UNIT.name)


def stage_share(usr: Path, icons: Path, *, zsh: str = DEBIAN_ZSH, licences: Path | None = None) -> None:
    """Fill `usr/share`. `icons` holds `hookline-SIZE.png`; `licences` is the list of what the bundle contains.

    FileNotFoundError names what has not been made yet.
    """
    share = usr / "share"
    put(DESKTOP_ENTRY, share / "applications/hookline.desktop")
    put(METAINFO, share / "metainfo/io.hookline.Hookline.metainfo.xml")
    _icons(share / "icons/hicolor", icons)
    _documents(share / "doc/hookline", licences)
    write(share / "man/man1/hookline.1.gz", packed(manual_page()))
    write(share / "bash-completion/completions/hookline", script_of("bash").encode())
    write(share / "zsh" / zsh / "_hookline", script_of("zsh").encode())
    write(share / "fish/vendor_completions.d/hookline.fish", script_of("fish").encode())


def _icons(hicolor: Path, icons: Path) -> None:
    pictures = sorted(icons.glob("hookline-*.png"))
    if not pictures:
        raise FileNotFoundError(f"{icons} holds no hookline-SIZE.png. Run packaging/icons.py first.")
    for picture in pictures:
        size = picture.stem.removeprefix("hookline-")
        put(picture, hicolor / f"{size}x{size}/apps/hookline.png")
    put(DRAWINGS / "hookline.svg", hicolor / "scalable/apps/hookline.svg")
    put(DRAWINGS / "hookline-symbolic.svg", hicolor / "symbolic/apps/hookline-symbolic.svg")


def _documents(doc: Path, licences: Path | None) -> None:
    put(HERE / "copyright", doc / "copyright")
    write(doc / "NEWS.gz", packed((ROOT / "CHANGELOG.md").read_text("utf-8")))
    if licences is not None:
        write(doc / "THIRD-PARTY-LICENCES.txt.gz", packed(licences.read_text("utf-8")))


def put(source: Path, target: Path) -> None:
    """Copy a file, its folders made on the way; only its content, so that modes do not depend on the checkout."""
    write(target, source.read_bytes())


def write(target: Path, content: bytes) -> None:
    """Write a file that everyone may read, its folders made on the way."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def packed(text: str) -> bytes:
    """The text in gzip's form, the same bytes for the same text."""
    return gzip.compress(text.encode(), 9, mtime=0)


def set_modes(tree: Path) -> None:
    """Folders 755, programs 755, all other files 644, whatever the umask was."""
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or is_program(path) else 0o644)


def is_program(path: Path) -> bool:
    """Whether the file is to be started. Wheels call texts executable; a library is read, not started."""
    if ".so" in path.suffixes or not path.stat().st_mode & 0o100:
        return False
    with path.open("rb") as file:
        return file.read(4).startswith((b"\x7fELF", b"#!"))
