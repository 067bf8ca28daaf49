"""`hookline tunnel`, with a program of a folder on PATH that stands in for localtunnel's `lt`."""

from __future__ import annotations

import os
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Program, Run
from tests.tunnels import SCRIPT

pytestmark = [pytest.mark.skipif(os.name == "nt", reason="lt is a shell script here"), pytest.mark.slow]


@pytest.fixture
def lt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An `lt` that relays a port of this machine, and names 203.0.113.7 as the client."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "lt"
    relay = f'exec "{sys.executable}" "{SCRIPT}" relay "$2" 203.0.113.7 "{tmp_path / "broken"}"'
    script.write_text(f"#!/bin/sh\n{relay}\n")
    script.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return script


@pytest.mark.usefixtures("lt")
def test_a_tunnel_from_start_to_stop(serve: Callable[..., Program], run: Run) -> None:
    serve("--endpoint", "Orders")
    assert run("tunnel", "status").out == "Tunnel: off\n"
    started = run("tunnel", "start", "localtunnel")
    url = started.out.strip()
    assert started.code == 0
    assert url.startswith("http://127.0.0.1:")
    endpoint = run("endpoint", "list", "--json").json[0]
    assert endpoint["url"] == f"{url}/catch/{endpoint['slug']}"
    assert run("status", "--json").json["base_url"] == url
    urllib.request.urlopen(urllib.request.Request(endpoint["url"], b"{}"), timeout=30).close()
    request = run("show", "@last", "--json").json
    assert request["source"] == {"address": "203.0.113.7", "port": 0}
    assert request["scheme"] == "https"
    assert run("tunnel", "probe").out.startswith("✓  The public URL works, in ")
    status = run("tunnel", "status", "--json").json
    assert (status["state"], status["url"], status["probe"]["problem"]) == ("up", url, None)
    assert run("requests", endpoint["slug"], "--json").json[0]["id"] == request["id"], "probes are no requests"
    assert run("refused", "--json").json == []
    assert run("tunnel", "history").out.split("\t")[1:] == ["now", "localtunnel", f"{url}\n"]
    refused = run("target", "add", endpoint["slug"], f"{url}/catch/{endpoint['slug']}")
    assert "loop" in refused.err
    updated = run("tunnel", "updated", endpoint["slug"])
    assert updated.out == f"Marked the URL of {endpoint['slug']} as updated.\n"
    assert run("tunnel", "stop").out == "Stopped.\n"
    assert run("tunnel", "stop").out == "No tunnel is running.\n"
    assert run("tunnel", "probe").code == 3


