"""Mirroring to https: whose certificates are accepted."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from app.core.model import MirrorState
from tests.server.forward.conftest import Stage
from tests.server.forward.targets import OK

OPENSSL = shutil.which("openssl")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate for 127.0.0.1 with its key, in one file."""
    if OPENSSL is None:
        pytest.skip("openssl makes the certificate")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    names = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    command = [OPENSSL, "req", "-x509", *curve, *names, "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    cert.write_bytes(cert.read_bytes() + key.read_bytes())
    return cert


@pytest.mark.parametrize("trusted", [False, True])
async def test_a_certificate_counts_when_the_system_trusts_it(
    stage: Stage, certificate: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.drain()
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        endpoint = await stage.endpoint(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        await stage.forwarder.start()
        delivery = await stage.outcome(endpoint, b"")
    if trusted:
        assert (delivery.state, delivery.error) == (MirrorState.DELIVERED, None)
    else:
        assert delivery.error is not None
        assert delivery.error.startswith("The TLS certificate of 127.0.0.1 was not accepted: self")
