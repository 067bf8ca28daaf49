"""A captured request as a curl command that sends the same again, byte for byte, from any POSIX-like shell."""

from __future__ import annotations

import base64
import re

from app.core.model import Capture

INLINE_MAX = 64 * 1024
"""Longer bodies do not fit one argument of a command; they travel as base64 through standard input."""
PASTE_MAX = 1024 * 1024
"""Bodies above this are left in a file: nobody pastes them into a terminal."""

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_SAFE_TARGET = re.compile(r"/[A-Za-z0-9._~%!$&'()*+,;=:@/?-]*")
_EXPECT_SIZE = 1024 * 1024
_CURLS_OWN = ("User-Agent", "Accept")


def ready_curl(url: str) -> str:
    """A first request to try an endpoint with."""
    return f"curl {quote(url.encode())} -H 'Content-Type: application/json' -d '{{\"hello\": \"Hookline\"}}'"


def curl_command(capture: Capture, body: bytes | None, base: str) -> str:
    """The command that sends `capture` with `body` to `base` (`http://127.0.0.1:8787`).

    `body` None stands for one too large to carry along (above `PASTE_MAX`): the command reads it from `body_file`.
    """
    parts = [*_method(capture), *_url(capture, base), *_headers(capture, base)]
    source, reader = "", ""
    if body is None:
        parts += ["--data-binary", quote(f"@{body_file(capture)}".encode())]
    elif len(body) > INLINE_MAX or b"\0" in body:
        parts += ["--data-binary", "@-"]
        source = "base64 -d <<'END' | "
        reader = f"\n{base64.encodebytes(body).decode('ascii')}END"
    elif body:
        parts += ["--data-raw", quote(body)]
    return f"{source}curl {_joined(parts)}{reader}"


def body_file(capture: Capture) -> str:
    """The name under which a body too large to carry along is to be saved."""
    return f"hookline-{capture.id}.body"


def quote(data: bytes) -> str:
    """`data` (without NUL) as one word of bash, zsh or ksh."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _ansi(data)
    if _PLAIN.fullmatch(text):
        return text
    if any(not (ch.isprintable() or ch == "\n") for ch in text):
        return _ansi(data)
    return "'" + text.replace("'", "'\\''") + "'"


def _ansi(data: bytes) -> str:
    """`$'…'` with each byte that is not plain in octal: three digits, so that what follows cannot join in."""
    shown = (chr(b) if 0x20 <= b < 0x7F and b not in b"'\\!" else f"\\{b:03o}" for b in data)
    return "$'" + "".join(shown) + "'"


def _method(capture: Capture) -> list[str]:
    if capture.method == "HEAD":
        # `-X HEAD` waits for a body that never comes; with a body to send, curl knows no other way.
        return ["--head"] if not capture.size else ["-X", "HEAD", "--max-time", "10"]
    if capture.method == ("POST" if capture.size else "GET"):
        return []
    return ["-X", capture.method]


def _url(capture: Capture, base: str) -> list[str]:
    target = capture.target
    if _SAFE_TARGET.fullmatch(target) and "/." not in target:
        return [quote((base.rstrip("/") + target).encode())]
    # curl rewrites dots, brackets, fragments and spaces in a URL, but not a target given as such.
    return [quote((base.rstrip("/") + "/").encode()), "--request-target", quote(target.encode("latin-1", "replace"))]


def _headers(capture: Capture, base: str) -> list[str]:
    version = {"1.0": ["--http1.0"]}.get(capture.http_version, ["--http1.1"] if base.startswith("https:") else [])
    present = {name.lower() for name, _ in capture.headers}
    lines = [_header(name, value) for name, value in capture.headers if not _curl_sets(name, value, capture, base)]
    unwanted = [name for name in _CURLS_OWN if name.lower() not in present]
    if "host" not in present:
        unwanted.append("Host")
    if capture.size and "content-type" not in present:
        unwanted.append("Content-Type")
    if capture.size >= _EXPECT_SIZE and "expect" not in present:
        unwanted.append("Expect")
    lines += [f"{name}:".encode() for name in unwanted]
    return [*version, *(word for line in lines for word in ("-H", quote(line)))]


def _header(name: str, value: str) -> bytes:
    line = f"{name}: {value}" if value else f"{name};"
    return line.encode("latin-1", "replace")


def _curl_sets(name: str, value: str, capture: Capture, base: str) -> bool:
    """Whether curl itself sends just this header: the host of the URL, the length of the body."""
    lower = name.lower()
    if lower == "host":
        return name == "Host" and value == base.rstrip("/").partition("://")[2]
    return lower == "content-length" and (name == "Content-Length" or value != str(capture.size)) and capture.size > 0


def _joined(parts: list[str]) -> str:
    """One option to a line, as people write it."""
    text = ""
    for part in parts:
        opens = part.startswith("-") and part not in ("-",)
        text += (" \\\n  " if opens and text else " " if text else "") + part
    return text