@pytest.mark.usefixtures("lt")
def test_a_url_that_nobody_reaches_is_marked_wherever_it_is_shown(
    serve: Callable[..., Program], run: Run, tmp_path: Path
) -> None:
    serve("--endpoint", "Orders")
    url = run("tunnel", "start", "localtunnel").out.strip()
    assert run("tunnel", "probe").code == 0
    endpoint = run("endpoint", "list", "--json").json[0]
    assert endpoint["tunnel"] == run("status", "--json").json["tunnel"] == "up"
    assert run("tunnel", "status").code == 0
    assert run("endpoint", "list").out.splitlines()[0].endswith(endpoint["url"])
    problem = "127.0.0.1 responds with 502: its service does not reach Hookline through the tunnel."
    (tmp_path / "broken").write_bytes(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    assert run("tunnel", "probe").code == 1
    for status in (run("tunnel", "status"), run("tunnel", "status", "--json")):
        assert (status.code, status.err) == (1, "")
    assert run("tunnel", "status").out.startswith(f"Tunnel: unreachable\nProgram: localtunnel\nURL: {url}\n")
    assert run("tunnel", "status", "--json").json["state"] == "unreachable"
    marked = f"{endpoint['url']} (tunnel: unreachable)"
    assert run("endpoint", "list").out.splitlines()[0].endswith(marked)
    assert f"{marked}\n" in run("endpoint", "show", endpoint["slug"]).out
    assert run("endpoint", "list", "--json").json[0]["tunnel"] == "unreachable"
    status = run("status").out
    assert f"{url} (tunnel: unreachable)\n" in status
    assert f"Tunnel: unreachable. {problem}\n" in status
    doctor = run("doctor")
    assert doctor.code == 1
    assert f"unreachable. {problem}" in doctor.out
    (tmp_path / "broken").unlink()
    assert run("tunnel", "probe").code == 0
    assert run("tunnel", "status").code == 0
    run("tunnel", "stop")
    assert run("endpoint", "list", "--json").json[0]["tunnel"] is None


@pytest.mark.usefixtures("lt")
def test_serve_starts_a_tunnel_and_prints_its_url(serve: Callable[..., Program], run: Run) -> None:
    program = serve("--tunnel", "localtunnel")
    url = program.read_line(60).removeprefix("tunnel ")
    assert run("tunnel", "status", "--json").json["url"] == url
    assert run("settings", "tunnel_autostart").out == "on\n"
    assert program.stop() == 0


@pytest.mark.usefixtures("lt")
def test_the_tunnel_of_the_settings_starts_with_hookline(serve: Callable[..., Program], run: Run) -> None:
    run("endpoint", "add", "Orders")
    assert "no tunnel program" in run("settings", "tunnel_program", "nothing").err
    assert run("settings", "tunnel_program", "localtunnel").code == 0
    assert run("settings", "tunnel_autostart", "maybe").code == 2
    assert run("settings", "tunnel_autostart", "on").out == "on\n"
    program = serve()
    assert program.read_line(60).startswith("tunnel http://127.0.0.1:")
    assert program.stop() == 0


@pytest.mark.usefixtures("empty_store")
def test_without_a_running_hookline(run: Run) -> None:
    done = run("tunnel", "start", "localhost-run")
    assert done.code == 3
    assert "Start it with hookline, or hookline serve." in done.err
    assert run("tunnel", "status").out == "Tunnel: off\n"
    assert run("tunnel", "history").err == "hookline: There has been no tunnel yet.\n"


@pytest.mark.usefixtures("lt")
def test_the_programs_are_listed_without_data_too(run: Run, folder: Path) -> None:
    done = run("tunnel", "list", "--json")
    assert (done.code, done.err) == (0, "")
    assert next(one for one in done.json if one["id"] == "localtunnel")["path"]
    assert not folder.exists()


@pytest.mark.usefixtures("empty_store")
def test_programs_and_their_options(run: Run, tmp_path: Path, lt: Path) -> None:
    (lt.parent / "ssh").symlink_to(lt)
    rows = {line.split("\t")[0]: line.split("\t") for line in run("tunnel", "list").out.splitlines()}
    assert len(rows) >= 12
    assert rows["ssh"][4].startswith("host= (required), user=")
    assert [rows[name][1] for name in ("localtunnel", "pinggy", "ssh")] == ["yes", "via ssh", "via ssh"]
    assert (rows["ssh"][2], rows["ngrok"][2]) == ("no", "yes")
    run("tunnel", "set", "ssh", "remote_port=9001")
    rows = {line.split("\t")[0]: line.split("\t") for line in run("tunnel", "list").out.splitlines()}
    assert rows["ssh"][2] == "yes"
    secret = tmp_path / "token"
    secret.write_text("2abcDEF\n")
    done = run("tunnel", "set", "ngrok", f"authtoken=@{secret}", "domain=x.ngrok-free.dev")
    assert done.out == "authtoken=(saved), domain=x.ngrok-free.dev\n"
    assert "2abcDEF" not in run("tunnel", "list", "--json").out
    assert run("tunnel", "set", "ngrok", "authtoken=", "domain=").out == "authtoken=, domain=\n"
    assert run("tunnel", "set", "ngrok", "nonsense").code == 2
    wrong = run("tunnel", "set", "ssh", "host=-oProxyCommand=x")
    assert (wrong.code, "Server is not valid" in wrong.err) == (2, True)
    assert run("tunnel", "set", "ngrok", "authtoken=@/no/such/file").code == 3
    assert run("tunnel", "start", "nothing").code == 2


def test_a_tunnel_that_fails_ends_the_command_with_its_reason(
    serve: Callable[..., Program], run: Run, lt: Path
) -> None:
    lt.write_text('#!/bin/sh\necho "connection refused: 203.0.113.9:1234 (check your firewall settings)" >&2\nexit 1\n')
    serve()
    done = run("tunnel", "start", "localtunnel")
    assert done.code == 3
    assert done.err.startswith("hookline: A firewall blocks the connection to 203.0.113.9:1234.")
    status = run("tunnel", "status")
    assert status.code == 1
    assert status.out.startswith("Tunnel: failed\n")
    assert "Tunnel: failed. A firewall blocks" in run("status").out
    assert run("doctor").code == 1
