"""What is made appears whole or not at all; checksums; the project's version and date."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import project
from app import __version__
from checksums import make_checksums
from whole import made_whole

pytestmark = pytest.mark.long


def test_a_file_broken_off_leaves_the_old_one(tmp_path: Path) -> None:
    out = tmp_path / "made"
    out.write_text("old", "utf-8")

    def broken_off() -> None:
        with made_whole(out) as part:
            part.write_text("half", "utf-8")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert out.read_text("utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_what_a_killed_attempt_left_is_not_built_upon(tmp_path: Path) -> None:
    (tmp_path / ".made.part").mkdir()
    (tmp_path / ".made.part" / "half").touch()
    with made_whole(tmp_path / "made") as part:
        part.mkdir()
        (part / "whole").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["whole"]


def test_a_folder_takes_the_place_of_a_full_one(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "old").touch()
    with made_whole(tmp_path / "made") as part:
        part.mkdir()
        (part / "new").touch()
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["new"]


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum here")
def test_checksums_are_what_sha256sum_checks(tmp_path: Path) -> None:
    for name in ("b.rpm", "a b.deb", ".half.part", "SHA256SUMS"):
        (tmp_path / name).write_text(name, "utf-8")
    (tmp_path / "hookline").mkdir()
    listed = make_checksums(tmp_path).read_text("utf-8").splitlines()
    assert [line.partition("  ")[2] for line in listed] == ["a b.deb", "b.rpm"]
    check = ["sha256sum", "--strict", "-c", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "b.rpm").write_text("other", "utf-8")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 1


def test_the_version_is_the_programs() -> None:
    assert project.version() == __version__


def test_the_date_is_the_one_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert project.epoch() == 1_700_000_000


def test_a_missing_program_and_a_failing_one_are_told_in_one_line() -> None:
    with pytest.raises(project.PackagingError, match=r"^no-such-tool is missing; `make package` names "):
        project.run("no-such-tool")
    with pytest.raises(project.PackagingError, match=r"^sh failed \(3\): the last word$"):
        project.run("sh", "-c", "echo first >&2; echo the last word >&2; exit 3")
