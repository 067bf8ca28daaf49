"""Sends a captured body to a caller, part by part, with headers that keep browsers from running or rendering it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

from aiohttp import web

from app.core.bodies.decompressor import Decompressor, codings, unsupported_reason
from app.core.errors import NotFoundError
from app.core.model import PART_SIZE, Capture
from app.core.store import CaptureRepository
from app.server.api.problems import Problem

log = logging.getLogger(__name__)

DECODED_MAX = 64 * 1024 * 1024


class DecodeError(Exception):
    """The body cannot be decoded; `str()` of it says why, in a sentence."""


async def send_body(
    request: web.Request, capture: Capture, captures: CaptureRepository, *, decode: bool
) -> web.StreamResponse:
    """Respond with the body of `capture`; a 422 problem when it cannot be decoded."""
    names = codings(capture.headers) if decode else ()
    size = capture.size
    if names:
        try:
            if reason := unsupported_reason(names):
                raise DecodeError(reason)
            size = await _measured(decoded_parts(stored_parts(captures, capture), names))
        except DecodeError as error:
            detail = f"{error} Without decoded=true it is returned as sent."
            raise Problem("cannot-decode", detail) from None
    response = web.StreamResponse(headers=attachment_headers(f"{capture.id}.bin"))
    response.content_length = size
    parts = decoded_parts(stored_parts(captures, capture), names)
    # Before the status is sent, so that a request deleted just now gives a 404.
    first = b"" if request.method == "HEAD" else await anext(parts, b"")
    await response.prepare(request)
    if request.method != "HEAD":
        await _stream(request, response, first, parts)
    return response


async def stored_parts(captures: CaptureRepository, capture: Capture) -> AsyncIterator[bytes]:
    """The body as stored, in parts."""
    for offset in range(0, capture.size, PART_SIZE):
        part = await captures.body(capture.id, offset, PART_SIZE)
        if not part:
            raise NotFoundError("The request was deleted in the meantime.")
        yield part


async def decoded_parts(parts: AsyncIterator[bytes], names: tuple[str, ...]) -> AsyncIterator[bytes]:
    """`parts` with the codings `names` decoded, in pieces of at most `PART_SIZE` bytes.

    DecodeError when the data is damaged or incomplete.
    """
    if not names:
        async for part in parts:
            yield part
        return
    decompressor = Decompressor(names)
    async for part in parts:
        decompressor.feed(part)
        while piece := await asyncio.to_thread(decompressor.read, PART_SIZE):
            yield piece
        if decompressor.error:
            break
    if error := decompressor.finish():
        raise DecodeError(error)


async def _measured(parts: AsyncIterator[bytes]) -> int:
    """The number of bytes in `parts`. Decoding twice costs less than keeping them."""
    size = 0
    async for part in parts:
        size += len(part)
        if size > DECODED_MAX:
            raise DecodeError(f"The decoded body is larger than {DECODED_MAX // 1024**2} MiB.")
    return size


async def _stream(
    request: web.Request, response: web.StreamResponse, first: bytes, parts: AsyncIterator[bytes]
) -> None:
    """Write all parts. If one is missing, the connection is aborted, so that an incomplete body cannot pass for a
    complete one."""
    try:
        await response.write(first)
        async for part in parts:
            await response.write(part)
    except ConnectionError:
        return  # the caller disconnected
    except NotFoundError:
        _break_off(request)  # deleted meanwhile
    except Exception:
        log.exception("sending %s broke off", request.path)
        _break_off(request)


def _break_off(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def attachment_headers(name: str) -> dict[str, str]:
    """Headers for a sender's bytes: to be saved as the file `name`, never rendered or run."""
    return {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
