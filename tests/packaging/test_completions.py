"""The completions do in each shell what Tab is pressed for: the shell itself is asked."""

from __future__ import annotations

import argparse
import os
import pty
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from linux.completions import SHELLS, completion
from tests.cli.conftest import ROOT
from tests.cli.stored import store_requests

pytestmark = pytest.mark.long

Complete = Callable[[str], list[str]]
"""What a command line that breaks off may go on with."""

BASH = """
source "$1"
IFS=' ' read -r -a COMP_WORDS <<<"$2"
[[ $2 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function=$(complete -p hookline | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$function"
printf '%s\\n' "${COMPREPLY[@]}"
"""
# Tab completes as a person has it; Ctrl-X tells what stands on the line then.
ZSHRC = """
fpath=("$HOME" $fpath)
autoload -Uz compinit && compinit -D -u
tell() { print -r -- "$BUFFER" >"$HOME/told.new" && mv "$HOME/told.new" "$HOME/told" && zle send-break }
zle -N tell
bindkey '^I' complete-word
bindkey '^X' tell
zle-line-init() { : >"$HOME/ready" }
zle -N zle-line-init
"""


ID = "019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a `hookline` that shells find, with an endpoint and a request in its data folder."""
    folder, data = tmp_path / "bin", tmp_path / "stored data"
    store_requests(data, "orders", [{"id": ID, "target": "/catch/orders/\x1b:it's"}])
    folder.mkdir()
    script = folder / "hookline"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m hookline "$@"\n', "utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("HOOKLINE_DATA_DIR", str(data))
    return data


