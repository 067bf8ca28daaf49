"""The certificates that are trusted when sending: the system's (including a developer's local authority) and
certifi's."""

from __future__ import annotations

import asyncio
import ssl

import certifi


async def client_context() -> ssl.SSLContext:
    """A context to connect with. Loading the certificates takes tens of milliseconds, so it runs in a thread."""
    return await asyncio.to_thread(_load)


def _load() -> ssl.SSLContext:
    context = ssl.create_default_context()
    # Python 3.13 made the default context strict: it rejects certificates without key identifiers, which private
    # authorities often leave out.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.load_verify_locations(certifi.where())
    return context
