"""Attempts to https: targets: what is trusted, client certificates, and what can go wrong."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from app.core.delivery import Attempt, FailureKind, RequestEdit
from tests.server.forward.certificates import CURVE, Authority, openssl, serving
from tests.server.forward.scripted import Desk, Peer, answering_all, scripted
from tests.server.forward.targets import OK


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def certificate(authority: Authority) -> Path:
    return authority.issue("good")


@pytest.fixture
def trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))


async def attempt_to(desk: Desk, tls: ssl.SSLContext, **fields: object) -> tuple[Attempt, int]:
    """And the port."""
    async with scripted(tls=tls) as place:
        return await desk.attempt(place.url, **fields), place.port


@pytest.mark.usefixtures("trusted")
async def test_a_trusted_certificate(desk: Desk, certificate: Path) -> None:
    async with scripted(tls=serving(certificate)) as place:
        first, second = [await desk.attempt(place.url) for _ in range(2)]
    assert (first.failure, first.error, second.failure) == (None, None, None)
    assert first.timing.tls is not None
    assert (second.reused, second.timing.tls) == (True, None)
    assert place.connections == 1


async def test_certificate_checks_can_be_turned_off(desk: Desk, certificate: Path) -> None:
    attempt, _ = await attempt_to(desk, serving(certificate), verify_tls=False)
    assert (attempt.failure, attempt.error) == (None, None)


async def test_an_unknown_issuer(desk: Desk, certificate: Path) -> None:
    attempt, _ = await attempt_to(desk, serving(certificate))
    assert attempt.failure is FailureKind.TLS
    assert attempt.error == (
        "The TLS certificate of 127.0.0.1 was not accepted: unable to get local issuer certificate. "
        "Its issuer is unknown here, or the target does not send the intermediate certificates."
    )
    assert (attempt.headers, attempt.size) == ((), 0)


async def test_a_self_signed_certificate(desk: Desk, tmp_path: Path) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    names = ("-addext", "subjectAltName=IP:127.0.0.1")
    openssl("req", "-x509", *CURVE, "-days", "2", "-subj", "/CN=x", *names, "-keyout", key, "-out", cert)
    cert.write_bytes(cert.read_bytes() + key.read_bytes())
    attempt, _ = await attempt_to(desk, serving(cert))
    assert attempt.failure is FailureKind.TLS
    assert attempt.error is not None
    assert attempt.error.startswith("The TLS certificate of 127.0.0.1 was not accepted: self")
    assert attempt.error.endswith("Trust it on this system, or turn off certificate checks for this target.")


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(
    ("valid", "reason"),
    [
        (("20200101000000Z", "20200102000000Z"), "certificate has expired. Renew it, or check this computer's clock."),
        (
            ("20990101000000Z", "20990102000000Z"),
            "certificate is not yet valid. Check this computer's clock and the target's.",
        ),
    ],
)
async def test_a_certificate_out_of_its_time(
    desk: Desk, authority: Authority, valid: tuple[str, str], reason: str
) -> None:
    attempt, _ = await attempt_to(desk, serving(authority.issue(f"from-{valid[0]}", valid=valid)))
    assert attempt.failure is FailureKind.TLS
    assert attempt.error == f"The TLS certificate of 127.0.0.1 was not accepted: {reason}"


@pytest.mark.usefixtures("trusted")
async def test_a_certificate_for_another_name(desk: Desk, authority: Authority) -> None:
    certificate = authority.issue("other", "DNS:hooks.example,DNS:*.dev.example,IP:10.0.0.1")
    attempt, _ = await attempt_to(desk, serving(certificate))
    assert attempt.failure is FailureKind.TLS
    assert attempt.error == (
        "The TLS certificate of 127.0.0.1 was not accepted: it is for another name. "
        "It is valid for hooks.example, *.dev.example, 10.0.0.1."
    )


async def test_a_port_that_speaks_http(desk: Desk) -> None:
    async def plain(peer: Peer) -> None:
        await peer.reader.read(100)
        await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await peer.closed()

    async with scripted(plain) as place:
        attempt = await desk.attempt(place.url.replace("http:", "https:"))
    assert attempt.failure is FailureKind.TLS
    assert attempt.error is not None
    assert attempt.error.startswith(f"TLS with 127.0.0.1:{place.port} failed (")
    assert attempt.error.endswith("Does that port speak https?")


@pytest.mark.parametrize("abort", [False, True])
async def test_a_port_that_closes_during_the_handshake(desk: Desk, abort: bool) -> None:
    async def closing(peer: Peer) -> None:
        await peer.reader.read(100)
        if abort:
            peer.writer.transport.abort()

    async with scripted(closing) as place:
        attempt = await desk.attempt(place.url.replace("http:", "https:"))
    place_text = f"127.0.0.1:{place.port}"
    assert attempt.failure is FailureKind.TLS
    assert attempt.error == (
        f"{place_text} closed the connection during the TLS handshake. Does that port speak https?"
    )


async def test_a_handshake_that_takes_too_long(desk: Desk) -> None:
    async with scripted(lambda peer: peer.closed()) as place:
        attempt = await desk.attempt(place.url.replace("http:", "https:"), timeout_ms=1_500)
    assert attempt.failure is FailureKind.TIMEOUT
    assert attempt.error is not None
    assert attempt.error.startswith(f"The TLS handshake with 127.0.0.1:{place.port} did not finish within 1.5 s.")


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("one_file", [True, False])
async def test_a_client_certificate(desk: Desk, authority: Authority, certificate: Path, one_file: bool) -> None:
    tls = serving(certificate, clients=authority.certificate)
    client = authority.issue("client")
    key = None if one_file else str(authority.folder / "client-key.pem")
    attempt, _ = await attempt_to(desk, tls, client_certificate=str(client), client_key=key)
    assert (attempt.failure, attempt.error) == (None, None)


@contextmanager
def alerting(tls: ssl.SSLContext) -> Iterator[int]:
    """The port of a server that tells a client why it refuses it; asyncio's servers only close."""

    def serve(listener: socket.socket) -> None:
        plain, _ = listener.accept()
        with tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False) as secure:
            with suppress(ssl.SSLError):
                secure.do_handshake()
            secure.shutdown(socket.SHUT_WR)
            while secure.recv(65536):  # a close before the request was read would reset the connection
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=[listener])
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


