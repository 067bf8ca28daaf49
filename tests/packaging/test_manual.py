"""The manual page tells of every command and option, and man, groff and mandoc have nothing to say against it."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.parser import Parser, build_parser, parse
from linux.manual import manual_page
from tests.cli.conftest import ROOT, Program
from tests.cli.sending import send
from tests.cli.stored import store_requests

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def text() -> str:
    return manual_page()


@pytest.fixture
def page(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "hookline.1"
    file.write_text(text, "utf-8")
    return file


def run(*command: str | Path) -> str:
    """What the command prints, errors too; skipped when it is missing."""
    if not shutil.which(str(command[0])):
        pytest.skip(f"{command[0]} is not installed")
    environment = os.environ | {"LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80", "MANPAGER": "cat"}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every option and argument of the parser and of its commands, at any depth."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from actions(child)


def test_tells_of_every_command_and_option(text: str) -> None:
    text = text.replace("\\-", "-")
    parser = build_parser()
    shown = [action for action in actions(parser) if action.help != argparse.SUPPRESS]
    names = [name for action in shown for name in action.option_strings]
    assert len(set(names)) > 20
    assert [name for name in names if f"\\fB{name}\\fP" not in text] == []
    for action in parser._actions:
        for command in action.choices or ():
            assert f"\\fBhookline {command}" in text


def test_does_not_tell_what_the_grammar_hides() -> None:
    parser = argparse.ArgumentParser(prog="hookline")
    parser.add_argument("--seen", help="told")
    parser.add_argument("--unseen", help=argparse.SUPPRESS)
    commands = parser.add_subparsers()
    commands.add_parser("open", description="told").add_argument("hidden", help=argparse.SUPPRESS)
    commands.add_parser("concealed")
    text = manual_page(parser)
    assert "seen" in text
    assert "hookline open" in text
    for word in ("unseen", "hidden", "concealed", "SUPPRESS"):
        assert word not in text


def test_help_texts_cannot_become_requests_to_the_formatter() -> None:
    parser = argparse.ArgumentParser(prog="hookline")
    parser.add_argument("--odd", help=r".so /etc/passwd and C:\n. 'tis --other-option")
    assert "\\&.so /etc/passwd and C:\\en. 'tis \\fB\\-\\-other\\-option\\fP." in manual_page(parser)


def test_is_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    first = manual_page()
    assert first == manual_page()
    assert ".TH HOOKLINE 1 1970-01-02" in first


def test_mandoc_finds_nothing(page: Path) -> None:
    assert run("mandoc", "-T", "lint", "-W", "warning", page) == ""


def test_man_finds_nothing(page: Path) -> None:
    said = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page)
    assert "warning" not in said


def test_groff_finds_nothing(page: Path) -> None:
    assert "warning" not in run("groff", "-ww", "-man", "-Tutf8", page)


def test_reads_well_on_a_terminal(page: Path) -> None:
    # Bold is a letter, a backspace and the letter again.
    text = re.sub(".\b", "", run("mandoc", "-T", "utf8", "-O", "width=78", page))
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "hookline endpoint add [option]... NAME" in text
    assert "\n       --data-dir FOLDER\n" in text


def test_shows_the_examples_of_every_commands_help(text: str) -> None:
    shown = examples(text)
    for leaf in leaves(build_parser()):
        told = leaf.format_help()
        assert [command for _, command in leaf.examples] == [line for line in shown if f"\n  {line}\n" in told]
    assert len(shown) > 15


def test_no_example_is_wider_than_a_terminal(text: str) -> None:
    """Also where mandoc is missing. It indents them by 11 columns."""
    assert [command for command in examples(text) if len(command) > 80 - 11] == []


def examples(page: str) -> list[str]:
    """The command lines of the page, as a reader would copy them."""
    found = re.findall(r"^\.EX\n(.*)\n\.EE$", page, re.MULTILINE)
    return [line.replace("\\-", "-").replace("\\e", "\\") for line in found]


def leaves(parser: argparse.ArgumentParser) -> list[Parser]:
    """The parser and all below it."""
    assert isinstance(parser, Parser)
    below = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return [parser, *(leaf for choices in below for child in choices.values() for leaf in leaves(child))]


def test_every_example_is_a_command_line_that_can_be(text: str) -> None:
    parsed = []
    for line in examples(text):
        inner, outer = re.findall(r"\$\((.*)\)", line), re.sub(r"\$\(.*\)", "ID", line)
        for command in re.split(r" \|\|? | > | & ", " | ".join([outer, *inner])):
            words = shlex.split(command)
            if words[:1] == ["hookline"]:
                parsed.append(parse(words[1:]))
    assert len(parsed) >= len(examples(text))


@pytest.mark.skipif(os.name == "nt" or not shutil.which("curl"), reason="needs curl and a shell of POSIX")
def test_the_line_that_sends_a_request_again_works_as_printed(tmp_path: Path, text: str) -> None:
    (line,) = [line for line in examples(text) if "--curl" in line]
    store_requests(tmp_path / "data", "orders", [])
    program = Program(tmp_path / "data", "--tail")
    try:
        send(program, "/catch/orders/paid", b"\0it's\n\xff%s")
        first = program.read_line()
        shim = f'hookline() {{ {sys.executable} -m hookline "$@" --data-dir {tmp_path / "data"}; }}'
        subprocess.run(["sh", "-c", f"{shim}; {line}"], cwd=ROOT, check=True, capture_output=True, timeout=30)
        assert program.read_line().split("  ")[1:] == first.split("  ")[1:]
    finally:
        program.stop()
