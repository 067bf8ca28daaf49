"""The certificates that are trusted when sending: the system's (including a developer's local authority) and
certifi's, and a target's own. And the client certificate that a target asks for."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from pathlib import Path

import certifi

from app.core.pem_files import load_authorities, load_client_certificate


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """Paths of PEM files: `authorities` are trusted too; without `key` it is in the certificate's file."""

    verify: bool = True
    check_name: bool = True
    certificate: str | None = None
    key: str | None = None
    authorities: str | None = None

    @property
    def files(self) -> list[str]:
        return [path for path in (self.certificate, self.key, self.authorities) if path]


_DEFAULT = TlsOptions()


async def client_context(options: TlsOptions = _DEFAULT) -> ssl.SSLContext:
    """A context to connect with. Loading the certificates takes tens of milliseconds, so it runs in a thread.

    Raises PemFileError.
    """
    return await asyncio.to_thread(_load, options)


class TlsContexts:
    """The contexts in use. A certificate that was renewed is loaded again."""

    def __init__(self) -> None:
        self._contexts: dict[TlsOptions, tuple[object, ssl.SSLContext]] = {}

    async def get(self, options: TlsOptions) -> ssl.SSLContext:
        """Raises PemFileError."""
        version = await asyncio.to_thread(_version, options) if options.files else None
        known = self._contexts.get(options)
        if known is None or known[0] != version:
            known = self._contexts[options] = (version, await client_context(options))
        return known[1]


def _version(options: TlsOptions) -> object:
    try:
        stats = [Path(path).stat() for path in options.files]
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
        if options.authorities:
            load_authorities(context, options.authorities)
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if options.certificate:
        load_client_certificate(context, options.certificate, options.key)
    return context
