"""What the packaging scripts stand on: commands that fail are told in one line, whatever they print."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from project import PackagingError, run, told


def test_what_a_command_prints_comes_back_even_in_another_encoding() -> None:
    assert run(sys.executable, "-c", r"import sys; sys.stdout.buffer.write(b'caf\x81')").startswith("caf")


def test_the_last_words_of_a_failure_are_told() -> None:
    with pytest.raises(PackagingError, match=r" failed \(3\): caf. is closed$"):
        run(sys.executable, "-c", r"import sys; sys.stderr.buffer.write(b'well\ncaf\x81 is closed\n'); sys.exit(3)")


def test_a_missing_program_is_named() -> None:
    with pytest.raises(PackagingError, match=r"^no-such-tool is missing; "):
        run("no-such-tool")


def test_a_script_prints_what_it_made_or_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> Path:
        raise PackagingError("No room.")

    assert told("bundle", lambda: Path("dist", "hookline")) == 0
    assert told("bundle", fail) == 1
    assert capsys.readouterr() == (f"{Path('dist', 'hookline')}\n", "bundle: No room.\n")