def need(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")


def wait_for(file: Path) -> str:
    """The content of a file that a shell is about to write; it is gone afterwards."""
    end = time.monotonic() + 30
    while not file.exists():
        assert time.monotonic() < end, f"{file.name} did not come"
        time.sleep(0.01)
    text = file.read_text("utf-8")
    file.unlink()
    return text


@pytest.fixture
def bash(tmp_path: Path) -> Complete:
    need("bash")
    script = tmp_path / "hookline"
    script.write_text(completion("bash"), "utf-8")

    def complete(line: str) -> list[str]:
        command = ["bash", "--norc", "--noprofile", "-c", BASH, "bash", str(script), line]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        # compopt is for a completion under way, which this is not.
        assert [said for said in done.stderr.splitlines() if "compopt" not in said] == []
        return done.stdout.split()

    return complete


@pytest.fixture
def fish(tmp_path: Path) -> Complete:
    need("fish")
    script = tmp_path / "hookline.fish"
    script.write_text(completion("fish"), "utf-8")

    def complete(line: str) -> list[str]:
        command = ["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", str(script), line]
        environment = os.environ | {"HOME": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert done.stderr == ""
        return [candidate.split("\t")[0] for candidate in done.stdout.splitlines()]

    return complete


@pytest.fixture
def zsh(tmp_path: Path) -> Iterator[Complete]:
    """Candidates cannot be asked of zsh: the answer is the line after Tab, as its words."""
    need("zsh")
    (tmp_path / "_hookline").write_text(completion("zsh"), "utf-8")
    (tmp_path / ".zshrc").write_text(ZSHRC, "utf-8")
    terminal, end = pty.openpty()
    environment = {"HOME": str(tmp_path), "ZDOTDIR": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "xterm"}
    environment |= {name: value for name, value in os.environ.items() if name == "HOOKLINE_DATA_DIR"}
    shell = subprocess.Popen(
        ["zsh", "--no-global-rcs", "-i"], stdin=end, stdout=end, stderr=end, env=environment, start_new_session=True
    )
    os.close(end)

    def complete(line: str) -> list[str]:
        wait_for(tmp_path / "ready")
        os.write(terminal, f"{line}\t\x18".encode())
        return wait_for(tmp_path / "told").split()

    try:
        yield complete
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)


def test_bash_completes_commands_verbs_and_options(bash: Complete) -> None:
    assert {"serve", "endpoint", "requests", "show", "version"} <= set(bash("hookline "))
    assert bash("hookline end") == ["endpoint"]
    assert bash("hookline --json endpoint e") == ["edit"]
    assert bash("hookline endpoint add Shop --ret") == ["--retention-days"]


def test_bash_completes_folders_where_one_is_wanted(bash: Complete, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data.txt").touch()
    assert bash(f"hookline --data-dir {tmp_path}/da") == [f"{tmp_path}/data"]
    assert bash(f"hookline --data-dir {tmp_path} end") == ["endpoint"]


def test_bash_completes_files_where_one_is_wanted(bash: Complete, tmp_path: Path) -> None:
    (tmp_path / "backup.db").touch()
    assert bash(f"hookline restore {tmp_path}/ba") == [f"{tmp_path}/backup.db"]


def test_fish_completes_commands_verbs_and_options(fish: Complete) -> None:
    assert {"serve", "endpoint", "requests", "show", "version"} <= set(fish("hookline "))
    assert fish("hookline end") == ["endpoint"]
    assert fish("hookline endpoint ed") == ["edit"]
    assert fish("hookline endpoint add Shop --ret") == ["--retention-days"]


def test_fish_completes_folders_where_one_is_wanted(fish: Complete, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data.txt").touch()
    assert fish(f"hookline --data-dir {tmp_path}/da") == [f"{tmp_path}/data/"]
    assert fish(f"hookline --data-dir {tmp_path} end") == ["endpoint"]


def test_zsh_completes_commands_verbs_options_and_folders(zsh: Complete, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data.txt").touch()
    assert zsh("hookline end") == ["hookline", "endpoint"]
    assert zsh("hookline endpoint ed") == ["hookline", "endpoint", "edit"]
    assert zsh("hookline endpoint add Shop --ret")[-1] == "--retention-days"
    assert zsh(f"hookline --data-dir {tmp_path}/da")[-1] == f"{tmp_path}/data/"


def test_bash_completes_slugs_and_ids(program: Path, bash: Complete, tmp_path: Path) -> None:
    assert bash("hookline endpoint show ") == ["orders"]
    assert bash("hookline requests ord") == ["orders"]
    assert bash("hookline show ") == ["@last", ID]
    assert bash("hookline rm @last 019a") == [ID]
    assert bash("hookline show --curl 019A1B") == [ID]
    other = tmp_path / "other"
    store_requests(other, "pay", [])
    assert bash(f"hookline --data-dir {other} clear ") == ["pay"]
    assert bash(f"hookline --data-dir = {other} clear ") == ["pay"]


def test_fish_completes_slugs_and_ids(program: Path, fish: Complete) -> None:
    assert fish("hookline endpoint show ") == ["orders"]
    assert fish("hookline show ") == ["@last", ID]
    assert fish("hookline mark 019a") == [ID]
    assert fish("hookline --data-dir /none clear ") == []


def test_zsh_completes_slugs_and_ids(program: Path, zsh: Complete) -> None:
    assert zsh("hookline endpoint show o")[-1] == "orders"
    assert zsh("hookline clear ")[-1] == "orders"
    assert zsh("hookline show 019a")[-1] == ID
    assert zsh("hookline rm @last 019a")[-1] == ID


@pytest.mark.parametrize("shell", SHELLS)
def test_offers_what_the_grammar_tells_and_not_what_it_hides(shell: str) -> None:
    parser = argparse.ArgumentParser(prog="hookline")
    parser.add_argument("--seen", action="store_true", help="told")
    parser.add_argument("--unseen", action="store_true", help=argparse.SUPPRESS)
    commands = parser.add_subparsers()
    commands.add_parser("open", help="in short", description="A paragraph of its own.")
    commands.add_parser("secret")
    script = completion(shell, parser)
    assert "seen" in script
    assert "open" in script
    assert "unseen" not in script
    assert "secret" not in script
    assert "paragraph" not in script


def test_zsh_knows_the_file_by_its_first_line() -> None:
    assert completion("zsh").startswith("#compdef hookline\n")


@pytest.mark.parametrize("shell", SHELLS)
def test_says_nothing_of_where_to_copy_it(shell: str) -> None:
    assert "Copy this" not in completion(shell)
    assert completion(shell) == completion(shell)
