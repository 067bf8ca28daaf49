"""The image and what compose starts of it: valid by their schema, and run as processes here, a team that captures.

No test starts a container: that would take an image of Python, PostgreSQL and HAProxy each.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from ruamel.yaml import YAML

from app.cli.parser import parse
from tests.e2e.program import START_S, Program, api, hookline
from tests.team import roles_dropped

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.name == "nt", reason="containers and what is in them are of Linux"),
]

ROOT = Path(__file__).parents[2]
HERE = ROOT / "packaging" / "container"
HAPROXY = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
SUBNET, THIS_MACHINE, SENDER = "10.87.87.0/24", "127.0.0.1", "127.0.0.2"


def compose() -> dict[str, Any]:
    given: dict[str, Any] = YAML(typ="safe").load(HERE / "compose.yaml")
    return given


def test_the_compose_file_is_what_compose_reads() -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")
    command = [checker, "--builtin-schema", "vendor.compose-spec", HERE / "compose.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_all_that_it_names_is_there(tmp_path: Path) -> None:
    given = compose()
    shutil.copy(HERE / "passwords.sh", tmp_path)
    subprocess.run([tmp_path / "passwords.sh"], check=True)
    assert {secret["file"] for secret in given["secrets"].values()} == {
        path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("secrets/*")
    }
    for service in given["services"].values():
        assert set(service.get("secrets", ())) <= set(given["secrets"])
        assert set(service["networks"]) <= set(given["networks"])
        assert set(service.get("depends_on", ())) <= set(given["services"])
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert (HERE / source).is_file() if source.startswith(".") else source in given["volumes"]
    assert given["networks"]["senders"]["ipam"]["config"] == [{"subnet": SUBNET}]


def test_passwords_are_made_once_and_differ(tmp_path: Path) -> None:
    shutil.copy(HERE / "passwords.sh", tmp_path)
    made = []
    for _ in range(2):
        subprocess.run([tmp_path / "passwords.sh"], check=True)
        made.append({path.name: path.read_text("utf-8") for path in sorted(tmp_path.glob("secrets/*"))})
    assert made[0] == made[1]
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    passwords = {name: text for name, text in made[0].items() if name.endswith(".password")}
    assert len(set(passwords.values())) == len(passwords) == 3
    for name, text in passwords.items():
        assert re.fullmatch("[0-9a-f]{48}", text)
        assert f"password={text}\n" in made[0][name.replace(".password", ".conf")]


def test_the_image_is_made_of_the_wheel_alone(tmp_path: Path) -> None:
    """What is not left out is enough to make it."""
    ignored, *kept = [line for line in (HERE / "Containerfile.dockerignore").read_text().split() if "cache" not in line]
    assert ignored == "*"
    for name in (line.removeprefix("!") for line in kept):
        source, target = ROOT / name, tmp_path / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, target)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "wheel"]
    subprocess.run(build, cwd=tmp_path / "source", capture_output=True, check=True)
    assert len(list((tmp_path / "wheel").glob("hookline-*.whl"))) == 1


def test_its_command_is_one_of_hooklines() -> None:
    text = (HERE / "Containerfile").read_text("utf-8")
    (command,) = re.findall(r"^CMD \[(.*)\]$", text, re.MULTILINE)
    options = parse([word.strip('", ') for word in command.split()])
    assert (options.command, options.host, options.api_host) == ("serve", "0.0.0.0", "0.0.0.0")
    assert "\nUSER hookline\n" in text


needs_haproxy = pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed")


@needs_haproxy
def test_haproxy_takes_its_configuration() -> None:
    assert HAPROXY is not None
    done = subprocess.run([HAPROXY, "-c", "-f", HERE / "haproxy.cfg"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((THIS_MACHINE, 0))
        return int(probe.getsockname()[1])


class Team:
    """The services of the compose file, as processes: `folder` has the secrets, with this server's place in them."""

    def __init__(self, folder: Path, server: PostgresServer) -> None:
        self._folder, self._services = folder, compose()["services"]
        shutil.copy(HERE / "passwords.sh", folder)
        subprocess.run([folder / "passwords.sh"], check=True)
        for file in folder.glob("secrets/*.conf"):
            file.write_text(file.read_text().replace("host=postgres\n", f"host={server.folder}\n"))

    def variables(self, service: str) -> dict[str, str]:
        return {name: self._here(value) for name, value in self._services[service]["environment"].items()}

    def words(self, service: str) -> list[str]:
        """Its command, with what this machine has in the place of the containers' network."""
        words = [re.sub(r"\$\{\w+:-(.*)\}", r"\1", word) for word in self._services[service]["command"]]
        local = {SUBNET: THIS_MACHINE, "0.0.0.0": THIS_MACHINE}
        return [re.sub("|".join(map(re.escape, local)), lambda found: local[found[0]], word) for word in words]

    def make_users(self) -> None:
        """What runs once, in its order."""
        done = hookline(self._folder / "roles", *self.words("roles"), **self.variables("roles"))
        assert done.returncode == 0, done.stderr
        script = self._folder / "users.sql"
        script.write_text(self._here((HERE / "users.sql").read_text("utf-8")))
        command = [str(script) if word == "/users.sql" else word for word in self.words("users")]
        subprocess.run(command, env={**os.environ, **self.variables("users")}, check=True)

    def node(self, service: str, name: str) -> Program:
        command, *options = self.words(service)
        return Program(self._folder / name, *options, command=(command,), **self.variables(service))

    @contextlib.contextmanager
    def proxy(self, nodes: list[Program]) -> Iterator[int]:
        """HAProxy's port, once it knows that the nodes are ready."""
        assert HAPROXY is not None
        port = free_port()
        servers = "\n".join(
            f"    server node{number} {THIS_MACHINE}:{node.port} port {urlsplit(node.api_url).port}"
            for number, node in enumerate(nodes)
        )
        text = (HERE / "haproxy.cfg").read_text("utf-8").replace("bind :8080", f"bind {THIS_MACHINE}:{port}")
        config = self._folder / "haproxy.cfg"
        config.write_text(
            re.sub(r"^ *server-template .*$", servers, text, flags=re.MULTILINE).replace("port 8788 ", "")
        )
        with (self._folder / "haproxy.log").open("wb") as log:
            process = subprocess.Popen([HAPROXY, "-db", "-f", config], stdout=log, stderr=log)
        try:
            wait_for_status(port, "/catch/none", 404)
            yield port
        finally:
            process.terminate()
            process.wait()

    def _here(self, text: str) -> str:
        return text.replace("/run/secrets", shlex.quote(str(self._folder / "secrets")))