@pytest.mark.usefixtures("trusted")
async def test_a_client_certificate_that_is_missing(desk: Desk, authority: Authority, certificate: Path) -> None:
    with alerting(serving(certificate, clients=authority.certificate)) as port:
        attempt = await desk.attempt(f"https://127.0.0.1:{port}")
    assert attempt.failure is FailureKind.TLS
    assert attempt.error == f"127.0.0.1:{port} requires a client certificate."


@pytest.mark.usefixtures("trusted")
async def test_a_client_certificate_that_is_not_accepted(
    desk: Desk, authority: Authority, certificate: Path, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path, "Stranger").issue("client")
    tls = serving(certificate, clients=authority.certificate)
    with alerting(tls) as port:
        attempt = await desk.attempt(f"https://127.0.0.1:{port}", client_certificate=str(stranger))
    assert attempt.failure is FailureKind.TLS
    assert attempt.error is not None
    assert attempt.error.startswith(f"127.0.0.1:{port} did not accept the client certificate (")


async def test_a_ca_certificate_of_the_target_is_trusted_too(
    desk: Desk, authority: Authority, certificate: Path, tmp_path: Path
) -> None:
    renewed = tmp_path / "ca.pem"
    renewed.write_bytes(Authority(tmp_path, "Stranger").certificate.read_bytes())
    async with scripted(answering_all, tls=serving(certificate)) as place:
        unknown = await desk.attempt(place.url)
        stranger = await desk.attempt(place.url, ca_certificate=str(renewed))
        renewed.write_bytes(authority.certificate.read_bytes())
        known = await desk.attempt(place.url, ca_certificate=str(renewed))
    assert [one.failure for one in (unknown, stranger, known)] == [FailureKind.TLS, FailureKind.TLS, None]


