"""Which certificates are trusted when sending: the system's own (a developer's local authority too) and certifi's."""

from __future__ import annotations

import asyncio
import ssl

import certifi


async def trust() -> ssl.SSLContext:
    """A context to connect with. Loading the certificates takes tens of milliseconds, so it is done in a thread."""
    return await asyncio.to_thread(_load)


def _load() -> ssl.SSLContext:
    context = ssl.create_default_context()
    # Python 3.13 made the default context strict: it rejects certificates without key identifiers, which private
    # authorities often leave out.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.load_verify_locations(certifi.where())
    return context
