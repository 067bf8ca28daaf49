"""The parts of a URL that a request is sent to."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

import msgspec

from app.core.forward_target import sendable

_PORTS = {"http": 80, "https": 443}


class RequestUrl(msgspec.Struct, frozen=True):
    """`host` is ASCII and in lower case, an IPv6 address without brackets. `authority` is for the Host header; `target`
    is what the request line names. `text` is the whole URL."""

    scheme: str
    host: str
    port: int
    authority: str
    netloc: str
    target: str

    @property
    def text(self) -> str:
        """The whole URL."""
        return f"{self.scheme}://{self.netloc}{self.target}"

    def with_target(self, target: str) -> RequestUrl:
        return RequestUrl(self.scheme, self.host, self.port, self.authority, self.netloc, target)

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    def has_origin_of(self, text: str) -> bool:
        """Whether what is secret to the URL `text` may be sent here."""
        try:
            return self.origin == parse_url(text).origin
        except ValueError:
            return False


@lru_cache(maxsize=256)
def parse_url(text: str) -> RequestUrl:
    """The parts of an absolute http or https URL, with characters encoded that cannot be sent. ValueError."""
    parts = urlsplit(text)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("it is not an http or https URL")
    host = parts.hostname
    if not host.isascii():
        host = host.encode("idna").decode("ascii")
    if not host.isprintable() or " " in host:
        raise ValueError(f"{host!r} is not a host name")
    default = _PORTS[parts.scheme]
    port = default if parts.port is None else parts.port
    if port == 0:
        raise ValueError("the port cannot be 0")
    authority = f"[{host}]" if ":" in host else host
    if port != default:
        authority = f"{authority}:{port}"
    target = sendable(parts.path) or "/"
    netloc = parts.netloc.rpartition("@")[2]
    if parts.query:
        target = f"{target}?{sendable(parts.query)}"
    return RequestUrl(parts.scheme, host, port, authority, netloc, target)
