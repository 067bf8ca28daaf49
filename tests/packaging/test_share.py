"""What all Linux packages share lies where desktops, man and the shells look for it, the same from any checkout."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.commands.completion import script_of
from linux.share import COMMON_ZSH, set_modes, stage_share

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]


@pytest.fixture
def icons(tmp_path: Path) -> Path:
    folder = tmp_path / "icons"
    folder.mkdir()
    for size in (16, 512):
        (folder / f"hookline-{size}.png").write_bytes(b"%d pixels" % size)
    (folder / "hookline.ico").touch()
    return folder


@pytest.fixture
def close_umask() -> Iterator[None]:
    """As people have it who let nobody read their files."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_lies_where_it_is_looked_for(tmp_path: Path, icons: Path) -> None:
    stage_share(tmp_path / "usr", icons)
    found = files(tmp_path / "usr")
    assert set(found) == {
        "share/applications/hookline.desktop",
        "share/bash-completion/completions/hookline",
        "share/doc/hookline/NEWS.gz",
        "share/doc/hookline/copyright",
        "share/fish/vendor_completions.d/hookline.fish",
        "share/icons/hicolor/16x16/apps/hookline.png",
        "share/icons/hicolor/512x512/apps/hookline.png",
        "share/icons/hicolor/scalable/apps/hookline.svg",
        "share/icons/hicolor/symbolic/apps/hookline-symbolic.svg",
        "share/man/man1/hookline.1.gz",
        "share/metainfo/io.hookline.Hookline.metainfo.xml",
        "share/zsh/vendor-completions/_hookline",
    }
    assert found["share/icons/hicolor/16x16/apps/hookline.png"] == b"16 pixels"
    assert found["share/bash-completion/completions/hookline"] == script_of("bash").encode()
    assert gzip.decompress(found["share/man/man1/hookline.1.gz"]).startswith(b".TH HOOKLINE 1 ")
    assert gzip.decompress(found["share/doc/hookline/NEWS.gz"]) == (ROOT / "CHANGELOG.md").read_bytes()


def test_zsh_has_another_folder_elsewhere(tmp_path: Path, icons: Path) -> None:
    stage_share(tmp_path, icons, zsh=COMMON_ZSH)
    assert (tmp_path / "share/zsh/site-functions/_hookline").is_file()
    assert not (tmp_path / "share/zsh/vendor-completions").exists()


def test_licences_come_along_when_there_are_any(tmp_path: Path, icons: Path) -> None:
    (tmp_path / "all.txt").write_text("All of them.\n", "utf-8")
    stage_share(tmp_path / "usr", icons, licences=tmp_path / "all.txt")
    shipped = tmp_path / "usr/share/doc/hookline/THIRD-PARTY-LICENCES.txt.gz"
    assert gzip.decompress(shipped.read_bytes()) == b"All of them.\n"


def test_the_same_bytes_each_time(tmp_path: Path, icons: Path) -> None:
    for name in ("one", "two"):
        stage_share(tmp_path / name, icons)
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_missing_icons_are_named_with_what_makes_them(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none holds no hookline-SIZE\.png\. Run packaging/icons\.py"):
        stage_share(tmp_path, tmp_path / "none")


@pytest.mark.usefixtures("close_umask")
def test_modes_do_not_depend_on_who_packs(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    modes = {"bin/hookline": 0o700, "lib/libpart.so.1": 0o777, "share/program": 0o600, "share/LICENCE": 0o755}
    for name, mode in modes.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("Free." if "LICENCE" in name else "#!/bin/sh\n", "utf-8")
        (tree / name).chmod(mode)
    (tree / "bin/link").symlink_to("/nowhere")
    set_modes(tree)
    found = {path.relative_to(tree).as_posix(): path.lstat().st_mode & 0o777 for path in (tree, *tree.rglob("*"))}
    del found["bin/link"]
    folders = dict.fromkeys((".", "bin", "lib", "share"), 0o755)
    files = dict.fromkeys(modes, 0o644) | {"bin/hookline": 0o755}
    assert found == folders | files
