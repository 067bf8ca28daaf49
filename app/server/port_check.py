"""Checks for `hookline doctor` whether a port can be listened on."""

from __future__ import annotations

import errno
import socket

from app.core.doctor import Finding, ok, problem
from app.server.listening import find_holder


def check_port(name: str, host: str, port: int, setting: str) -> Finding:
    """Whether this machine could listen on `port` at `host` now; `setting` is the setting that chooses it."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            holder = find_holder(port) or "another program"
            text = f"Port {port} on {host} is in use by {holder}."
            return problem(name, text, f"Stop that program, or choose another port: hookline settings {setting} PORT")
        if error.errno == errno.EACCES:
            text = f"This user may not listen on port {port}."
            return problem(name, text, f"Choose one above 1023: hookline settings {setting} PORT")
        text = f"Nothing can listen on {host}, port {port}: {error.strerror}."
        return problem(name, text, "Choose an address of this machine: hookline settings host 127.0.0.1")
    return ok(name, f"{port} on {host} is free")
