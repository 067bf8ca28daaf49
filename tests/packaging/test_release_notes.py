"""The notes of a release are its section of the changelog, and its tag is its version's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import release_notes
from project import PackagingError, version

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
CHANGELOG = """# Changelog

## Unreleased

- soon

## 1.10.0 (2026-05-01)

### Added
- more

## [1.1.0] - 2026-04-01

- some

## 1.0.0rc1

## 1.0.0

- first
"""


@pytest.mark.parametrize(
    ("asked", "text"),
    [("1.10.0", "### Added\n- more\n"), ("1.1.0", "- some\n"), ("1.0.0", "- first\n"), ("Unreleased", "- soon\n")],
)
def test_a_section_is_found_by_its_version(asked: str, text: str) -> None:
    assert release_notes.section(CHANGELOG, asked) == text


@pytest.mark.parametrize("asked", ["1.1", "10.0", "1.0.0rc1", "1x1.0"])
def test_a_version_without_text_is_told_of(asked: str) -> None:
    with pytest.raises(PackagingError, match=f"tells nothing of {asked}"):
        release_notes.section(CHANGELOG, asked)


def test_a_tag_of_another_version_is_refused() -> None:
    assert release_notes.notes(CHANGELOG, "1.1.0", "v1.1.0") == "- some\n"
    with pytest.raises(PackagingError, match=r"tag is v1\.2\.0, but .* 1\.1\.0"):
        release_notes.notes(CHANGELOG, "1.1.0", "v1.2.0")


def test_a_release_needs_its_own_section_and_a_rehearsal_does_not() -> None:
    assert release_notes.notes(CHANGELOG, "2.0.0", None) == "- soon\n"
    with pytest.raises(PackagingError, match=r"tells nothing of 2\.0\.0"):
        release_notes.notes(CHANGELOG, "2.0.0", "v2.0.0")


def test_the_command_tells_what_is_wrong_in_one_line() -> None:
    command = [sys.executable, str(ROOT / "packaging" / "release_notes.py"), "--tag", "v0.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    wrong = f"The tag is v0.0.0, but app/__init__.py says {version()}. Tag v{version()}, or change it."
    assert done.stderr == f"release notes: {wrong}\n"
