"""The values of options: what is refused, and what is kept from view."""

from __future__ import annotations

import pytest

from app.core.errors import InvalidFieldsError
from app.core.resources import resource
from app.core.tunnel.options import (
    HIDDEN,
    address_header_of,
    command_words,
    saved_after,
    secrets_of,
    shown_values,
    split_command,
    values_to_run,
    without_secrets,
)
from app.core.tunnel.spec import read_folder
from app.server.tunnel.session import restart_delay_s

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
