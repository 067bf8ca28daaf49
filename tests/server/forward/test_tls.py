"""Forwarding to https: whose certificates are accepted."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.model import DeliveryState
from tests.server.forward.certificates import CURVE, openssl
from tests.server.forward.conftest import Stage
from tests.server.forward.targets import OK

Make = Callable[[Path], tuple[Path, Path]]
SUBJECT = ("-subj", "/CN=127.0.0.1")
NAMES = "subjectAltName=IP:127.0.0.1"
NO_KEY_IDS = "subjectKeyIdentifier=none\nauthorityKeyIdentifier=none\n"


def self_signed(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 with its key in one file, and the certificate that vouches for it: itself."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    openssl("req", "-x509", *CURVE, "-days", "2", *SUBJECT, "-addext", NAMES, "-keyout", key, "-out", cert)
    cert.write_bytes(cert.read_bytes() + key.read_bytes())
    return cert, cert


def home_made(folder: Path) -> tuple[Path, Path]:
    """The same from an authority that names no keys, as scripts found on the web make one."""
    key, request, cert = folder / "key.pem", folder / "request.pem", folder / "cert.pem"
    authority_key, authority = folder / "authority-key.pem", folder / "authority.pem"
    config, extensions = folder / "authority.ini", folder / "extensions.ini"
    config.write_text(f"[req]\ndistinguished_name=dn\n[dn]\n[ca]\nbasicConstraints=critical,CA:true\n{NO_KEY_IDS}")
    extensions.write_text(f"{NAMES}\n{NO_KEY_IDS}")
    made = ("-keyout", authority_key, "-out", authority)
    openssl("req", "-x509", *CURVE, "-days", "2", "-subj", "/CN=Home", "-config", config, "-extensions", "ca", *made)
    openssl("req", "-new", *CURVE, *SUBJECT, "-keyout", key, "-out", request)
    signer = ("-CA", authority, "-CAkey", authority_key, "-CAcreateserial", "-days", "2")
    openssl("x509", "-req", "-in", request, *signer, "-extfile", extensions, "-out", cert)
    cert.write_bytes(cert.read_bytes() + key.read_bytes())
    return cert, authority


UNTRUSTED = {self_signed: "self", home_made: "unable to get"}


@pytest.mark.parametrize("make", [self_signed, home_made])
@pytest.mark.parametrize("trusted", [False, True])
async def test_a_certificate_counts_when_the_system_trusts_it(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Make, trusted: bool
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.drain()
        writer.close()

    certificate, authority = make(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        endpoint = await stage.endpoint(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        await stage.forwarder.start()
        delivery = await stage.outcome(endpoint, b"")
    if trusted:
        assert (delivery.state, delivery.error) == (DeliveryState.DELIVERED, None)
    else:
        assert delivery.error is not None
        assert delivery.error.startswith(f"The TLS certificate of 127.0.0.1 was not accepted: {UNTRUSTED[make]}")
