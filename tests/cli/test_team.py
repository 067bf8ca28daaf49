"""`hookline team init`: what it prints, and what it refuses."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.cli.call import LocalCall
from app.cli.commands.team import init_team
from app.cli.errors import CliError
from app.cli.output import Output
from app.core.team import Role
from tests.cli.conftest import ROOT, Run, services

ROLES = {role: f"team_{role}" for role in Role}


def init_on(address: str | None, *, as_json: bool = False) -> tuple[str, str]:
    """What is printed, and the address of the store that was made."""
    made: list[str] = []

    def init(store: str) -> Mapping[Role, str]:
        made.append(store)
        return ROLES

    out = io.StringIO()
    given = Namespace(address=address)
    call = LocalCall(given, Output(as_json, out=out), None, services(init_team=init))  # type: ignore[arg-type]
    assert init_team(call) == 0
    return out.getvalue(), made[0]


def test_it_names_the_roles_and_says_how_to_give_one() -> None:
    text, _ = init_on("postgresql:///team")
    assert "  team_reader   sees everything and changes nothing\n" in text
    assert text.endswith("GRANT team_member TO ann;\n")
    assert json.loads(init_on("postgresql:///team", as_json=True)[0]) == ROLES


def test_the_environment_may_name_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOKLINE_STORE", raising=False)
    with pytest.raises(CliError, match="Say which store"):
        init_on(None)
    monkeypatch.setenv("HOOKLINE_STORE", "postgresql://ann:secret@db/team")
    assert init_on(None)[1] == "postgresql://ann:secret@db/team"


def test_without_an_address_it_asks_for_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOKLINE_STORE", raising=False)
    done = run("team", "init")
    assert done.code == 2
    assert done.err == "hookline: Say which store: hookline team init ADDRESS, or set HOOKLINE_STORE.\n"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://ann:s3cret@db/team", "Store must not say the password"),
        ("mysql://db/team", "Store must be an address such as postgresql://"),
        ("postgresql:///none?host=/nowhere", "The store at postgresql:///nowhere/none cannot be used"),
    ],
)
def test_what_it_refuses(run: Run, address: str, said: str) -> None:
    done = run("team", "init", address)
    assert done.code != 0
    assert said in done.err
    assert "s3cret" not in done.err


WITHOUT_DRIVER = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "psycopg":
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
from app.start import start
sys.exit(start(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("team", "init"), 3),
        (("endpoint", "list"), 3),
        (("store", "copy", "new", "postgresql:///team"), 3),
        (("doctor",), 1),
    ],
)
def test_without_the_driver_each_command_says_what_to_install(
    tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    environment = {**os.environ, "HOOKLINE_STORE": "postgresql:///team", "HOOKLINE_DATA_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DRIVER, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "A team's store needs psycopg." in done.stdout + done.stderr
    assert "pip install 'hookline[team]'" in done.stdout + done.stderr
