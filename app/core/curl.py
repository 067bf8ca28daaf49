"""curl commands that send a request again, byte for byte, from any POSIX shell."""

from __future__ import annotations

import re

from app.core.model import REFUSED_RAW_MAX, Capture, Refusal
from app.core.raw_request import is_chunked
from app.core.record import Headers, Record

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_LINE = re.compile(r"[^\n]{0,240}\n|[^\n]{1,240}")
"""A terminal in line mode accepts 4,095 bytes per line; an escaped character has up to 16."""
_FORMAT_MAX = 60_000
"""Maximum bytes of a `printf` format: Linux limits an argument to 128 KiB, and in mksh `printf` is a program."""
_ESCAPES = {
    code: f"\\{code:03o}" for code in (*range(0x20), 0x21, 0x27, 0x7F)
} | {  # an exclamation mark recalls history in bash
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord("%"): "%%",
    ord("\\"): "\\\\",
}


class _FormatTable(dict[int, str]):
    """The escapes of characters in a quoted `printf` format. Lone surrogates are bytes that are not UTF-8."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        escaped = "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
        self[code] = escaped_char = char if char.isprintable() else escaped
        return escaped_char


def is_readable(data: bytes) -> bool:
    """Whether `data` needs only quotes: printable UTF-8, and line feeds."""
    try:
        return data.decode("utf-8").replace("\n", "").isprintable()
    except UnicodeDecodeError:
        return False


def shell_word(data: bytes) -> str:
    """`data` (without NUL) as one word; unprintable bytes are written in octal."""
    if is_readable(data):
        text = data.decode("utf-8")
        return text if _PLAIN.fullmatch(text) else _quoted(text)
    kept = data.rstrip(b"\n")  # a command substitution drops the line feeds at its end
    ending = data[len(kept) :].decode("ascii")
    return f'"$({print_command(kept)})"' + (_quoted(ending) if ending else "")


def print_command(data: bytes) -> str:
    """A command, possibly of several lines, that prints `data`, which can contain NUL."""
    commands = [_printf(pieces) for pieces in _formats(data)]
    return commands[0] if len(commands) == 1 else "\n".join(["{", *commands, "}"])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _printf(pieces: list[str]) -> str:
    """Every `printf` understands octal escapes in its format; with three digits their end is unambiguous."""
    first = pieces[0]
    if first.startswith("-"):
        pieces = [f"\\055{first[1:]}", *pieces[1:]]  # some shells take it for an option
    # A backslash at the end of a line joins the next line to the same word.
    return "printf " + "\\\n".join(f"'{piece}'" for piece in pieces)


def _formats(data: bytes) -> list[list[str]]:
    """The formats that print `data` one after the other, each in pieces short enough for a line."""
    table = _FormatTable(_ESCAPES)
    formats: list[list[str]] = [[]]
    size = 0
    for line in _LINE.findall(data.decode("utf-8", "surrogateescape")):
        piece = line.translate(table)
        length = len(piece.encode("utf-8"))
        if size + length > _FORMAT_MAX:
            formats.append([])
            size = 0
        formats[-1].append(piece)
        size += length
    return formats


INLINE_MAX = 64 * 1024
"""Longer bodies do not fit into one argument; they are passed through standard input."""
PASTE_MAX = 1024 * 1024
"""Larger bodies are read from a file: they are too long to paste into a terminal."""

_SAFE_TARGET = re.compile(r"/[A-Za-z0-9._~%!$&'()*+,;=:@/?-]*")
_EXPECT_SIZE = 1024 * 1024
_CURL_DEFAULTS = ("User-Agent", "Accept")


def ready_curl(url: str) -> str:
    """A request to try an endpoint with."""
    return f"curl {shell_word(url.encode())} -H 'Content-Type: application/json' -d '{{\"hello\": \"Hookline\"}}'"


class SentRequest(Record, frozen=True):
    """As much of a request as a command needs, of one that was refused or that another program stores."""

    method: str
    target: str
    http_version: str
    headers: Headers
    size: int
    id: str = ""


Sent = Capture | SentRequest


def curl_command(capture: Sent, body: bytes | None, base: str) -> str:
    """The command that sends `capture` with `body` to `base` (`http://127.0.0.1:8787`). The Host header is that of
    `base`: the original one may belong to a tunnel, and one that contradicts the URL fails.

    `body` None stands for one larger than `PASTE_MAX`: the command reads it from `body_file`.
    """
    parts = [*_method(capture), *_url(capture, base), *_headers(capture, base)]
    source = ""
    if body is None:
        # The shell opens the file: without it nothing is sent, whereas curl would send an empty body.
        parts += ["--data-binary", "@-", "<", body_file(capture)]
    elif not body:
        # Without data curl would announce chunks and send none.
        parts += ["--data-raw", "''"] if is_chunked(capture.headers) else []
    elif len(body) <= INLINE_MAX and is_readable(body):
        parts += ["--data-raw", shell_word(body)]
    else:
        parts += ["--data-binary", "@-"]
        source = f"{print_command(body)} | "
    return f"{source}curl {_join_options(parts)}"


def body_file(capture: Sent) -> str:
    """The file name for a body larger than `PASTE_MAX`."""
    return f"hookline-{capture.id}.body"


def _method(capture: Sent) -> list[str]:
    sends = capture.size > 0 or is_chunked(capture.headers)
    if capture.method == "HEAD":
        # `-X HEAD` waits for a body that never arrives, but curl has no other way to send one with HEAD.
        return ["-X", "HEAD", "--max-time", "10"] if sends else ["--head"]
    if capture.method == ("POST" if sends else "GET"):
        return []
    return ["-X", capture.method]


def _url(capture: Sent, base: str) -> list[str]:
    target = capture.target
    if _SAFE_TARGET.fullmatch(target) and "/." not in target:
        return [shell_word((base.rstrip("/") + target).encode())]
    # curl rewrites dots, brackets, fragments and spaces in a URL, but not a target given as such.
    quoted_target = shell_word(target.encode("latin-1", "replace"))
    return [shell_word((base.rstrip("/") + "/").encode()), "--request-target", quoted_target]


def _headers(capture: Sent, base: str) -> list[str]:
    version = {"1.0": ["--http1.0"]}.get(capture.http_version, ["--http1.1"] if base.startswith("https:") else [])
    present = {name.lower() for name, _ in capture.headers}
    sent = [(name, value) for name, value in capture.headers if not _curl_sets(name, value, capture)]
    # A name with a colon alone would drop the header, one with a semicolon sends it empty.
    lines = [f"{name}: {value}" if value else f"{name};" for name, value in sent]
    unwanted = [name for name in _CURL_DEFAULTS if name.lower() not in present]
    if "host" not in present:
        unwanted.append("Host")
    if (capture.size or is_chunked(capture.headers)) and "content-type" not in present:
        unwanted.append("Content-Type")
    if capture.size >= _EXPECT_SIZE and "expect" not in present:
        unwanted.append("Expect")
    lines += [f"{name}:" for name in unwanted]
    return [*version, *(word for line in lines for word in ("-H", shell_word(line.encode("latin-1", "replace"))))]


def _curl_sets(name: str, value: str, capture: Sent) -> bool:
    """Whether curl sets this header itself: the host of the URL, the length of the received body."""
    lower = name.lower()
    if lower == "host":
        return True
    if lower != "content-length":
        return False
    return value != str(capture.size) or (name == "Content-Length" and capture.size > 0)


def _join_options(parts: list[str]) -> str:
    """One option per line."""
    text = ""
    for part in parts:
        opens = part.startswith("-") and part != "-"
        text += (" \\\n  " if opens and text else " " if text else "") + part
    return text


def curl_of_refused(refusal: Refusal, raw: bytes | None, base: str) -> str | None:
    """None if the request was malformed or was not kept completely."""
    if raw is None or len(raw) >= REFUSED_RAW_MAX or refusal.status == 400 or not refusal.method:
        return None
    head, end, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    parts = first.split(" ")
    headers = tuple((name, value.strip(" \t")) for name, _, value in (line.partition(":") for line in lines))
    if not end or len(parts) != 3 or not _is_complete(headers, body):
        return None
    version = parts[2].removeprefix("HTTP/")
    sent = SentRequest(method=parts[0], target=parts[1], http_version=version, headers=headers, size=len(body))
    return curl_command(sent, body, base)


def _is_complete(headers: Headers, body: bytes) -> bool:
    """False for chunked bodies: they are kept with their framing, which curl would send as content."""
    fields = {name.lower(): value for name, value in headers}
    length = fields.get("content-length", "0")
    return "transfer-encoding" not in fields and length.isdigit() and int(length[:20]) == len(body)
