"""Where the program thinks it lies, and that what it says starts it again does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app import __version__
from app.__main__ import main
from app.system import installation


def as_bundle(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """What a bundle's own Python says of itself."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(path))


def test_the_command_starts_hookline_from_any_folder(tmp_path):
    done = subprocess.run(
        [*installation.command(), "version"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"hookline {__version__}\n"


def test_a_bundle_is_started_by_its_own_file(monkeypatch, tmp_path):
    as_bundle(monkeypatch, tmp_path / "hookline")
    assert installation.command() == [str(tmp_path / "hookline")]


def test_an_appimage_is_known_only_by_a_program_that_lies_inside_it(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    environment = {"APPIMAGE": "/home/ann/Hookline.AppImage", "APPDIR": "/tmp/.mount_x"}
    monkeypatch.setattr(sys, "executable", "/tmp/.mount_x/usr/lib/hookline/hookline")
    assert installation.executable(environment) == Path("/home/ann/Hookline.AppImage")
    monkeypatch.setattr(sys, "executable", "/usr/lib/hookline/hookline")
    assert installation.executable(environment) == Path("/usr/lib/hookline/hookline")


def test_the_folder_of_a_mac_program_is_the_one_that_holds_the_app():
    assert installation.folder_of(Path("/Applications/Hookline.app/Contents/MacOS/hookline")) == Path("/Applications")
    assert installation.folder_of(Path("/home/ann/my.app/hookline/hookline")) == Path("/home/ann/my.app/hookline")
    assert installation.folder_of(Path("/opt/hookline/hookline")) == Path("/opt/hookline")


def test_a_bundle_is_portable_when_the_file_says_so(monkeypatch, tmp_path):
    as_bundle(monkeypatch, tmp_path / "hookline")
    assert installation.portable_folder() is None
    (tmp_path / installation.PORTABLE_MARK).touch()
    assert installation.portable_folder() == tmp_path / installation.PORTABLE_DATA


def test_a_portable_folder_that_cannot_be_used_names_the_file_that_makes_it_portable(monkeypatch, tmp_path, capsys):
    as_bundle(monkeypatch, tmp_path / "hookline")
    monkeypatch.delenv("HOOKLINE_DATA_DIR", raising=False)
    (tmp_path / installation.PORTABLE_MARK).touch()
    (tmp_path / installation.PORTABLE_DATA).write_text("a file where the folder should be")
    assert main(["endpoint", "list"]) == 3
    said = capsys.readouterr().err
    assert f"{tmp_path / installation.PORTABLE_DATA} is a file, not a folder." in said
    assert f"in portable mode because of the file {tmp_path / installation.PORTABLE_MARK}" in said
    assert main(["endpoint", "list", "--data-dir", str(tmp_path / "hookline-data" / "x")]) == 3
    assert "portable mode" not in capsys.readouterr().err


def test_a_portable_program_keeps_its_data_beside_it_unless_told(monkeypatch, tmp_path, capsys):
    as_bundle(monkeypatch, tmp_path / "hookline")
    monkeypatch.delenv("HOOKLINE_DATA_DIR", raising=False)
    (tmp_path / installation.PORTABLE_MARK).touch()
    assert main(["endpoint", "add", "Orders"]) == 0
    assert (tmp_path / installation.PORTABLE_DATA / "hookline.db").is_file()
    monkeypatch.setenv("HOOKLINE_DATA_DIR", str(tmp_path / "named"))
    assert main(["endpoint", "add", "Orders"]) == 0
    assert (tmp_path / "named").is_dir()
    assert main(["endpoint", "add", "Orders", "--data-dir", str(tmp_path / "given")]) == 0
    assert (tmp_path / "given").is_dir()


def test_from_source_nothing_is_portable(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    (tmp_path / installation.PORTABLE_MARK).touch()
    assert installation.portable_folder() is None
