"""Makes the request of an attempt from what was captured and what the target and the user's edit say about it.

HTTP/1.1 keeps connections open unless one side says otherwise, so no `Connection` header is sent: neither the sender's,
which was about its own connection, nor one of ours.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from app.core.delivery import FailureKind, QueuedDelivery, RequestEdit
from app.core.errors import DamagedBodyError, NotFoundError
from app.core.model import PART_SIZE, Capture
from app.core.raw_request import FRAMING, LOOP_HEADER, hop_by_hop
from app.core.record import Headers
from app.core.target import Target, escapes_path, sendable, sub_path, target_below
from app.server.forward.attempt_failure import AttemptError

if TYPE_CHECKING:
    from app.db.captures import Captures

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
    authority = host
    if ":" in host:
        # The interface is known here alone (RFC 6874).
        address, _, interface = host.partition("%")
        authority = f"[{address}]"
        if len(interface) > 2 and interface.startswith("25"):
            host = f"{address}%{interface[2:]}"
    if port != default:
        authority = f"{authority}:{port}"
    target = sendable(parts.path) or "/"
    netloc = parts.netloc.rpartition("@")[2]
    if parts.query:
        target = f"{target}?{sendable(parts.query)}"
    return RequestUrl(parts.scheme, host, port, authority, netloc, target)


_FIXED = FRAMING | {LOOP_HEADER.lower()}
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CONNECTION_LENGTH = len("connection")
_PATH_MAX = 200


class StoredBody:
    """A stored body, read part by part while it is sent; at most two parts are in memory."""

    def __init__(self, captures: Captures, capture: Capture) -> None:
        self._captures, self._capture = captures, capture
        self.first_part = b""
        """Read by `begin`."""

    async def begin(self) -> None:
        """Compare all of it with its SHA-256 and read the first part, so that what is wrong with it, or with the store,
        is noticed before anything is sent. AttemptError, or StorageUnavailableError."""
        captures, capture = self._captures, self._capture
        try:
            if capture.size > PART_SIZE:
                await captures.check_body(capture)
                self.first_part = await self._part(0)
            else:
                self.first_part = await captures.body(capture.id)
        except NotFoundError as error:
            text = "The captured request was deleted before it could be forwarded."
            raise AttemptError(FailureKind.NOT_SENT, text) from error
        except DamagedBodyError as error:
            raise AttemptError(FailureKind.NOT_SENT, f"Not sent. {error}") from error

    async def parts(self) -> AsyncIterator[bytes]:
        """The whole body, also a second time. NotFoundError or StorageUnavailableError."""
        yield self.first_part
        for offset in range(PART_SIZE, self._capture.size, PART_SIZE):
            yield await self._part(offset)

    async def _part(self, offset: int) -> bytes:
        part = await self._captures.body(self._capture.id, offset, PART_SIZE)
        if len(part) != min(PART_SIZE, self._capture.size - offset):
            raise NotFoundError("The captured request was deleted while it was being forwarded.")
        return part


class OutgoingRequest(msgspec.Struct, frozen=True):
    """A request as it is sent."""

    method: str
    url: RequestUrl
    headers: Headers
    body: bytes | StoredBody
    cut_off: bool = False
    """Close the connection after `body`, which is only a part."""

    def head(self) -> bytes:
        """Request line and headers. AttemptError if that would not be HTTP/1.1."""
        lines = [f"{self.method} {self.url.target} HTTP/1.1", *[f"{name}: {value}" for name, value in self.headers]]
        text = "\r\n".join(lines)
        breaks = len(self.headers)
        if text.count("\n") != breaks or text.count("\r") != breaks or "\0" in text:
            raise _unsendable("a header contains a line break or a zero byte")
        try:
            return f"{text}\r\n\r\n".encode("latin-1")
        except UnicodeEncodeError as error:
            raise _unsendable(f"a header contains {text[error.start]!r}, which is not in Latin-1") from error

    @property
    def keep_alive(self) -> bool:
        """Whether it does not ask the target to close the connection."""
        for name, value in self.headers:
            if len(name) == _CONNECTION_LENGTH and name.lower() == "connection" and "close" in value.lower():
                return False
        return True


def make_request(
    queued: QueuedDelivery,
    target: Target,
    instance_id: str,
    body: StoredBody | None,
    edit: RequestEdit,
    *,
    cut_off: float | None,
    number: int,
) -> OutgoingRequest:
    """`body` is needed if `queued` does not have it; `cut_off` is the part of it to send (0 to 1; None: all of it);
    `number` that of the attempt. AttemptError when it cannot be sent."""
    capture = queued.capture
    url = _url(capture, target, edit)
    content = edit.body if edit.body is not None else queued.body if queued.body is not None else body
    assert content is not None
    size = len(content) if isinstance(content, bytes) else capture.size
    if edit.headers is not None:
        headers = edited_headers(edit.headers, url.authority, instance_id, size)
    else:
        # What a target sets and adds is for its own origin: often a key.
        if edit.url is not None and not url.has_origin_of(target.url):
            target = replace(target, set_headers=(), add_headers=())
        headers = delivery_headers(capture, target, url.authority, instance_id, size=size, number=number)
    method = capture.method if edit.method is None else edit.method
    if not _TOKEN.fullmatch(method):
        raise _unsendable(f"{method[:40]!r} is not a method")
    if cut_off is not None:
        part = content if isinstance(content, bytes) else content.first_part
        return OutgoingRequest(method, url, headers, part[: min(int(size * cut_off), len(part))], cut_off=True)
    return OutgoingRequest(method, url, headers, content)


def _url(capture: Capture, target: Target, edit: RequestEdit) -> RequestUrl:
    try:
        if edit.url is not None:
            return parse_url(edit.url)
        url = parse_url(target.url)
    except ValueError as error:
        raise AttemptError(FailureKind.NOT_SENT, f"The forward URL cannot be used: {error}.") from error
    raw = _target(target.url, capture.target, target.append_path, target.keep_query)
    if raw is None:
        path = sub_path(capture.target)
        path = path if len(path) <= _PATH_MAX else path[: _PATH_MAX - 1] + "…"
        text = f"The path {path} would leave the forward URL's path."
        raise AttemptError(FailureKind.NOT_SENT, text)
    return replace(url, target=raw)


@lru_cache(maxsize=64)  # most senders use the same path for all their requests
def _target(url: str, captured: str, append_path: bool, keep_query: bool) -> str | None:
    """None if it would leave the URL's path."""
    if append_path and escapes_path(captured):
        return None
    return target_below(url, captured, append_path=append_path, keep_query=keep_query)


