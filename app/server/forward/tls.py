"""The certificates that are trusted when sending: the system's (including a developer's local authority) and
certifi's. And the client certificate that a target asks for."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from pathlib import Path

import certifi

from app.core.errors import HooklineError


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """`certificate` and `key` are paths of PEM files; without `key` it is in the certificate's file."""

    verify: bool = True
    check_name: bool = True
    certificate: str | None = None
    key: str | None = None


class ClientCertificateError(HooklineError):
    """A target's client certificate cannot be used; names the file."""


_DEFAULT = TlsOptions()


async def client_context(options: TlsOptions = _DEFAULT) -> ssl.SSLContext:
    """A context to connect with. Loading the certificates takes tens of milliseconds, so it runs in a thread.

    Raises ClientCertificateError.
    """
    return await asyncio.to_thread(_load, options)


class TlsContexts:
    """The contexts in use. A client certificate that was renewed is loaded again."""

    def __init__(self) -> None:
        self._contexts: dict[TlsOptions, tuple[object, ssl.SSLContext]] = {}

    async def get(self, options: TlsOptions) -> ssl.SSLContext:
        """Raises ClientCertificateError."""
        version = await asyncio.to_thread(_version, options) if options.certificate else None
        known = self._contexts.get(options)
        if known is None or known[0] != version:
            known = self._contexts[options] = (version, await client_context(options))
        return known[1]


def _version(options: TlsOptions) -> object:
    try:
        stats = [Path(path).stat() for path in (options.certificate, options.key) if path]
    except OSError:
        return None  # loading says what is wrong
    return [(stat.st_mtime_ns, stat.st_size) for stat in stats]


def _load(options: TlsOptions) -> ssl.SSLContext:
    context = ssl.create_default_context()
    # Python 3.13 made the default context strict: it rejects certificates without key identifiers, which private
    # authorities often leave out.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if options.verify:
        context.load_verify_locations(certifi.where())
        context.check_hostname = options.check_name
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if options.certificate:
        _load_certificate(context, options.certificate, options.key)
    return context


def _load_certificate(context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    key_file = key or certificate
    if b"-----BEGIN CERTIFICATE" not in _read(certificate, "certificate"):
        raise ClientCertificateError(f"The client certificate {certificate} contains no PEM certificate.")
    if b"PRIVATE KEY-----" not in _read(key_file, "key"):
        raise ClientCertificateError(f"The client key {key_file} contains no PEM private key.")
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
            reason = str(getattr(error, "reason", None) or error).replace("_", " ").lower()
            text = f"The client certificate {certificate} with the key {key_file} cannot be used: {reason}."
        raise ClientCertificateError(text) from error


def _read(path: str, what: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ClientCertificateError(f"The client {what} {path} cannot be read: {reason}.") from error
