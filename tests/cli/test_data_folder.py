"""A data folder that is not there: mistyped, or not made yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

COMMANDS = (
    "endpoint list",
    "endpoint show orders",
    "endpoint edit orders --name x",
    "endpoint rm orders --yes",
    "requests",
    "show @last",
    "mark @last --star",
    "rm @last --yes",
    "clear orders --yes",
    "deliveries",
    "refused",
    "status",
    "plan",
    "plan pro",
)


@pytest.mark.parametrize("there", [False, True])
def test_a_command_makes_nothing_in_a_mistyped_folder_and_says_so(run: Run, folder: Path, there: bool) -> None:
    if there:
        folder.mkdir()
    for command in COMMANDS:
        done = run(*command.split())
        assert (done.code, done.out) == (3, "")
        assert done.err.startswith(f"hookline: There is no Hookline data in {folder}. Check --data-dir")
        assert done.err.count("\n") == 1
        assert list(folder.parent.iterdir()) == ([folder] if there else [])
        assert not there or list(folder.iterdir()) == []


def test_an_endpoint_can_be_made_in_a_new_folder(run: Run, folder: Path) -> None:
    assert run("endpoint", "add", "Orders", "--slug", "orders").code == 0
    assert (folder / "hookline.db").exists()
    assert run("endpoint", "show", "orders").code == 0
