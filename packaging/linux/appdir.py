"""Makes `Hookline.AppDir`: a folder that starts from anywhere, and what an AppImage is made of."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from linux.share import set_modes, stage_program
from project import PackagingError
from whole import made_whole

# Resolved through links, so that a link to AppRun starts it too; `exec` leaves no shell between.
APPRUN = """\
#!/bin/sh
here=$(dirname -- "$(readlink -f -- "$0")")
exec "$here/usr/lib/hookline/hookline" "$@"
"""
ICONS = "usr/share/icons/hicolor"
LINKS = {
    "hookline.desktop": "usr/share/applications/hookline.desktop",
    "hookline.png": f"{ICONS}/256x256/apps/hookline.png",
    "hookline.svg": f"{ICONS}/scalable/apps/hookline.svg",
    ".DirIcon": f"{ICONS}/256x256/apps/hookline.png",
}


def make_appdir(bundle: Path, share: Path, papers: Iterable[Path], out: Path) -> Path:
    """Put the onedir `bundle`, the `usr/share` tree and the `papers` (licences) together as the folder `out`."""
    with made_whole(out) as part:
        stage_program(part / "usr", bundle)
        shutil.copytree(share, part / "usr/share", symlinks=True)
        doc = part / "usr/share/doc/hookline"
        doc.mkdir(parents=True, exist_ok=True)
        for paper in papers:
            shutil.copyfile(paper, doc / paper.name)
        for name, target in LINKS.items():
            link = part / name
            link.symlink_to(target)
            if not link.exists():
                raise PackagingError(f"The AppDir lacks {target}.")
        apprun = part / "AppRun"
        apprun.write_text(APPRUN, "utf-8")
        apprun.chmod(0o755)
        set_modes(part)
    return out
