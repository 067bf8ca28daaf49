"""The Windows installer: what it installs and removes again, and that it compiles. `make package-test` runs it."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path, PurePosixPath

import pytest

from project import PackagingError
from windows import installer

pytestmark = pytest.mark.long

needs_makensis = pytest.mark.skipif(shutil.which("makensis") is None, reason="makensis is missing (package nsis)")


@pytest.fixture
def payload(tmp_path: Path) -> Path:
    """A bundle for Windows in its least form, with names that need care."""
    folder = tmp_path / "bundle"
    for name in (
        "hookline.exe",
        "hooklinew.exe",
        "_internal/a.dll",
        "_internal/b c/it's $5 ü.txt",
        "_internal/b c/d/e",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name, "utf-8")
    return folder


def test_every_file_is_installed_and_removed_once(payload: Path) -> None:
    files = installer.files_to_install(payload)
    assert list(files) == sorted(path.relative_to(payload) for path in payload.rglob("*") if path.is_file())
    removal = installer.removing(files).splitlines()
    assert removal == [
        r'Delete "$INSTDIR\_internal\a.dll"',
        r'Delete "$INSTDIR\_internal\b c\d\e"',
        r'Delete "$INSTDIR\_internal\b c\it' + r"'s $$5 ü.txt" + '"',
        r'Delete "$INSTDIR\hookline.exe"',
        r'Delete "$INSTDIR\hooklinew.exe"',
        r'RMDir "$INSTDIR\_internal\b c\d"',
        r'RMDir "$INSTDIR\_internal\b c"',
        r'RMDir "$INSTDIR\_internal"',
    ]
    lines = installer.installing(files).splitlines()
    assert lines[0] == 'SetOutPath "$INSTDIR"'
    assert [line for line in lines if line.startswith("SetOutPath")][1:] == [
        r'SetOutPath "$INSTDIR\_internal"',
        r'SetOutPath "$INSTDIR\_internal\b c"',
        r'SetOutPath "$INSTDIR\_internal\b c\d"',
    ]
    special = payload / "_internal" / "b c" / "it's $5 ü.txt"
    assert f'File "/oname=it\'s $$5 ü.txt" "{special}"' in lines
    assert len([line for line in lines if line.startswith("File")]) == len(files)


def test_no_folder_is_ever_removed_with_what_is_in_it(payload: Path) -> None:
    assert "/r" not in installer.removing(installer.files_to_install(payload)).lower().split()
    script = (Path(installer.__file__).with_name("hookline.nsi")).read_text("utf-8")
    emptied = [line.split()[-1] for line in script.splitlines() if "RMDir /r" in line]
    assert emptied == ['"${DATA}"'], "only Hookline's own data folder goes as a whole, and only when asked for"


def test_papers_lie_beside_the_program_as_texts(payload: Path, tmp_path: Path) -> None:
    paper = tmp_path / "LICENSE"
    paper.write_text("free", "utf-8")
    files = installer.files_to_install(payload, [paper])
    assert files[PurePosixPath("LICENSE.txt")] == paper


def test_a_bundle_of_another_system_is_told_of(payload: Path, tmp_path: Path) -> None:
    (payload / "hooklinew.exe").unlink()
    with pytest.raises(PackagingError, match=r"hooklinew\.exe missing\. Make them first, on Windows"):
        installer.make_installer(payload, tmp_path, "1.0")
    assert not list(tmp_path.glob("*.exe"))


def test_the_uninstallers_name_is_taken(payload: Path) -> None:
    (payload / "uninstall.exe").touch()
    with pytest.raises(PackagingError, match=r"uninstall\.exe, which is the name"):
        installer.files_to_install(payload)


def test_says_how_to_get_makensis(payload: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ProgramFiles(x86)", raising=False)
    monkeypatch.delenv("ProgramFiles", raising=False)
    with pytest.raises(PackagingError, match=r"makensis is missing.*apt-get install nsis"):
        installer.make_installer(payload, tmp_path, "1.0")


def test_finds_makensis_where_its_own_installer_puts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "NSIS" / "makensis.exe"
    program.parent.mkdir()
    program.touch()
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("ProgramFiles(x86)", str(tmp_path))
    assert installer.find_makensis() == program


@needs_makensis
def test_the_installer_compiles_and_shows_its_version(payload: Path, tmp_path: Path) -> None:
    made = installer.make_installer(payload, tmp_path / "out", "1.2.0rc3")
    assert made == tmp_path / "out" / "hookline-1.2.0rc3-setup.exe"
    content = made.read_bytes()
    assert content[:2] == b"MZ"
    # The fixed part of the version resource: this mark, its format, the file's version.
    place = content.index(struct.pack("<I", 0xFEEF04BD)) + 8
    high, low = struct.unpack_from("<II", content, place)
    assert (high >> 16, high & 0xFFFF, low >> 16, low & 0xFFFF) == (1, 2, 0, 0)
    assert "Hookline 1.2.0rc3 Setup".encode("utf-16-le") in content


@needs_makensis
def test_a_script_that_does_not_compile_is_told_of_with_its_line(tmp_path: Path) -> None:
    script = tmp_path / "wrong.nsi"
    script.write_text("Nme Wrong\n", "utf-8")
    with pytest.raises(PackagingError, match=r"makensis failed \(1\):(.|\n)*Nme(.|\n)*line 1"):
        installer.compile_script(installer.find_makensis(), {}, script)
