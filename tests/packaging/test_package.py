"""`make package`: its steps in order, what it tells, and how it fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import package
import project
from project import PackagingError

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform != "linux", reason="for Linux only")]


@pytest.fixture
def dist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout's `dist/` in a folder of its own, with steps that write a file each."""
    folder = tmp_path / "dist"
    folder.mkdir()

    def step(name: str) -> Path:
        if name == "rpm":
            raise PackagingError("rpmbuild is missing.")
        (folder / name).write_text(name, "utf-8")
        return folder / name

    monkeypatch.setattr(package, "DIST", folder)
    monkeypatch.setattr(package, "ROOT", tmp_path)
    names = [name for name in package.STEPS if name != "checksums"]
    steps = {name: (lambda name=name: step(name)) for name in names}
    monkeypatch.setattr(package, "STEPS", steps | {"checksums": package.make_checksums})
    return folder


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    # Kept from the variables that main() sets for the programs it starts.
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.setattr(sys, "argv", ["package.py", *words])
    return package.main()


def test_steps_run_in_their_order_and_other_files_stay(
    dist: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (dist / "somebody's").touch()
    assert run(monkeypatch, "tarball", "deb") == 0
    told = capsys.readouterr().out
    assert [line.split()[0] for line in told.splitlines()[:3]] == ["deb", "tarball", "checksums"]
    assert " s  dist/deb\n" in told
    assert "3 bytes" in told
    assert sorted(path.name for path in dist.iterdir()) == ["SHA256SUMS", "deb", "somebody's", "tarball"]


def test_a_failure_is_one_line_and_ends_it(
    dist: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch) == 1
    assert capsys.readouterr().err == "\npackage: rpmbuild is missing.\n"
    assert (dist / "deb").exists()
    assert not (dist / "tarball").exists()


def test_an_unknown_step_is_named() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "packaging/package.py", "dep"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "there is no step dep; there are icons, bundle, " in done.stderr


def test_the_bundle_comes_before_what_is_made_of_it() -> None:
    order = list(package.STEPS)
    assert order[:2] == ["icons", "bundle"]
    assert order.index("licences") < order.index("deb")
    assert order[-1] == "checksums"


def test_a_folders_size_is_that_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b").write_bytes(b"123")
    assert package.size_of(tmp_path) == 8
    assert package.size_of(tmp_path / "a") == 5


def test_all_packages_are_made_of_the_same_version() -> None:
    assert package.TARBALL.name == f"hookline-{project.version()}-linux-x86_64.tar.gz"
