"""`hookline completion`: the shells themselves are asked what Tab makes of a line."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Program, Run
from tests.cli.stored import store_requests
from tests.shells import run_in

pytestmark = [pytest.mark.long, pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")]

Complete = Callable[[str], list[str]]
"""The words of a line after Tab."""
ID = "019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b"
# Tab puts all candidates on the line, Ctrl-X tells what stands there then.
BASH = r"""
source "$HOME/script"
bind '"\t": insert-completions'
tell() { printf '%s' "$READLINE_LINE" >"$HOME/told.new" && mv "$HOME/told.new" "$HOME/told"; READLINE_LINE=; }
bind -x '"\C-x": tell'
PROMPT_COMMAND=': >"$HOME/ready"'
"""
ZSH = r"""
autoload -Uz compinit && compinit -D -u
source "$HOME/script"
tell() { print -r -- "$BUFFER" >"$HOME/told.new" && mv "$HOME/told.new" "$HOME/told" && zle send-break }
zle -N tell
bindkey '^I' complete-word
bindkey '^X' tell
zle-line-init() { : >"$HOME/ready" }
zle -N zle-line-init
"""
POWERSHELL = r"""
hookline completion powershell | Out-String | Invoke-Expression
foreach ($line in $input) { (TabExpansion2 $line $line.Length).CompletionMatches.CompletionText -join ' ' }
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """With a `hookline` that shells find, which runs on a data folder with an endpoint and a request."""
    data = tmp_path / "stored data"
    store_requests(data, "orders", [{"id": ID, "target": "/catch/orders/\x1b:it's"}])
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "hookline"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m hookline "$@"\n', "utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("HOOKLINE_DATA_DIR", str(data))
    monkeypatch.setenv("HOME", str(tmp_path))
    program = Program(data)
    yield tmp_path
    program.stop()


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
def at_terminal(home: Path, run: Run) -> Iterator[Callable[[str, str, list[str]], Complete]]:
    """Starts a shell with a start-up file, and types into it."""
    started: list[tuple[subprocess.Popen[bytes], int]] = []

    def start(shell: str, start_up: str, options: list[str]) -> Complete:
        if not shutil.which(shell):
            pytest.skip(f"{shell} is not installed")
        (home / "script").write_text(run("completion", shell).out, "utf-8")
        (home / ".zshrc").write_text(start_up, "utf-8")
        terminal, end = pty.openpty()
        environment = {**os.environ, "ZDOTDIR": str(home), "TERM": "xterm"}
        process = subprocess.Popen(
            [shell, *options], stdin=end, stdout=end, stderr=end, env=environment, start_new_session=True
        )
        os.close(end)
        started.append((process, terminal))

        def complete(line: str) -> list[str]:
            wait_for(home / "ready")
            os.write(terminal, f"{line}\t\x18".encode())
            told = wait_for(home / "told")
            if shell == "bash":
                os.write(terminal, b"\r")  # for the next prompt
            return told.split()

        return complete

    yield start
    for process, terminal in started:
        process.kill()
        process.wait()
        os.close(terminal)


def test_bash(at_terminal: Callable[..., Complete], home: Path) -> None:
    bash = at_terminal("bash", BASH, ["--noprofile", "--rcfile", str(home / ".zshrc"), "-i"])
    (home / "data").mkdir()
    (home / "backup.db").touch()
    assert bash("hookline end") == ["hookline", "endpoint"]
    assert bash("hookline settings th") == ["hookline", "settings", "theme"]
    assert bash("hookline settings theme ") == ["hookline", "settings", "theme", "dark", "light", "system"]
    assert bash("hookline show ") == ["hookline", "show", ID, "@last"]
    assert bash("hookline show @l")[-1] == "@last"
    assert bash("hookline replay --gaps=o")[-1] == "--gaps=original"
    assert bash(f"hookline --data-dir {home}/da")[-1].rstrip("/") == f"{home}/data"
    assert bash("hookline restore ~/ba")[-1] == "~/backup.db"


def test_zsh(at_terminal: Callable[..., Complete], home: Path) -> None:
    zsh = at_terminal("zsh", ZSH, ["--no-global-rcs", "-i"])
    (home / "data").mkdir()
    (home / "backup.db").touch()
    assert zsh("hookline endpoint ed") == ["hookline", "endpoint", "edit"]
    assert zsh("hookline endpoint add Shop --ret")[-1] == "--retention-days"
    assert zsh("hookline settings theme d")[-1] == "dark"
    assert zsh("hookline show 0")[-1] == ID
    assert zsh("hookline show @l")[-1] == "@last"
    assert zsh(f"hookline --data-dir {home}/da")[-1] == f"{home}/data/"
    assert zsh("hookline restore ~/ba")[-1] == "~/backup.db"


def test_fish(home: Path, run: Run) -> None:
    (home / "data").mkdir()
    script = run("completion", "fish").out
    lines = ("endpoint ed", "settings theme ", "show ", f"--data-dir {home}/da", "status --wa")
    asked = "".join(f"complete -C 'hookline {line}' | string replace -r '\\t.*' ''; echo .\n" for line in lines)
    assert run_in("fish", script + asked, HOME=str(home)).decode().split() == [
        *("edit", "."),
        *("dark", "light", "system", "."),
        *(ID, "@last", "."),
        *(f"{home}/data/", "."),
        *("--wait", "."),
    ]


def test_powershell(home: Path) -> None:
    if not shutil.which("pwsh"):
        pytest.skip("pwsh is not installed")
    lines = ("hookline endpoint ed", "hookline settings theme ", "hookline show @l", "hookline replay --gaps=o")
    done = subprocess.run(
        ["pwsh", "-NoProfile", "-Command", POWERSHELL],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["edit", "system light dark", "'@last'", "--gaps=original"]
