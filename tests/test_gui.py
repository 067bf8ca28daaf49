"""The port that the start offers in place of a taken one."""

from __future__ import annotations

import socket

from app.gui import next_free_port


def test_a_port_that_hookline_needs_itself_is_not_offered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert next_free_port("127.0.0.1", port, {port, port + 1}) not in (port, port + 1)
