"""The five requests of the selftest: sent byte by byte to the capture port, and compared with what was stored."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import socket
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any, Literal
from urllib.parse import urlsplit

from app.application import Application
from app.core.errors import HooklineError
from app.core.model import Endpoint
from app.core.record import Headers
from hookline.client import ApiError, Client
from hookline.client import Headers as SentHeaders
from hookline.records import RequestHead

TIMEOUT_S = 10.0
CHUNK = 50_000
JSON_BODY = '{"event":"selftest","name":"Zoë","amount":9007199254740993}'.encode()
JSON_TEXT = "Zoë"
BINARY = bytes(range(256)) * 4
LINE = b"0123456789abcde\n"

View = Literal["code", "hex", "nothing"]


@dataclass(frozen=True)
class SampleRequest:
    """A request to send. `path` is appended to the endpoint's URL; `body` must be stored unchanged.

    `view` is the view in which the window shows such a body, `text` a piece of the text it contains.
    """

    name: str
    method: str
    path: str = ""
    headers: Headers = ()
    body: bytes = b""
    chunked: bool = False
    view: View = "code"
    text: str = ""

    def head(self, host: str, base_path: str) -> tuple[str, Headers]:
        """Target and headers as sent to `host`."""
        framing: Headers = ()
        if self.chunked:
            framing = (("Transfer-Encoding", "chunked"),)
        elif self.body:
            framing = (("Content-Length", str(len(self.body))),)
        return base_path + self.path, (("Host", host), *self.headers, *framing)

    def wire(self, target: str, headers: Headers) -> bytes:
        """The request's bytes."""
        lines = [f"{self.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
        return "\r\n".join(lines).encode("latin-1") + (_chunks(self.body) if self.chunked else self.body)


SAMPLES = (
    SampleRequest(
        "empty",
        "GET",
        "/a%2Fb/c?tag=1&tag=2&q=%20x",
        headers=(("x-odd-CASE", "1"), ("X-Twice", "a"), ("x-twice", "b")),
        view="nothing",
    ),
    SampleRequest("JSON", "POST", headers=(("content-type", "application/json"),), body=JSON_BODY, text=JSON_TEXT),
    SampleRequest("binary", "PUT", "/blob", (("Content-Type", "application/octet-stream"),), BINARY, view="hex"),
    SampleRequest(
        "gzip",
        "PATCH",
        headers=(("Content-Type", "application/json"), ("Content-Encoding", "gzip")),
        body=gzip.compress(JSON_BODY, mtime=0),
        text=JSON_TEXT,
    ),
    SampleRequest(
        "large", "POST", "/large", (("Content-Type", "text/plain"),), LINE * 70_000, chunked=True, text="abcde"
    ),
)


class SampleSender:
    """Sends requests to one endpoint of a running application, and reads them back from its store and its API."""

    def __init__(self, application: Application, endpoint: Endpoint) -> None:
        self._application, self._endpoint = application, endpoint
        self._url = urlsplit(application.addresses.local_url(endpoint.slug))

    async def send_and_compare(self, sample: SampleRequest) -> str:
        """Send one and compare it with what was stored; returns its id. HooklineError says what differs."""
        target, headers = sample.head(self._url.netloc, self._url.path)
        status, response = await asyncio.to_thread(self._send, sample.method, sample.wire(target, headers))
        if not 200 <= status < 300:
            raise HooklineError(
                f"The capture port responded with {status}: {response.decode('utf-8', 'replace').strip()}"
            )
        name = str(json.loads(response)["id"])
        expected = {
            "method": sample.method,
            "target": target,
            "headers": headers,
            "size": len(sample.body),
            "sha256": hashlib.sha256(sample.body).hexdigest(),
            "complete": True,
        }
        store = self._application.store.captures
        stored = await store.get(name)
        if stored is None:
            raise HooklineError("The store does not know the request that was acknowledged.")
        _compare("The store", stored, expected)
        _compare_bodies("The store", await store.body(name), sample.body)
        returned, body = await asyncio.to_thread(self._ask_api, name)
        _compare("The local API", returned, {**expected, "headers": SentHeaders(headers)})
        _compare_bodies("The local API", body, sample.body)
        return name

    def _send(self, method: str, wire: bytes) -> tuple[int, bytes]:
        address = (self._url.hostname or "", self._url.port or 0)
        with socket.create_connection(address, timeout=TIMEOUT_S) as connection:
            connection.sendall(wire)
            response = HTTPResponse(connection, method=method)
            try:
                response.begin()
                return response.status, response.read()
            except HTTPException as error:
                raise HooklineError(f"The capture port gave no valid response: {error!r}") from error

    def _ask_api(self, name: str) -> tuple[RequestHead, bytes]:
        """A request and its body from the local API."""
        try:
            with Client(self._application.addresses.api_url, self._application.token) as client:
                return client.requests.head(name), client.requests.body(name)
        except ApiError as error:
            raise HooklineError(str(error)) from error


def _compare(who: str, stored: Any, expected: dict[str, Any]) -> None:
    for field, value in expected.items():
        if (found := getattr(stored, field)) != value:
            raise HooklineError(f"{who} has another {field}: {found!r}, not {value!r}.")


def _compare_bodies(who: str, body: bytes, expected: bytes) -> None:
    if body != expected:
        raise HooklineError(f"{who} has another body: {len(body):,} bytes, {len(expected):,} were sent.")


def _chunks(body: bytes) -> bytes:
    """`body` in chunked transfer coding."""
    parts = [body[at : at + CHUNK] for at in range(0, len(body), CHUNK)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
