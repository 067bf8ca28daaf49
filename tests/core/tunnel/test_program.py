"""Errors in a file of the catalogue are named; the files that are shipped have none. Of options' values some are
refused, and some are kept from view."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.core.errors import InvalidFieldsError
from app.core.files import resource
from app.core.tunnel.program import (
    HIDDEN,
    TunnelCatalogueError,
    address_header_of,
    arguments_of,
    command_words,
    read_folder,
    read_spec,
    saved_after,
    secrets_of,
    shown_values,
    split_command,
    values_to_run,
    without_secrets,
)
from app.server.tunnel.session import restart_delay_s

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


SPECS = read_folder(resource("tunnels"))


@pytest.mark.parametrize(
    ("program", "name", "value"),
    [
        ("ssh", "host", "-oProxyCommand=touch x"),
        ("ssh", "host", "a b"),
        ("ssh", "user", "-l"),
        ("ssh", "identity", "-i"),
        ("ssh", "remote_port", "0"),
        ("ssh", "remote_port", "9001:evil"),
        ("ssh", "nothing", "x"),
        ("ngrok", "domain", "https://x.ngrok-free.dev"),
        ("ngrok", "domain", "x\ny"),
        ("tailscale-funnel", "https_port", "80"),
        ("own", "command", "'unclosed"),
        ("own", "url", "ftp://x"),
        ("bore", "secret", "x" * 3000),
    ],
)
def test_an_invalid_value_is_refused_by_its_name(program: str, name: str, value: str) -> None:
    with pytest.raises(InvalidFieldsError) as caught:
        saved_after(SPECS[program].program, {}, {name: value})
    assert [error.field for error in caught.value.errors] == [name]


def test_values_are_kept_changed_and_removed() -> None:
    program = SPECS["ssh"].program
    saved = saved_after(program, {}, {"host": " example.com ", "user": "me"})
    assert saved == {"host": "example.com", "user": "me"}
    assert saved_after(program, saved, {"user": ""}) == {"host": "example.com"}
    assert saved_after(program, {"host": "example.com", "old": "x"}, {}) == {"host": "example.com"}


def test_what_a_program_needs_is_asked_for() -> None:
    with pytest.raises(InvalidFieldsError, match=r"needs host \(Server\)") as caught:
        values_to_run(SPECS["ssh"], {})
    assert [error.field for error in caught.value.errors] == ["host"]
    with pytest.raises(InvalidFieldsError, match=r"needs command \(Command\)"):
        values_to_run(SPECS["own"], {})
    assert values_to_run(SPECS["own"], {"command": "x"})["url"] == ""


def test_a_secret_is_never_shown() -> None:
    program = SPECS["ngrok"].program
    saved = {"authtoken": "2abcDEF", "domain": "x.ngrok-free.dev"}
    assert shown_values(program, saved) == ({"domain": "x.ngrok-free.dev"}, ("authtoken",))
    assert without_secrets("token=2abcDEF;", secrets_of(program, saved)) == f"token={HIDDEN};"
    with pytest.raises(InvalidFieldsError) as caught:
        saved_after(program, {}, {"authtoken": "not a token"})
    assert "not a token" not in str(caught.value)


def test_the_users_own_command() -> None:
    own = SPECS["own"].program
    assert command_words(own, {"command": "'my tool' --port={port}", "port": "8787"}) == ["my tool", "--port=8787"]
    assert saved_after(own, {}, {"command": "mytool"}) == {"command": "mytool"}
    assert address_header_of(own, {}) is None
    header = address_header_of(own, {"address_header": "X-Real-IP"})
    assert header is not None
    assert header.name == "X-Real-IP"


def test_a_path_of_windows_keeps_its_backslashes() -> None:
    command = r'"C:\Program Files\tmole.exe" {port} C:\x'
    assert split_command(command, windows=True) == [r"C:\Program Files\tmole.exe", "{port}", r"C:\x"]
    assert split_command(r"my\ tool # {port}", windows=False) == ["my tool", "#", "{port}"]


def test_the_waits_grow_up_to_a_minute() -> None:
    assert [restart_delay_s(count) for count in (1, 2, 3, 7, 8, 1000)] == [1, 2, 4, 60, 60, 60]
