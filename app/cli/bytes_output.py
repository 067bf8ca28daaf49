"""Bytes of senders on standard output: as they are into a file or pipe, as readable text on a terminal."""

from __future__ import annotations

import codecs
import io
from collections.abc import AsyncIterator

from app.cli.output import Output


async def write_bytes(out: Output, pieces: AsyncIterator[bytes], before: bytes = b"", after: bytes = b"") -> None:
    """Write `before`, then the pieces, then `after`."""
    if out.terminal:
        await _on_terminal(out, before, pieces, after)
        return
    out.data(before)
    async for piece in pieces:
        out.data(piece)
    out.data(after)


async def _on_terminal(out: Output, before: bytes, body: AsyncIterator[bytes], after: bytes) -> None:
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("backslashreplace"), translate=True)
    text, escaped = decoder.decode(before), False
    async for piece in body:
        out.foreign(text)
        escaped = escaped or not is_text(text)
        text = decoder.decode(piece)
    text += decoder.decode(after, final=True)
    out.foreign(text if text.endswith("\n") else text + "\n")
    if escaped or not is_text(text):
        out.note("Bytes that are not text are shown as \\xNN. To get the exact bytes, redirect the output to a file.")


def is_text(text: str) -> bool:
    """Whether decoded text has neither escapes nor control characters but line ends and tabs."""
    return "\\x" not in text and all(ch.isprintable() or ch in "\n\t" for ch in text)
