"""What a target must receive of a request as its sender wrote it: all of it, but for the documented changes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tests.server.forward.targets import Received

Headers = list[tuple[str, str]]

ABOUT_THE_CONNECTION = {"connection", "keep-alive", "te", "trailer", "upgrade", "expect"}
LENGTHS = {"content-length", "transfer-encoding"}
OWN = ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Hookline-Forwarded-By"]


@dataclass(frozen=True)
class Sent:
    """A request as its sender means it; `target` is what follows the capture URL."""

    method: str
    target: str
    headers: Headers
    body: bytes = b""
    chunked: bool = False
    version: str = "1.1"

    def raw(self, capture_path: str) -> bytes:
        """Its bytes. Headers go out as given; the length is added if they have none and there is a body."""
        lines = [f"{self.method} {capture_path}{self.target} HTTP/{self.version}"]
        lines += [f"{name}: {value}" for name, value in self.all_headers]
        body = self.body
        if self.chunked:
            pieces = [body[at : at + 700] for at in range(0, len(body), 700)]
            body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body

    @property
    def all_headers(self) -> Headers:
        """As `raw` writes them."""
        if self.chunked:
            return [*self.headers, ("Transfer-Encoding", "chunked")]
        if self.body and not any(name.lower() == "content-length" for name, _ in self.headers):
            return [*self.headers, ("Content-Length", str(len(self.body)))]
        return self.headers


def differences(sent: Sent, received: Received, base: str, host: str) -> list[str]:
    """Empty if `received` at the target `base` (a path) of `host` is what `sent` asks for; forwarded headers may have
    any value."""
    found = []
    line = f"{sent.method} {base}{sent.target} HTTP/1.1"
    if received.line != line:
        found.append(f"request line {received.line!r} instead of {line!r}")
    if received.body != sent.body:
        digests = [hashlib.sha256(body).hexdigest()[:12] for body in (received.body, sent.body)]
        found.append(f"body {len(received.body)} {digests[0]} instead of {len(sent.body)} {digests[1]}")
    expected = [("Host", host), *kept_headers(sent)]
    own = [name for name, _ in received.headers[len(expected) :]]
    given = {name.lower() for name, _ in sent.headers}
    wanted = [name for name in OWN if name.lower() not in given and (name != "X-Forwarded-Host" or "host" in given)]
    if own != wanted:
        found.append(f"headers of Hookline {own} instead of {wanted}")
    for one, other in zip(received.headers, expected, strict=False):
        appended = one[0].lower() == "x-forwarded-for" and one[1].startswith(f"{other[1]}, ")
        if one != other and not appended:
            found.append(f"header {one!r} instead of {other!r}")
    return found


def kept_headers(sent: Sent) -> Headers:
    """Those that are sent on, with the length of the body in place of what framed it."""
    named = {
        word.strip().lower()
        for name, value in sent.headers
        if name.lower() == "connection"
        for word in value.split(",")
    }
    kept = []
    for name, value in sent.all_headers:
        lower = name.lower()
        if lower in LENGTHS:
            kept.append((name if lower == "content-length" else "Content-Length", str(len(sent.body))))
        elif lower not in ABOUT_THE_CONNECTION | named | {"host"} and not lower.startswith("proxy-"):
            kept.append((name, value.strip(" \t")))
    return kept
