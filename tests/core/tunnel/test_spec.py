"""Errors in a file of the catalogue are named; the files that are shipped have none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.core.resources import resource
from app.core.tunnel.spec import TunnelCatalogueError, arguments_of, read_folder, read_spec

VALID = """
name = "Some"
summary = "A program."
website = "https://example.com/"
executables = ["some"]
install = { linux = "a", macos = "b", windows = "c" }
[run]
arguments = ["{port}"]
[[urls]]
pattern = '(https://\\S+)'
"""


def test_the_files_that_are_shipped() -> None:
    specs = read_folder(resource("tunnels"))
    assert len(specs) >= 12
    for name, spec in specs.items():
        program = spec.program
        assert program.id == name
        assert program.website.startswith("https://"), name
        assert program.summary.endswith("."), name
        assert all(text.endswith(".") for text in program.warnings), name
        assert all(rule.message.endswith((".", ". See https://ngrok.com/docs/errors.")) for rule in spec.failures), name
        assert spec.stop.grace_s <= 2, f"{name}: Hookline ends within three seconds"
        # RE2 has neither looking around nor references back.
        patterns = [rule.pattern for rule in (*spec.urls, *spec.up, *spec.failures)]
        assert not any(re.search(r"\(\?[=!<]|\\[1-9]", pattern) for pattern in patterns), name


@pytest.mark.parametrize(
    ("name", "fixing"),
    [("ssh", "remote_port"), ("ssh", "url"), ("bore", "remote_port"), ("devtunnel", "tunnel"), ("own", "url")],
)
def test_a_url_stays_with_the_option_that_fixes_it(name: str, fixing: str) -> None:
    program = read_folder(resource("tunnels"))[name].program
    assert not program.keeps_url({})
    assert not program.keeps_url({"host": "example.com", fixing: " "})
    assert program.keeps_url({fixing: "9001"})


def test_a_url_that_stays_or_changes_in_any_case() -> None:
    programs = {name: spec.program for name, spec in read_folder(resource("tunnels")).items()}
    always = {"cloudflared-named", "ngrok", "tailscale-funnel"}
    assert {name for name, program in programs.items() if program.keeps_url({})} == always
    assert not programs["localtunnel"].keeps_url({"subdomain": "mine"}), "it may be taken the next time"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("name =", "title ="), "title"),
        (('executables = ["some"]', "executables = []"), "executables"),
        ((', windows = "c"', ""), "install.windows"),
        (("{port}", "{porto}"), "{porto}"),
        (("(https://", "((https://"), "pattern"),
        (("(https://\\S+)", "https://\\S+"), "one group"),
        (("pattern = '(https://\\S+)'", ""), "pattern, or where"),
        (("pattern = '(https://\\S+)'", 'where = { msg = "x" }'), "key"),
        (("[[urls]]\npattern = '(https://\\S+)'", ""), "public URL"),
        (("[run]", '[[options]]\nname = "port"\nlabel = "P"\n[run]'), "port"),
        (("[run]", 'failures = [{ pattern = "x", message = "{found}" }]\n[run]'), "one group"),
        (("[run]", 'fixed_url_with = ["host"]\n[run]'), "no option host"),
        (('name = "Some"', "name = "), "line"),
    ],
)
def test_an_error_is_named_with_the_file(change: tuple[str, str], told: str) -> None:
    text = VALID.replace(*change)
    assert text != VALID
    with pytest.raises(TunnelCatalogueError, match=f"^some.toml: .*{re.escape(told)}"):
        read_spec("some.toml", text)


def test_a_folder_without_files(tmp_path: Path) -> None:
    with pytest.raises(TunnelCatalogueError, match="no tunnel programs"):
        read_folder(tmp_path)


def test_failures_of_a_program_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "some.toml").write_text('failures_like = "other"\n' + VALID)
    with pytest.raises(TunnelCatalogueError, match="no program 'other'"):
        read_folder(tmp_path)


def test_arguments() -> None:
    given = ("http", ("--url", "{domain}"), ("?token", "-F", "file"), ("!token", "-F", "none"), "{command}")
    words = {"command": ["a", "b"]}
    assert arguments_of(given, {"domain": "", "token": ""}, words) == ["http", "-F", "none", "a", "b"]
    values = {"domain": "x.dev", "token": "t"}
    assert arguments_of(given, values, words) == ["http", "--url", "x.dev", "-F", "file", "a", "b"]