def send(port: int, path: str) -> int:
    """A request from another address of this machine, which pretends to come from a third."""
    connection = http.client.HTTPConnection(THIS_MACHINE, port, timeout=20, source_address=(SENDER, 0))
    try:
        connection.request("POST", path, b"{}", {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"})
        return connection.getresponse().status
    finally:
        connection.close()


def wait_for_status(port: int, path: str, expected: int) -> None:
    """Until HAProxy is there, and knows that nodes are: until then it responds with 503."""
    end, status = time.monotonic() + START_S, None
    while status != expected:
        assert time.monotonic() < end, status
        with contextlib.suppress(OSError, http.client.HTTPException):
            status = send(port, path)
        time.sleep(0.1)


@needs_haproxy
@pytest.mark.timeout(180)
def test_the_services_are_a_team_that_captures(
    tmp_path: Path, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.postgres import programs

    monkeypatch.setenv("PATH", f"{programs()}:{os.environ['PATH']}")
    with contextlib.ExitStack() as stack:
        stack.enter_context(dropped(postgres_server))
        team = Team(tmp_path, postgres_server)
        for _ in range(2):  # each start of the team does it again
            team.make_users()
        worker = stack.enter_context(team.node("worker", "worker"))
        nodes = [stack.enter_context(team.node("capture", f"capture{number}")) for number in range(2)]
        assert api(worker, "POST", "/endpoints", {"name": "Orders", "slug": "orders"})[0] == 201
        port = stack.enter_context(team.proxy(nodes))
        assert [send(port, "/catch/orders/new") for _ in range(4)] == [200] * 4
        assert send(port, "/api/v1/status") == 404
        (newest, *others) = api(worker, "GET", "/requests")[1]["items"]
        assert len(others) == 3
        request = api(worker, "GET", f"/requests/{newest['id']}")[1]
        assert (request["source"]["address"], request["scheme"]) == (SENDER, "http")
        assert ["x-forwarded-for", "203.0.113.9"] in request["headers"], "HAProxy writes names in lower case"
        assert api(nodes[0], "GET", "/requests")[0] == 403
        nodes[0].kill()
        time.sleep(3)  # as long as it takes HAProxy to notice
        assert [send(port, "/catch/orders") for _ in range(4)] == [200] * 4


@contextlib.contextmanager
def dropped(server: PostgresServer) -> Iterator[None]:
    """A database of the name in the compose file, with its users, gone in the end."""
    import psycopg

    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE team")
        with roles_dropped(server, "team"):
            yield
        for user in ("capture", "worker"):
            connection.execute(f"DROP ROLE IF EXISTS {user}")
