"""A body to show, wherever it is stored: its metadata, functions that read and unpack it, and what the views have in
common that read it themselves."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QWidget

from app.core.bodies.body_reader import CHUNK
from app.core.bodies.decompressor import Decompressor, codings, for_headers
from app.core.delivery import Attempt
from app.core.errors import DamagedBodyError
from app.core.model import PART_SIZE, Capture
from app.core.raw_request import head_bytes, is_chunked, trailer_bytes
from app.core.record import Headers
from app.core.text import size_text
from app.ui.tasks import Latest, Tasks, in_thread

if TYPE_CHECKING:
    from app.db.captures import Captures
    from app.db.deliveries.deliveries import Deliveries

READ = 1024 * 1024
"""Bytes read at once when a whole body is processed."""


Read = Callable[[int, int], Awaitable[bytes]]


async def _intact() -> None:
    """Only the bodies of requests are stored with a hash."""


@dataclass(frozen=True)
class BodySource:
    """`read(offset, length)` returns the bytes as they were sent. A saved file is called `file_name`, or `name` with
    the extension of its type if there is none. `check` reads all of it, and raises DamagedBodyError if it is not what
    was received. A whole request begins with `raw_head`, and is shown as it was received, with these `facts`.
    """

    size: int
    headers: Headers
    content_type: str
    name: str
    read: Read
    file_name: str | None = None
    check: Callable[[], Awaitable[None]] = _intact
    raw_head: bytes | None = None
    facts: Sequence[str] = ()

    async def damage(self) -> str:
        """What is wrong with it, as a sentence; empty if it is intact."""
        try:
            await self.check()
        except DamagedBodyError as error:
            return str(error)
        return ""

    def part(self, begin: int, size: int, **other: Any) -> BodySource:
        """Some of its bytes, as a body with the `other` attributes."""

        async def read(offset: int, length: int) -> bytes:
            return await self.read(begin + offset, max(0, min(length, size - offset)))

        return replace(self, size=size, read=read, **other)


def of_capture(capture: Capture, captures: Captures) -> BodySource:
    """The body of a request. A body of a single part is read once: if it is deleted meanwhile it can still be shown and
    copied.
    """

    async def stored(offset: int, length: int) -> bytes:
        return await captures.body(capture.id, offset, length)

    read = stored if capture.size > PART_SIZE else _read_once(partial(stored, 0, PART_SIZE))
    check = partial(captures.check_body, capture)
    name = f"request-{capture.id[:13]}"
    return BodySource(capture.size, capture.headers, capture.content_type, name, read, check=check)


def of_raw(capture: Capture, body: BodySource) -> BodySource:
    """A whole request as it was received: its head, this body and its trailers."""
    head = head_bytes(capture.method, capture.target, capture.http_version, capture.headers)
    tail = trailer_bytes(capture.trailers)
    end = len(head) + capture.size

    async def read(offset: int, length: int) -> bytes:
        data = head[offset : offset + length]
        at, missing = max(0, offset - len(head)), length - len(data)
        if missing > 0 and at < capture.size:
            data += await body.read(at, min(missing, capture.size - at))
        missing = length - len(data)
        if missing > 0 and offset + len(data) >= end:
            at = offset + len(data) - end
            data += tail[at : at + missing]
        return data

    size, file_name = end + len(tail), f"{body.name}.http"
    facts = _raw_facts(capture, size)
    return BodySource(size, (), "", body.name, read, file_name, check=body.check, raw_head=head, facts=facts)


def _raw_facts(capture: Capture, size: int) -> list[str]:
    """Which parts are exactly as received, and which are not."""
    facts = ["As received", size_text(size)]
    packed = codings(capture.headers)
    if packed and capture.size:
        facts.append(f"body in {' and '.join(packed)}")
    if is_chunked(capture.headers):
        facts.append("chunked framing removed")
    if not capture.complete:
        facts.append("cut off")
    return facts


def of_attempt(attempt: Attempt, deliveries: Deliveries) -> BodySource:
    """The body of the response to an attempt, at most `PART_SIZE` of it; read once."""
    read = _read_once(lambda: deliveries.response_body(attempt.delivery_id, attempt.number))
    name = f"response-{attempt.delivery_id[:13]}-{attempt.number}"
    return BodySource(
        attempt.response_size, attempt.response_headers, _content_type(attempt.response_headers), name, read
    )


def of_bytes(
    data: bytes, name: str, *, headers: Headers = (), content_type: str = "", file_name: str | None = None
) -> BodySource:
    """A body that is in memory; its type is that of `headers` unless given."""

    async def read(offset: int, length: int) -> bytes:
        return data[offset : offset + length]

    return BodySource(len(data), headers, content_type or _content_type(headers), name, read, file_name)


def _read_once(whole: Callable[[], Awaitable[bytes]]) -> Read:
    """Reads the `whole` body when it is first needed."""
    kept: list[bytes] = []

    async def read(offset: int, length: int) -> bytes:
        if not kept:
            kept.append(await whole())
        return kept[0][offset : offset + length]

    return read


async def read_plain(source: BodySource, limit: int) -> bytes:
    """The whole body, or one byte more than `limit` if it is larger."""
    plain = bytearray()
    async with aclosing(plain_pieces(source, for_headers(source.headers))) as pieces:
        async for piece, _ in pieces:
            plain += piece
            if len(plain) > limit:
                break
    return bytes(plain[: limit + 1])


async def plain_pieces(
    source: BodySource, unpacker: Decompressor, begin: int = 0
) -> AsyncGenerator[tuple[bytes, int], None]:
    """What the new `unpacker` makes of the body, from its unpacked byte `begin` on in pieces of at most `CHUNK`, each
    with the number of packed bytes read for it.
    """
    offset, drop = (0, begin) if unpacker.codings else (begin, 0)
    while offset < source.size and not unpacker.error:
        data = await source.read(offset, READ)
        if not data:
            return
        offset += len(data)
        unpacker.feed(data)
        while not unpacker.needs_input:
            piece = await in_thread(unpacker.read, CHUNK) if unpacker.codings else unpacker.read(CHUNK)
            if drop < len(piece):
                yield piece[drop:], offset
            drop = max(0, drop - len(piece))


def _content_type(headers: Headers) -> str:
    return next((value for name, value in headers if name.lower() == "content-type"), "")


LOADING = "Loading…"


class SourceView(QWidget):
    """`show_source` shows a body. Subclasses `load` it, which ends early when another one is shown."""

    def __init__(self, name: str, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._latest = Latest(self, tasks, f"{name}: load")

    def show_source(self, source: BodySource) -> None:
        """Show this body."""
        self.clear()
        self._latest.run(partial(self.load, source))

    def clear(self) -> None:
        """Show nothing, cancel loading, and free what was read."""
        self._latest.stop()
        self.show_nothing()

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Mark the matches of this pattern, in what is shown and in all later bodies; None marks nothing."""

    async def load(self, source: BodySource) -> None:
        raise NotImplementedError

    def show_nothing(self) -> None:
        raise NotImplementedError
