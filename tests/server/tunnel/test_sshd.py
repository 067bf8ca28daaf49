"""A real tunnel: ssh -R to an OpenSSH server on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import random
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import msgspec
import pytest

from app.core.files import resource
from app.core.tunnel import CONNECTED, Tunnel, TunnelState
from app.core.tunnel_program import AddressHeader, read_folder
from tests import factories
from tests.server.tunnel.conftest import TunnelRig

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin{os.pathsep}/usr/local/sbin")
if SSHD is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
    pytest.skip("needs OpenSSH's server, ssh and ssh-keygen", allow_module_level=True)
if os.geteuid() == 0 and not Path("/run/sshd").is_dir():  # where it separates its privileges; only root's sshd does
    try:
        Path("/run/sshd").mkdir(mode=0o755)
    except OSError:
        pytest.skip("sshd needs /run/sshd", allow_module_level=True)
SPEC = read_folder(resource("tunnels"))["ssh"]
LONG_S = 60


class Sshd:
    """An OpenSSH server that accepts one key, on a free port which it keeps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700)
        self.port, self.remote_port = free_port(), free_port()
        self.key = folder / "key"
        for file in (self.key, folder / "host_key"):
            make_key(file)
        shutil.copy(folder / "key.pub", folder / "authorized_keys")
        config = (
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {folder}/host_key\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nPasswordAuthentication no\n"
            "PermitRootLogin yes\nAllowTcpForwarding yes\n"
        )
        # Since 9.8 it refuses addresses for a while from which connections came that did not sign in.
        for text in (config + "PerSourcePenalties no\n", config):
            (folder / "config").write_text(text)
            tried = subprocess.run([SSHD or "", "-t", "-f", str(folder / "config")], capture_output=True, check=False)
            if tried.returncode == 0:
                break
        self._process: subprocess.Popen[bytes] | None = None

    def _start(self) -> subprocess.Popen[bytes]:
        assert SSHD is not None
        with (self.folder / "log").open("ab") as log:
            command = [SSHD, "-D", "-e", "-f", str(self.folder / "config")]
            return subprocess.Popen(command, stderr=log, start_new_session=True)

    def accepts_the_key(self) -> bool:
        """Whether this user can sign in at all: not with a locked account, for one."""
        given = ("BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null")
        command = ["ssh", "-F", "none", "-p", str(self.port), "-i", str(self.key), *(f"-o{one}" for one in given)]
        done = subprocess.run([*command, "127.0.0.1", "true"], capture_output=True, check=False, timeout=LONG_S)
        return done.returncode == 0

    async def start(self) -> None:
        self._process = self._start()
        async with asyncio.timeout(LONG_S):
            while True:
                assert self._process.poll() is None, (self.folder / "log").read_text()
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                except OSError:
                    await asyncio.sleep(0.02)
                    continue
                writer.close()
                return

    def kill(self) -> None:
        """End it with its sessions, which leave its group but stay its children."""
        process, self._process = self._process, None
        if process is not None:
            for child in children_of(process.pid):
                with contextlib.suppress(ProcessLookupError):  # a session may end at that moment
                    os.kill(child, 9)
            process.kill()
            process.wait()