async def test_client_certificate_files_that_cannot_be_used(
    desk: Desk, authority: Authority, certificate: Path, tmp_path: Path
) -> None:
    client, missing, text = str(authority.issue("files")), str(tmp_path / "none.pem"), tmp_path / "text.pem"
    text.write_text("hello")
    locked = tmp_path / "locked.pem"
    openssl("ec", "-in", authority.folder / "files-key.pem", "-aes256", "-passout", "pass:secret", "-out", locked)
    other = str(authority.folder / "good-key.pem")
    expected = {
        (missing, None): f"The client certificate {missing} cannot be read: No such file or directory.",
        (client, missing): f"The client key {missing} cannot be read: No such file or directory.",
        (str(text), None): f"The client certificate {text} contains no PEM certificate.",
        (client, str(text)): f"The client key {text} contains no PEM private key.",
        (
            client,
            str(locked),
        ): f"The client key {locked} is protected by a password. Save it without one to use it here.",
        (client, other): f"The client key {other} does not belong to the certificate {client}.",
    }
    for (cert, key), error in expected.items():
        attempt, _ = await attempt_to(desk, serving(certificate), client_certificate=cert, client_key=key)
        assert (attempt.failure, attempt.error) == (FailureKind.TLS, error)


@pytest.mark.usefixtures("trusted")
async def test_a_client_certificate_is_not_shown_to_another_origin(
    desk: Desk, authority: Authority, certificate: Path
) -> None:
    seen: list[object] = []

    async def script(peer: Peer) -> None:
        await peer.request()
        seen.append(peer.writer.transport.get_extra_info("peercert"))
        await peer.send(OK)

    optional = serving(certificate, clients=authority.certificate)
    optional.verify_mode = ssl.CERT_OPTIONAL
    client = str(authority.issue("shown"))
    async with scripted(script, tls=optional) as other:

        async def redirecting(peer: Peer) -> None:
            await peer.answer(f"HTTP/1.1 307 x\r\nLocation: {other.url}\r\nContent-Length: 0\r\n\r\n".encode())

        async with scripted(redirecting) as place:
            await desk.attempt(other.url, client_certificate=client)
            attempt = await desk.attempt(place.url, client_certificate=client, follow_redirects=True)
            edit = RequestEdit(url=other.url)
            edited = await desk.attempt(place.url, client_certificate=client, edit=edit)
    assert (attempt.failure, edited.failure) == (None, None)
    assert [bool(shown) for shown in seen] == [True, False, False]


@pytest.mark.usefixtures("trusted")
async def test_a_renewed_client_certificate_is_read_again(
    desk: Desk, authority: Authority, certificate: Path, tmp_path: Path
) -> None:
    file = tmp_path / "client.pem"
    file.write_bytes(Authority(tmp_path, "Stranger").issue("old").read_bytes())
    tls = serving(certificate, clients=authority.certificate)
    async with scripted(tls=tls) as place:
        assert (await desk.attempt(place.url, client_certificate=str(file))).failure is FailureKind.CONNECTION
        file.write_bytes(authority.issue("renewed").read_bytes() + b"\n")
        assert (await desk.attempt(place.url, client_certificate=str(file))).failure is None


@pytest.mark.usefixtures("trusted")
async def test_a_kept_tls_connection_that_the_target_closes(desk: Desk, certificate: Path) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()
        await peer.request()
        if peer.number:
            await asyncio.Event().wait()

    async with scripted(script, tls=serving(certificate)) as place:
        await desk.attempt(place.url)
        results = await desk.attempts(place.url)
    assert [attempt.failure for attempt, _ in results] == [FailureKind.CONNECTION, None]
