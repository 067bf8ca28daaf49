"""The ways in which a bundle cannot be made, what the recipe names, and modules that outlive an upgrade."""

from __future__ import annotations

import ast
import os
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import bundle
from project import PackagingError
from windows.version_info import numbers

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
LINUX = ROOT / "packaging" / "linux"
HOOK = LINUX / "old_archive.py"

STARTED = """
import os, shutil, sys, types

folder, program, hook = sys.argv[1:]
sys._MEIPASS = folder
library = os.path.join(folder, "base_library.zip")
sys.path.append(library)
import early.first
held = types.ModuleType("pyimod02_importers")
held.pyz_archive = types.SimpleNamespace(_filename=program)
sys.modules["pyimod02_importers"] = held
exec(compile(open(hook).read(), hook, "exec"), {"__name__": "hook"})
assert held.pyz_archive._filename == "/proc/self/exe"
shutil.rmtree(folder)
import early.second, late
with open(held.pyz_archive._filename, "rb") as archive:
    print(early.first.NAME, early.second.NAME, late.NAME, len(archive.read()))
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is made in the checkout."""
    monkeypatch.setattr(bundle, "WORK", tmp_path / "work")
    monkeypatch.setattr(bundle, "LOG", tmp_path / "pyinstaller.log")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux's files are read with binutils")
def test_missing_tools_are_named_with_their_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PackagingError, match=r"^objdump and strip missing: install the package binutils.*\.$"):
        bundle.make_bundle()


def test_a_failing_pyinstaller_is_one_line_with_its_last_words_and_the_log() -> None:
    with pytest.raises(PackagingError, match="No module named PyInstaller") as caught:
        bundle.run_pyinstaller(Path(sys.executable), onefile=False)
    assert str(bundle.LOG) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_users_own_plugins_of_qt_do_not_get_into_the_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("QT_PLUGIN_PATH", "QML2_IMPORT_PATH"):
        monkeypatch.setenv(name, "/usr/lib/qt6")
    runpy.run_path(str(LINUX / "qt_environment.py"))
    assert os.environ.keys().isdisjoint({"QT_PLUGIN_PATH", "QML2_IMPORT_PATH"})


def test_the_one_file_is_named_after_version_and_system() -> None:
    assert bundle.onefile_name().startswith("hookline-")
    assert bundle.onefile_name().split("-")[-2] in ("linux", "windows", "macos")


@pytest.mark.parametrize(
    ("version", "expected"),
    [("1.2.3", (1, 2, 3, 0)), ("1.2.0rc1", (1, 2, 0, 0)), ("2", (2, 0, 0, 0)), ("1.2.3.4.5", (1, 2, 3, 4))],
)
def test_windows_is_told_four_numbers(version: str, expected: tuple[int, ...]) -> None:
    assert numbers(version) == expected


def test_every_file_the_recipe_names_is_there() -> None:
    tree = ast.parse((ROOT / "build.spec").read_text("utf-8"))
    named = {path for node in ast.walk(tree) if (path := _below_root(node)) and path.parts[0] != "build"}
    assert Path("app/__main__.py") in named
    assert not [path for path in named if not (ROOT / path).exists()]


def _below_root(node: ast.AST) -> Path | None:
    """The path that an expression `ROOT / "a" / "b"` means."""
    parts: list[str] = []
    while isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and isinstance(node.op, ast.Div):
        parts.insert(0, str(node.right.value))
        node = node.left
    return Path(*parts) if parts and isinstance(node, ast.Name) and node.id == "ROOT" else None


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="held open by Linux's /proc")
def test_modules_of_a_deleted_program_can_still_be_imported(tmp_path: Path) -> None:
    folder, program = tmp_path / "_internal", os.path.realpath(sys.executable)
    folder.mkdir()
    with zipfile.ZipFile(folder / "base_library.zip", "w") as library:
        for name in ("early/__init__", "early/first", "early/second", "late"):
            library.writestr(f"{name}.py", f"NAME = {name!r}")
    command = [sys.executable, "-c", STARTED, str(folder), program, str(HOOK)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["early/first", "early/second", "late", str(os.path.getsize(program))], done.stderr
