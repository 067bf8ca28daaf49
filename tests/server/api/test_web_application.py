"""The web application is loaded without the authorities that the system trusts, and every TLS context made later has
them."""

from __future__ import annotations

import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import ModuleType

import pytest

from app.server.api import server


def test_threads_that_load_it_at_once_leave_tls_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)

    def load(_: str) -> ModuleType:
        with suppress(threading.BrokenBarrierError):
            both.wait(0.2)
        return server

    monkeypatch.setattr(server, "import_module", load)
    before = ssl.SSLContext.load_default_certs
    with ThreadPoolExecutor(2) as pool:
        for loading in [pool.submit(server.load_web_application) for _ in range(2)]:
            loading.result()
    assert ssl.SSLContext.load_default_certs is before
    assert "set_default_verify_paths" not in vars(ssl.SSLContext)
