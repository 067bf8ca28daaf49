"""The PEM files of a target: its client certificate with the key, and the authorities to trust."""

from __future__ import annotations

import ssl
from pathlib import Path

from app.core.errors import HooklineError
from app.core.sizes import MIB


class PemFileError(HooklineError):
    """A file cannot be used. `field` is the target's field that names it."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


def load_client_certificate(context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    """Without `key` it is in the certificate's file. PemFileError."""
    field = "client_key" if key else "client_certificate"
    key_file = key or certificate
    if b"-----BEGIN CERTIFICATE" not in _read(certificate, "client_certificate", "client certificate"):
        raise PemFileError("client_certificate", f"The client certificate {certificate} contains no PEM certificate.")
    if b"PRIVATE KEY-----" not in _read(key_file, field, "client key"):
        raise PemFileError(field, f"The client key {key_file} contains no PEM private key.")
    asked = False

    def password() -> str:
        nonlocal asked
        asked = True  # without this function, OpenSSL would ask at the terminal
        return ""

    try:
        context.load_cert_chain(certificate, key, password)
    except (ssl.SSLError, ValueError, OSError) as error:
        if asked:
            text = f"The client key {key_file} is protected by a password. Save it without one to use it here."
        elif getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            text = f"The client key {key_file} does not belong to the certificate {certificate}."
        else:
            text = f"The client certificate {certificate} with the key {key_file} cannot be used: {_reason(error)}."
        raise PemFileError(field, text) from error


def load_authorities(context: ssl.SSLContext, file: str) -> None:
    """Trust these in addition. PemFileError."""
    if b"-----BEGIN" not in _read(file, "ca_certificate", "CA certificate"):
        raise PemFileError("ca_certificate", f"The CA certificate {file} contains no PEM certificate.")
    try:
        context.load_verify_locations(file)
    except (ssl.SSLError, OSError) as error:
        text = f"The CA certificate {file} cannot be used: {_reason(error)}."
        raise PemFileError("ca_certificate", text) from error


def _read(path: str, field: str, what: str) -> bytes:
    file = Path(path)
    try:
        file.stat()
        if not file.is_file():
            raise PemFileError(field, f"The {what} {path} is not a file.")
        with file.open("rb") as opened:
            return opened.read(MIB)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PemFileError(field, f"The {what} {path} cannot be read: {reason}.") from error


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error).replace("_", " ").lower()
