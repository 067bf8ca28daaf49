"""The AppDir, started through AppRun from elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from linux.appdir import make_appdir
from project import PackagingError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="for Linux only")


@pytest.fixture
def appdir(tmp_path: Path, bundle: Path, share: Path, papers: list[Path]) -> Path:
    return make_appdir(bundle, share, papers, tmp_path / "some where" / "Hookline.AppDir")


def test_starts_from_any_folder_and_hands_words_on(appdir: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(appdir / "AppRun")
    for start in (appdir / "AppRun", tmp_path / "link"):
        done = subprocess.run([start, "a b", "*", ""], cwd="/", capture_output=True, text=True, check=True)
        assert done.stdout == "a b\n*\n\n"


def test_has_at_its_top_what_an_appimage_shows(appdir: Path) -> None:
    assert (appdir / ".DirIcon").read_text("utf-8") == (appdir / "hookline.png").read_text("utf-8") == "png"
    assert "Exec=hookline %u" in (appdir / "hookline.desktop").read_text("utf-8")
    assert not [path for path in appdir.rglob("*") if path.is_symlink() and not path.exists()]
    # Links that lead out of the folder would break in an AppImage.
    assert not [path for path in appdir.rglob("*") if not path.resolve().is_relative_to(appdir.resolve())]
    assert (appdir / "usr/share/doc/hookline/THIRD-PARTY-LICENCES.txt").is_file()


def test_without_its_icon_it_is_not_made(tmp_path: Path, bundle: Path, share: Path, papers: list[Path]) -> None:
    (share / "icons/hicolor/256x256/apps/hookline.png").unlink()
    with pytest.raises(PackagingError, match=r"lacks usr/share/icons/hicolor/256x256/apps/hookline\.png"):
        make_appdir(bundle, share, papers, tmp_path / "dist" / "Hookline.AppDir")
    assert list((tmp_path / "dist").iterdir()) == []
