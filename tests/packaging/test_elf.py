"""What a build machine leaves in its libraries must not get into the bundle."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of Linux's libraries alone")
from linux.elf import drop_foreign_paths, without_foreign_paths  # noqa: E402 - after the mark that guards it


def compiled(program: Path, paths: str) -> Path:
    """A program that answers 7 and searches its libraries in `paths`."""
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler is installed")
    source = program.with_suffix(".c")
    source.write_text("int main(void) { return 7; }\n", "utf-8")
    subprocess.run([compiler, "-Wl,--enable-new-dtags", f"-Wl,-rpath,{paths}", "-o", program, source], check=True)
    return program


def has_paths(program: Path) -> bool:
    return "RUNPATH" in subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("paths", "dropped"), [("/home/ann/lib", True), ("/home/ann/lib:/opt", True), ("$ORIGIN/../lib", False)]
)
def test_search_paths_of_the_build_machine_are_dropped(tmp_path: Path, paths: str, dropped: bool) -> None:
    program = compiled(tmp_path / "x", paths)
    assert drop_foreign_paths(program) is dropped
    assert has_paths(program) is not dropped
    assert subprocess.run([program], check=False).returncode == 7
    assert drop_foreign_paths(program) is False


def test_the_bundle_gets_a_clean_copy_and_the_original_stays_as_it_is(tmp_path: Path) -> None:
    foreign, own = compiled(tmp_path / "foreign", "/home/ann/lib"), compiled(tmp_path / "own", "$ORIGIN")
    text = tmp_path / "text"
    text.write_text("no program", "utf-8")
    entries = [
        ("lib/foreign", str(foreign), "EXTENSION"),
        ("lib/own", str(own), "BINARY"),
        ("text", str(text), "DATA"),
        ("lib/link", "foreign", "SYMLINK"),
    ]
    clean = without_foreign_paths(entries, tmp_path / "clean")
    assert clean == [("lib/foreign", str(tmp_path / "clean/lib/foreign"), "EXTENSION"), *entries[1:]]
    assert has_paths(foreign)
    assert not has_paths(Path(clean[0][1]))
    assert [path.name for path in (tmp_path / "clean").rglob("*") if path.is_file()] == ["foreign"]
