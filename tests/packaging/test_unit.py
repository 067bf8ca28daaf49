"""The unit for systemd is valid by its own checks and closed to what a node does not need; a node runs as it says."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.cli.parser import parse
from app.core.team import Role
from linux.share import UNIT, stage_unit
from tests.e2e.program import hookline

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

pytestmark = pytest.mark.long

MOST_EXPOSED = 20
"""Of 100, as `systemd-analyze security` counts; a service without any such line has 96."""
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def values(name: str) -> list[str]:
    """What the unit says of it, line by line, for the instance `edge`."""
    found = re.findall(rf"^{name}=(.*)$", UNIT.read_text("utf-8"), re.MULTILINE)
    return [value.replace("%i", "edge").replace("%n", "hookline@edge.service") for value in found]


def test_packages_have_it_where_systemd_looks(tmp_path: Path) -> None:
    stage_unit(tmp_path / "usr")
    assert (tmp_path / "usr/lib/systemd/system/hookline@.service").read_bytes() == UNIT.read_bytes()


def analyze(tmp_path: Path, text: str, *command: str) -> tuple[int, str]:
    """Exit code and words of `systemd-analyze` about the unit, whose program is one that is installed here."""
    file = tmp_path / UNIT.name
    file.write_text(text.replace("/usr/bin/hookline", sys.executable), "utf-8")
    done = subprocess.run(["systemd-analyze", *command, file], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@needs_systemd
def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    verify = ("verify", "--man=no", "--recursive-errors=no")
    text = UNIT.read_text("utf-8")
    assert analyze(tmp_path, text, *verify) == (0, "")
    _, said = analyze(tmp_path, text.replace("Restart=on-failure", "Restart=perhaps"), *verify)
    assert "perhaps" in said


@needs_systemd
def test_it_is_closed_to_what_a_node_does_not_need(tmp_path: Path) -> None:
    security = ("security", "--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager")
    text = UNIT.read_text("utf-8")
    code, said = analyze(tmp_path, text, *security)
    assert code == 0, said
    assert analyze(tmp_path, text.replace("CapabilityBoundingSet=\n", "").replace("DynamicUser", "#"), *security)[0]


def test_each_line_sets_something_once() -> None:
    """Also where systemd is not installed."""
    sections = re.split(r"^\[(\w+)\]$", UNIT.read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert sections[::2] == ["Unit", "Service", "Install"]
    for section in sections[1::2]:
        lines = [line for line in section.splitlines() if line and not line.startswith("#")]
        assert all(re.fullmatch(r"[A-Z]\w+=.*", line) for line in lines)
        assert len(set(lines)) == len(lines)
    assert parse(shlex.split(values("ExecStart")[0])[1:-1]).command == "serve"


def test_a_node_finds_its_store_in_the_credential(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """systemd gives it away by an access list, so that it looks as if its group could read it: libpq takes no such file
    for `~/.pgpass`."""
    from tests.team import USERS, team_store

    (credential,) = values("LoadCredential")
    told = dict(one.split("=", 1) for one in values("Environment"))
    assert told["PGSERVICEFILE"] == f"/run/credentials/hookline@edge.service/{credential.partition(':')[0]}"
    store = tmp_path / "store"
    with team_store(postgres_server) as address:
        database = address.partition("///")[2].partition("?")[0]
        place = f"host={postgres_server.folder}\ndbname={database}\nuser={USERS[Role.CAPTURE]}\n"
        store.write_text(f"[team]\n{place}password=unused\n", "utf-8")
        store.chmod(0o440)
        arguments = shlex.split(values("ExecStart")[0])[1:-1]
        options = ("--port", "0", "--api-port", "0", "--exit-on-stdin-close")
        del told["HOOKLINE_DATA_DIR"]
        done = hookline(tmp_path / "data", *arguments, *options, **{**told, "PGSERVICEFILE": str(store)})
    assert (done.returncode, done.stderr) == (0, "")
