"""aiohttp is loaded without certificates, and nothing else notices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LOOK = """
import app.server, asyncio, json, os
from app.server.forward.tls import trust
places = {name: text for name, text in os.environ.items() if name.startswith("SSL_CERT")}
print(json.dumps([places, asyncio.run(trust()).cert_store_stats()["x509_ca"]]))
"""


def look(**places: str) -> Any:
    """What the environment names as places of certificates, and how many authorities a mirror trusts, afterwards."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("SSL_CERT")}
    done = subprocess.run(
        [sys.executable, "-c", LOOK], cwd=ROOT, env=environment | places, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("places", [{}, {"SSL_CERT_FILE": "/etc/ssl/mine.pem"}, {"SSL_CERT_DIR": ""}])
def test_the_environment_and_what_a_mirror_trusts_stay_as_they_were(places: dict[str, str]) -> None:
    named, trusted = look(**places)
    assert named == places
    assert trusted > 100


def test_the_certificates_are_not_read_for_a_client_that_nobody_uses() -> None:
    look_at = (
        "import app.server; from aiohttp import connector; print(connector._SSL_CONTEXT_VERIFIED.cert_store_stats())"
    )
    done = subprocess.run([sys.executable, "-c", look_at], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "'x509_ca': 0" in done.stdout
