"""Responses chosen one by one: a target in the test's process, whose responses the endpoint's senders get.

Hookline asks its target before it responds, and asks for one request after the other. So each request gets the next
response, however fast its sender repeats it.
"""

from __future__ import annotations

import json as json_module
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BODILESS = (204, 304)


@dataclass(frozen=True)
class Response:
    """A response to a sender. `json` in place of `body` is sent as JSON; `delay` is in seconds."""

    status: int = 200
    headers: Sequence[tuple[str, str]] = ()
    body: str | bytes = b""
    json: Any = None
    delay: float = 0.0

    def sent(self) -> tuple[list[tuple[str, str]], bytes]:
        """Headers and body as they are sent."""
        headers, body = list(self.headers), self.body
        if self.json is not None:
            body = json_module.dumps(self.json)
            headers += [] if _has(headers, "content-type") else [("Content-Type", "application/json")]
        return headers, body.encode() if isinstance(body, str) else body


class Responder:
    """Serves until closed. Its `responses` are given in their order; the last one is repeated."""

    def __init__(self, responses: Iterable[Response]) -> None:
        self._responses = list(responses)
        if not self._responses:
            raise ValueError("Give at least one response.")
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="hookline responder", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _next(self) -> Response:
        with self._lock:
            return self._responses.pop(0) if len(self._responses) > 1 else self._responses[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        responder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def __getattr__(self, name: str) -> Any:
                """`do_GET`, `do_POST` and all others."""
                if name.startswith("do_"):
                    return self._respond
                raise AttributeError(name)

            def _respond(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                response = responder._next()
                headers, body = response.sent()
                time.sleep(response.delay)
                self.send_response_only(response.status)
                for header in headers:
                    self.send_header(*header)
                if response.status not in BODILESS:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if response.status not in BODILESS and self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Tests have an output of their own."""

        return Handler


def _has(headers: Iterable[tuple[str, str]], name: str) -> bool:
    return any(own.lower() == name for own, _ in headers)
