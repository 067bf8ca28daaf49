"""The sentences for failures that no local server can bring about, and for answers."""

from __future__ import annotations

import errno
import os
import socket

import httpx
import pytest

from app.server.forward.attempt_failure import connect_error
from app.server.forward.exchange import status_text
from app.server.test_request import failure_text

URL = "https://hooks.invalid/x"


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (caused(httpx.ConnectError(""), socket.gaierror(-2, "?")), "The host name hooks.invalid could not be found."),
        (
            caused(httpx.ConnectError(""), ExceptionGroup("all", [OSError("x"), ConnectionRefusedError()])),
            "Nothing is listening at hooks.invalid:443 (connection refused).",
        ),
        (TimeoutError(), "No response within 0.5 s."),
        (httpx.ConnectTimeout(""), "No response within 0.5 s."),
        (
            caused(httpx.ConnectError("no"), OSError(113, "No route to host")),
            "hooks.invalid:443 could not be reached: No route to host.",
        ),
        (httpx.ReadError(""), "hooks.invalid:443 closed the connection."),
        (ZeroDivisionError(), None),
    ],
)
def test_failure(error: Exception, text: str | None) -> None:
    assert failure_text(error, URL, 500) == text


@pytest.mark.parametrize(
    ("status", "headers", "body", "text"),
    [
        (200, (), b"", None),
        (299, (), b"", None),
        (500, (), b"", "The target responded with 500 Internal Server Error."),
        (799, (), b"", "The target responded with 799."),
        (508, (), b"", "The target responded with 508 Loop Detected."),
        (508, (), b"[" * 100_000, "The target responded with 508 Loop Detected."),
        (
            508,
            (),
            b'{"error":"forward_loop"}',
            "The forwarded request came back to Hookline: the target is one of its own capture URLs.",
        ),
        (
            302,
            (("location", "/login"),),
            b"",
            "The target responded with 302 Found. Redirects are not followed; it points to /login",
        ),
        (300, (("location", "/b"),), b"", "The target responded with 300 Multiple Choices."),
        (304, (("location", "/b"),), b"", "The target responded with 304 Not Modified."),
    ],
)
def test_status(status: int, headers: tuple[tuple[str, str], ...], body: bytes, text: str | None) -> None:
    assert status_text(status, headers, body) == text


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        ([OSError(errno.EHOSTUNREACH, "Connect call failed ('10.0.0.1', 80)")], os.strerror(errno.EHOSTUNREACH)),
        ([OSError(errno.EACCES, "Permission denied")], "Permission denied"),
        ([OSError("Multiple exceptions: a, b")], "Multiple exceptions: a, b"),
    ],
)
def test_the_system_says_why_it_could_not_connect(errors: list[OSError], reason: str) -> None:
    """asyncio's own words name the address again, and no reason."""
    text = str(connect_error(errors, "10.0.0.1:80"))
    hint = " Check the address and the network." if errors[0].errno == errno.EHOSTUNREACH else ""
    assert text == f"10.0.0.1:80 could not be reached: {reason}.{hint}"
