"""Certificates made for a test with the openssl program."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

OPENSSL = shutil.which("openssl")
CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def openssl(*arguments: str | Path) -> None:
    if OPENSSL is None:
        pytest.skip("openssl makes the certificate")
    subprocess.run([OPENSSL, *arguments], check=True, capture_output=True)


class Authority:
    """A certificate authority of its own in `folder`; `certificate` is its PEM file."""

    def __init__(self, folder: Path, name: str = "Test authority") -> None:
        self.folder = folder
        self.key, self.certificate = folder / "ca-key.pem", folder / "ca.pem"
        made = ("-keyout", self.key, "-out", self.certificate)
        openssl("req", "-x509", *CURVE, "-days", "2", "-subj", f"/CN={name}", *made)

    def issue(self, file: str, names: str = "IP:127.0.0.1", *, valid: tuple[str, str] | None = None) -> Path:
        """A PEM file with certificate and key. `valid`: first and last moment, as YYYYMMDDHHMMSSZ."""
        key, request, out = (self.folder / f"{file}{end}" for end in ("-key.pem", ".csr", ".pem"))
        openssl("req", "-new", *CURVE, "-subj", f"/CN={file}", "-keyout", key, "-out", request)
        config = self.folder / "ca.ini"
        (self.folder / "index.txt").write_text("")
        config.write_text(
            f"[ca]\ndefault_ca=d\n[d]\ndatabase={self.folder}/index.txt\nnew_certs_dir={self.folder}\nrand_serial=yes\n"
            f"default_md=sha256\npolicy=p\nx509_extensions=e\n[p]\ncommonName=supplied\n[e]\nsubjectAltName={names}\n"
        )
        dates = ("-startdate", valid[0], "-enddate", valid[1]) if valid else ("-days", "2")
        files = ("-config", config, "-cert", self.certificate, "-keyfile", self.key, "-in", request, "-out", out)
        openssl("ca", "-batch", "-notext", *files, *dates)
        out.write_bytes(out.read_bytes() + key.read_bytes())
        return out


def serving(certificate: Path, clients: Path | None = None) -> ssl.SSLContext:
    """A server's context; it requires a certificate that the authority `clients` issued."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)
    return context
