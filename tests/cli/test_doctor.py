"""`hookline doctor` as it is printed: in a pipe, at a terminal, as JSON; its exit codes."""

from __future__ import annotations

import io
import json
import os
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app.cli.call import LocalCall
from app.cli.commands.doctor import doctor
from app.cli.output import Output
from app.core.doctor import Finding
from tests.cli.conftest import Program, Run, services

FINE = Finding(name="Disk", state="ok", text="12 GiB free")
DOUBTFUL = Finding(name="Display", state="warning", text="There is none.", advice="Use hookline serve.")
WRONG = Finding(name="Database", state="problem", text="It is \x1b[1mdamaged.", advice="Restore a backup.")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(*found: Finding, out: io.StringIO) -> tuple[int, str]:
    given = services(doctor=lambda *_: found)
    call = LocalCall(options=Namespace(full=False), out=Output(out=out), folder=Path("/data"), services=given)
    return doctor(call), out.getvalue()


def test_in_a_pipe_each_finding_is_a_line_of_four_columns() -> None:
    code, text = printed(FINE, DOUBTFUL, WRONG, out=io.StringIO())
    assert code == 1
    assert text == (
        "ok\tDisk\t12 GiB free\t\n"
        "warning\tDisplay\tThere is none.\tUse hookline serve.\n"
        "problem\tDatabase\tIt is \\x1b[1mdamaged.\tRestore a backup.\n"
    )


def test_at_a_terminal_with_colours_and_the_advice_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    code, text = printed(FINE, DOUBTFUL, out=Terminal())
    assert code == 0, "warnings alone are no failure"
    lines = text.splitlines()
    assert lines[0] == "\x1b[32mok     \x1b[0m  Disk              12 GiB free"
    assert lines[2] == " " * 27 + "\x1b[2m→ Use hookline serve.\x1b[0m"
    assert lines[-1] == "0 problems, 1 warning."
    assert printed(FINE, out=Terminal())[1].splitlines()[-1] == "Everything is fine."


def test_long_texts_are_wrapped_below_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    finding = Finding(name="Disk", state="warning", text="word " * 20, advice="do " * 20)
    text = printed(finding, out=Terminal())[1]
    lines = text.splitlines()[:-2]
    assert max(map(len, lines)) <= 60
    assert all(line.startswith(" " * 27) for line in lines[1:])
    assert "".join(lines).count("word") == 20


def test_on_a_narrow_terminal_the_text_is_below_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    finding = Finding(name="Start at sign-in", state="warning", text="word " * 20, advice="do " * 20)
    lines = printed(finding, out=Terminal())[1].splitlines()[:-2]
    assert lines[:2] == ["warning  Start at sign-in", "  word word word word word word word"]
    assert max(map(len, lines)) <= 40


def test_colours_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in printed(FINE, WRONG, out=Terminal())[1]


def test_as_json(folder: Path, run: Run) -> None:
    done = run("doctor", "--json")
    assert done.code in (0, 1)  # the usual ports of this machine may be in use
    found = {finding["name"]: finding for finding in done.json}
    assert found["Data folder"]["state"] == "warning"
    assert set(found["Versions"]) == {"name", "state", "text", "advice"}
    assert not folder.exists()


@pytest.mark.skipif(os.name == "nt", reason="holders of ports are known on Linux")
def test_beside_a_running_program(folder: Path, run: Run, serve: Callable[..., Program]) -> None:
    program = serve()
    api_url = json.loads((folder / "runtime.json").read_text())["api_url"]
    running = {"Capture port": urlsplit(program.url).port, "API port": urlsplit(api_url).port}
    found = {finding["name"]: finding for finding in run("doctor", "--json").json}
    assert found["Hookline"]["state"] == "ok"
    assert (
        f"running (process {program.process.pid}), its API responds at http://127.0.0.1:" in found["Hookline"]["text"]
    )
    assert found["Search index"]["text"] == "in use by the running Hookline"
    for name, usual in (("Capture port", 8787), ("API port", 8788)):
        taken = running[name]
        assert (found[name]["state"], found[name]["text"]) == (
            "ok",
            f"{taken}, used by this Hookline instead of {usual}, which the settings have",
        )
    assert found["Database"]["state"] == "ok"
    assert program.stop() == 0


def test_a_file_in_place_of_the_folder(folder: Path, run: Run) -> None:
    folder.write_text("not a folder")
    done = run("doctor")
    assert done.code == 1
    assert done.err == ""
    assert f"problem\tData folder\t{folder} is a file, not a folder." in done.out
