"""What a program gets to see of the environment, how it is called, and where it is found."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from app.core.files import resource
from app.core.tunnel_program import ProgramSpec, arguments_of, read_folder, values_to_run
from app.server.tunnel.launch import find_program, program_environment, write_files

SPECS = read_folder(resource("tunnels"))


def values(spec: ProgramSpec, **saved: str) -> dict[str, str]:
    given = {"port": "8787", "local_host": "127.0.0.1", "target": "127.0.0.1:8787", "folder": "/run", "data": "/data"}
    return {**given, **values_to_run(spec, saved)}


def test_what_programs_would_take_for_options_is_dropped() -> None:
    inherited = {
        "PATH": "/usr/bin",
        "HOME": "/home/me",
        "HOST": "x",
        "PORT": "1",
        "SUBDOMAIN": "x",
        "LOCAL_HOST": "x",
        "RUST_LOG": "trace",
        "TUNNEL_URL": "x",
        "TUNNEL_TOKEN": "x",
        "HOOKLINE_DATA_DIR": "x",
        "http_proxy": "x",
    }
    quick = program_environment(SPECS["cloudflared-quick"], {}, inherited)
    assert {name: quick[name] for name in quick if name != "PATH"} == {
        "HOME": "/home/me",
        "http_proxy": "x",
        "NO_COLOR": "1",
    }
    assert quick["PATH"].split(os.pathsep)[0] == "/usr/bin"
    ngrok = program_environment(SPECS["ngrok"], values(SPECS["ngrok"], authtoken="abc"), inherited)
    assert ngrok["NGROK_AUTHTOKEN"] == "abc"
    assert "http_proxy" not in ngrok
    assert "NGROK_AUTHTOKEN" not in program_environment(SPECS["ngrok"], values(SPECS["ngrok"]), inherited)


@pytest.mark.parametrize("program", SPECS)
def test_no_secret_is_an_argument(program: str) -> None:
    spec = SPECS[program]
    required = {option.name: option.placeholder or "x" for option in spec.program.options if option.required}
    secrets = {option.name: f"SECRET{option.name}" for option in spec.program.options if option.secret}
    if program == "own":
        required["url"] = "https://hooks.example.com"
    arguments = arguments_of(spec.run.arguments, values(spec, **{**required, **secrets}), {})
    assert "SECRET" not in " ".join(arguments)


@pytest.mark.parametrize(
    ("program", "saved", "command"),
    [
        ("ngrok", {}, "http http://127.0.0.1:8787 --log stdout --log-format json"),
        ("ngrok", {"domain": "x.dev"}, "http http://127.0.0.1:8787 --url https://x.dev --log stdout --log-format json"),
        ("tailscale-funnel", {}, "funnel --yes --https=443 8787"),
        ("devtunnel", {}, "host -p 8787 --allow-anonymous"),
        ("devtunnel", {"tunnel": "mine"}, "host mine"),
        ("localtunnel", {"subdomain": "mine"}, "--port 8787 --subdomain mine"),
        ("zrok", {}, "share public http://127.0.0.1:8787 --subordinate --force-local"),
        ("bore", {}, "local 8787 --local-host 127.0.0.1 --to bore.pub"),
    ],
)
def test_commands(program: str, saved: dict[str, str], command: str) -> None:
    spec = SPECS[program]
    given = arguments_of(spec.run.arguments, values(spec, **saved), {})
    assert sorted(given) == sorted(command.split())


@pytest.mark.parametrize(
    ("token", "server", "config"), [("", "free.pinggy.io", "none"), ("abc", "pro.pinggy.io", "/run/ssh_config")]
)
def test_pinggy_with_and_without_an_account(token: str, server: str, config: str) -> None:
    arguments = arguments_of(SPECS["pinggy"].run.arguments, values(SPECS["pinggy"], token=token), {})
    assert arguments[-1] == server
    assert arguments[:2] == ["-F", config]


def test_files_are_written_for_their_owner(tmp_path: Path) -> None:
    write_files(SPECS["pinggy"], values(SPECS["pinggy"], token="abc"), tmp_path)
    assert (tmp_path / "ssh_config").read_text() == "User abc\n"
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o700}
    other = tmp_path / "other"
    other.mkdir()
    write_files(SPECS["pinggy"], values(SPECS["pinggy"]), other)
    assert [file.name for file in other.iterdir()] == ["askpass"]


def test_a_program_beside_the_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "go" / "bin"
    folder.mkdir(parents=True)
    program = folder / "only-here"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_program(("missing", "only-here")) == str(program)
    assert find_program(("/no/such/file", "missing")) is None


def test_a_program_in_the_working_directory_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "only-here"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.curdir)
    assert find_program(("only-here",)) is None
    assert find_program((os.path.join(os.curdir, "only-here"),)) == os.path.join(os.curdir, "only-here")
