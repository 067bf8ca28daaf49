"""Loads aiohttp without the certificates that its client would trust.

It reads all of the system's, twice, when it is imported, which is a third of the time that takes. Hookline only serves
with it: what it sends goes through httpx, with certificates of its own (`forward/tls.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

PLACES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Where OpenSSL is told to look for certificates in place of the system's."""


def load_aiohttp() -> None:
    """Import it; a client of it would trust nobody."""
    with _no_certificates():
        import aiohttp  # noqa: F401 - within that, to find nothing


@contextmanager
def _no_certificates() -> Iterator[None]:
    before = {place: os.environ.get(place) for place in PLACES}
    os.environ.update(dict.fromkeys(PLACES, os.devnull))
    try:
        yield
    finally:
        for place, value in before.items():
            if value is None:
                del os.environ[place]
            else:
                os.environ[place] = value
