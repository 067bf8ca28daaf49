"""An HTTP server that gives certain responses in their order, whatever it is asked; the last one is repeated."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from hookline.testing import Response


@contextmanager
def scripted_server(responses: Sequence[Response]) -> Iterator[str]:
    """Its URL."""
    left = list(responses)

    class Handler(BaseHTTPRequestHandler):
        def respond(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            response = left.pop(0) if len(left) > 1 else left[0]
            headers, body = response.sent()
            self.send_response(response.status)
            for name, value in [*headers, ("Content-Length", str(len(body)))]:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = respond

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
