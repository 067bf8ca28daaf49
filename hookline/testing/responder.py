"""Responses chosen for each request: a target in the test's process, whose responses the endpoint's senders get.

Hookline asks its target before it responds, and asks for one request after the other. So each request gets the next
response, however fast its sender repeats it, and functions of the test are never called twice at once.
"""

from __future__ import annotations

import json as json_module
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hookline.client.client import Client
from hookline.client.requests import wait_call, with_body
from hookline.records import Request
from hookline.testing.matchers import Expected, fits

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler

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


Respond = Callable[[Request], Response]
"""Chooses the response to a request."""


def in_turn(responses: Sequence[Response]) -> Respond:
    """Gives them in their order; the last one is repeated."""
    left = list(responses)
    if not left:
        raise ValueError("Give at least one response.")
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@dataclass(frozen=True)
class Rule:
    """How requests are responded to; `method` and `path` (the query too, if it contains a `?`) None: all."""

    respond: Respond
    method: str | None = None
    path: Expected | None = None

    def applies(self, request: Request) -> bool:
        with_query = isinstance(self.path, str) and "?" in self.path
        actual = request.target_below if with_query else request.path
        return self.method in (None, request.method) and (self.path is None or fits(self.path, actual))


class Responder:
    """Serves until closed. Of its `rules` the first that applies counts."""

    def __init__(self, client: Client, slug: str, errors: list[BaseException]) -> None:
        """`errors` gets what rules raise; the sender gets 500 then."""
        from http.server import ThreadingHTTPServer  # start-up time: few tests choose responses

        self.rules: list[Rule] = []
        self._client, self._slug, self._errors = client, slug, errors
        self._position = client.requests.position()
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

    def _response(self, method: str, size: int) -> Response:
        """The response to the request that is delivered now, as the first rule that applies has it."""
        __tracebackhide__ = True
        with self._lock:
            try:
                request = self._captured(method, size)
                rule = next(rule for rule in self.rules if rule.applies(request))
                response = rule.respond(request)
                if not isinstance(response, Response):
                    raise TypeError(f"The function has to return a hookline.testing.Response, not {response!r:.200}.")
                response.sent()
            except BaseException as error:
                self._errors.append(error)
                return Response(500, body=f"The test's function raised {type(error).__name__}: {error!s:.500}\n")
            return response

    def _captured(self, method: str, size: int) -> Request:
        """The request as it was captured. They are delivered in the order they were stored, but for those that cannot
        be."""
        while True:
            waited = self._client.send(wait_call(self._slug, "", self._position, 0))
            self._position, request = waited.position, waited.request
            if request is None:
                raise LookupError("The request was deleted before it was responded to.")
            if (request.delivery, request.method, request.size) == ("queued", method, size):
                return self._client.run(with_body(request))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        from http.server import BaseHTTPRequestHandler  # as above

        responder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def __getattr__(self, name: str) -> Any:
                """`do_GET`, `do_POST` and all others."""
                if name.startswith("do_"):
                    return self._respond
                raise AttributeError(name)

            def _respond(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                self.rfile.read(size)
                response = responder._response(self.command, size)
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