def delivery_headers(
    capture: Capture, target: Target, host: str, instance_id: str, *, size: int, number: int
) -> Headers:
    """The headers to send to `host`: Host first, the captured ones, those that a proxy adds, with the changes that
    `target` asks for, then the loop header, and the attempt's `number` if the target has a header for it.

    The body's length stands in place of the sender's framing header, and is left out when the sender had none and the
    body is empty.
    """
    dropped = hop_by_hop(capture.headers) - FRAMING
    original_host = ""
    captured = []
    for pair in capture.headers:
        lower = pair[0].lower()
        if lower == "host":
            original_host = original_host or pair[1]
        elif lower not in dropped and not lower.startswith("proxy-"):
            captured.append(pair)
    if target.host == "sender" and original_host:
        host = original_host
    out = _with_forwarded([("Host", host), *_framed(captured, size)], capture, original_host)
    out = _changed(out, target)
    if instance_id:
        out.append((LOOP_HEADER, instance_id))
    if name := target.attempt_header:
        out = [*(pair for pair in out if pair[0].lower() != name.lower()), (name, str(number))]
    return tuple(out)


def edited_headers(headers: Headers, host: str, instance_id: str, size: int) -> Headers:
    """`headers` as given, with `host` first unless they have one, the body's length and the loop header."""
    for name, _ in headers:
        if not _TOKEN.fullmatch(name):
            raise _unsendable(f"{name[:40]!r} is not a header name")
    out = _framed(headers, size)
    if not any(name.lower() == "host" for name, _ in out):
        out.insert(0, ("Host", host))
    return (*out, (LOOP_HEADER, instance_id)) if instance_id else tuple(out)


def _framed(headers: Headers | list[tuple[str, str]], size: int) -> list[tuple[str, str]]:
    """The length in place of the first framing header, without the others."""
    out: list[tuple[str, str]] = []
    framed = False
    for name, value in headers:
        lower = name.lower()
        if lower not in FRAMING:
            out.append((name, value))
        elif not framed:
            out.append((name if lower == "content-length" else "Content-Length", str(size)))
            framed = True
    if size and not framed:
        out.append(("Content-Length", str(size)))
    return out


def _with_forwarded(out: list[tuple[str, str]], capture: Capture, original_host: str) -> list[tuple[str, str]]:
    """Append the sender's address to X-Forwarded-For. Host and scheme that a tunnel added stay, because it knows
    better."""
    places = {name.lower(): place for place, (name, _) in enumerate(out)}
    last = places.get("x-forwarded-for")
    if last is None:
        out.append(("X-Forwarded-For", capture.source_address))
    else:
        name, value = out[last]
        out[last] = (name, f"{value}, {capture.source_address}" if value.strip() else capture.source_address)
    if "x-forwarded-host" not in places and original_host:
        out.append(("X-Forwarded-Host", original_host))
    if "x-forwarded-proto" not in places:
        out.append(("X-Forwarded-Proto", capture.scheme))
    return out


def _changed(headers: list[tuple[str, str]], target: Target) -> list[tuple[str, str]]:
    """Remove, then set, then add. A header that is set takes the place of the first of its name."""
    if not (target.remove_headers or target.set_headers or target.add_headers):
        return headers
    removed = {name.lower() for name in target.remove_headers} - _FIXED - {"host"}
    if removed:
        headers = [pair for pair in headers if pair[0].lower() not in removed]
    by_name: dict[str, list[tuple[str, str]]] = {}
    for pair in target.set_headers:
        if pair[0].lower() not in _FIXED:
            by_name.setdefault(pair[0].lower(), []).append(pair)
    if by_name:
        known = set(by_name)
        out: list[tuple[str, str]] = []
        for pair in headers:
            lower = pair[0].lower()
            if lower in known:
                out += by_name.pop(lower, ())
            else:
                out.append(pair)
        headers = out + [pair for pairs in by_name.values() for pair in pairs]
    return headers + [pair for pair in target.add_headers if pair[0].lower() not in _FIXED | {"host"}]


def _unsendable(reason: str) -> AttemptError:
    return AttemptError(FailureKind.NOT_SENT, f"This request cannot be sent as HTTP/1.1: {reason}.")
