"""Programs without the token hold the API's port: captures go on, and so do calls."""

from __future__ import annotations

import socket
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.program import Program, api
from tests.e2e.senders import post

pytestmark = pytest.mark.slow

FILES, SILENT = 256, 400
LIMITED = ("sh", "-c", f'ulimit -n {FILES}; exec "$0" "$@"')


@pytest.mark.parametrize("soft_only", [False, True], ids=["by the hard limit", "by the soft limit"])
def test_silent_connections_to_the_api_keep_no_sender_out(tmp_path: Path, soft_only: bool) -> None:
    prefix = (*LIMITED[:2], LIMITED[2].replace("ulimit", "ulimit -S")) if soft_only else LIMITED
    with Program(tmp_path, "--endpoint", "Orders", prefix=prefix) as program, ExitStack() as held:
        url = program.line("Orders: ").removeprefix("Orders: ")
        address = urlsplit(program.api_url)
        for _ in range(SILENT):
            one = held.enter_context(closing(socket.socket()))
            one.setblocking(False)
            one.connect_ex((address.hostname, address.port))
        for _ in range(30):
            assert post(url, b"{}").status == 200
        assert api(program, "GET", "/status")[0] == 200
    assert len(program.errors) <= 1
    assert "Traceback" not in (tmp_path / "hookline.log").read_text()