def children_of(process: int) -> list[int]:
    """Children and their children."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    found, waiting = [], [process]
    while waiting:
        parent = waiting.pop()
        below = [pid for pid, ppid in pairs if ppid == parent]
        found += below
        waiting += below
    return found


def free_port() -> int:
    """A free port below those that the system gives to connections."""
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def make_key(file: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)


@pytest.fixture
async def sshd(tmp_path: Path) -> AsyncIterator[Sshd]:
    if shutil.which("ps") is None:
        pytest.skip("needs ps")
    server = Sshd(tmp_path / "sshd")
    await server.start()
    if not await asyncio.to_thread(server.accepts_the_key):
        server.kill()
        pytest.skip("this user cannot sign in by SSH here")
    yield server
    server.kill()


def options(sshd: Sshd, **more: str) -> dict[str, str]:
    return {
        "host": "127.0.0.1",
        "user": getpass.getuser(),
        "ssh_port": str(sshd.port),
        "identity": str(sshd.key),
        **more,
    }


def connected(tunnel: Tunnel) -> bool:
    return tunnel.state in CONNECTED


async def test_requests_come_through_and_the_tunnel_comes_back_with_its_server(rig: TunnelRig, sshd: Sshd) -> None:
    await rig.store.endpoints.create(factories.draft(slug="orders"))
    service = await rig.use(SPEC, unit=0.05, probe=600, first_probe=0.01)
    await service.configure("ssh", options(sshd, remote_port=str(sshd.remote_port)))
    await service.start("ssh")
    tunnel = await rig.until(connected)
    assert tunnel.url == service.base == f"http://127.0.0.1:{sshd.remote_port}"
    assert not [line for line in tunnel.output if line.startswith("debug1:")]
    async with httpx.AsyncClient(trust_env=False) as client:
        response = await client.post(
            f"{tunnel.url}/catch/orders", content=b"one", headers={"X-Forwarded-For": "6.6.6.6"}
        )
        assert response.status_code == 200
    (row,) = await rig.store.captures.page(None)
    capture = await rig.store.captures.get(row.id)
    assert capture is not None
    # A plain TCP forward names no client: what the sender wrote is not believed.
    assert (capture.source_address, capture.scheme) == ("127.0.0.1", "http")
    assert capture.source_port > 0
    assert (await service.probe()).problem is None

    seen = len(rig.events)
    sshd.kill()
    tunnel = await rig.until(lambda tunnel: tunnel.state is TunnelState.RESTARTING)
    assert tunnel.problem
    assert service.base == f"http://127.0.0.1:{sshd.remote_port}", "it will be the same again"
    await rig.until(lambda tunnel: tunnel.restarts >= 2)
    told = {event.tunnel.problem for event in rig.events[seen:] if event.tunnel.state is TunnelState.RESTARTING}
    assert any("does not accept SSH connections" in (problem or "") for problem in told)
    await sshd.start()
    tunnel = await rig.until(connected)
    assert tunnel.problem is None
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.post(f"{tunnel.url}/catch/orders", content=b"two")).status_code == 200
    assert len(await rig.store.captures.page(None)) == 2
    assert (rig.folder / "tunnels" / "known_hosts").exists()
    process = service._session._run._process.pid  # type: ignore[union-attr]
    await service.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


async def test_a_port_that_the_server_chooses_and_a_proxy_that_names_the_client(rig: TunnelRig, sshd: Sshd) -> None:
    await rig.store.endpoints.create(factories.draft(slug="orders"))
    program = msgspec.structs.replace(SPEC.program, address_header=AddressHeader(name="X-Real-IP"))
    service = await rig.use(msgspec.structs.replace(SPEC, program=program))
    await service.configure("ssh", options(sshd))
    await service.start("ssh")
    tunnel = await rig.until(connected)
    async with httpx.AsyncClient(trust_env=False) as client:  # as a web server on the SSH server would send it
        await client.post(f"{tunnel.url}/catch/orders", content=b"one", headers={"X-Real-IP": "203.0.113.7"})
    (row,) = await rig.store.captures.page(None)
    capture = await rig.store.captures.get(row.id)
    assert capture is not None
    assert capture.source_address == "203.0.113.7"


async def test_what_the_server_refuses_is_told(rig: TunnelRig, sshd: Sshd) -> None:
    service = await rig.use(SPEC)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        await service.configure("ssh", options(sshd, bind="127.0.0.1", remote_port=str(port)))
        await service.start("ssh")
        tunnel = await rig.until(lambda tunnel: tunnel.state is TunnelState.FAILED)
        assert (tunnel.problem or "").startswith(f"The server did not open port {port}")
    other = rig.folder / "other"
    make_key(other)
    await service.configure("ssh", {"identity": str(other), "remote_port": ""})
    (sshd.folder / "authorized_keys").write_text("")
    await service.start("ssh")
    tunnel = await rig.until(lambda tunnel: tunnel.state is TunnelState.FAILED)
    assert (tunnel.problem or "").startswith("The server accepts none of your SSH keys")
    shutil.copy(other.with_suffix(".pub"), sshd.folder / "host_key.pub")
    shutil.copy(other, sshd.folder / "host_key")
    sshd.kill()
    await sshd.start()
    await service.start("ssh")
    tunnel = await rig.until(lambda tunnel: tunnel.state is TunnelState.FAILED)
    assert (tunnel.problem or "").startswith(("The server's key is not the known one", "The server shows another key"))
