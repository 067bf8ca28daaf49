"""Bodies packed for tests."""

from __future__ import annotations

import sys

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def packed_zstd(data: bytes) -> bytes:
    """One Zstandard frame."""
    return zstd.compress(data)


def zeros_zstd(size: int) -> bytes:
    """`size` zero bytes packed; `size` is a multiple of 1 MiB."""
    engine, piece = zstd.ZstdCompressor(), bytes(1024 * 1024)
    return b"".join([*(engine.compress(piece) for _ in range(size // len(piece))), engine.flush()])


def zeros_brotli(size: int) -> bytes:
    """`size` zero bytes packed; `size` is a multiple of 1 MiB."""
    engine, piece = brotli.Compressor(quality=3), bytes(1024 * 1024)
    return b"".join([*(engine.process(piece) for _ in range(size // len(piece))), engine.finish()])


def readable_bytes(size: int) -> bytes:
    """Text that compresses as real text does, to a fraction of its size and not to a thousandth."""
    return b"".join(b"%07d\n" % number for number in range(size // 8 + 1))[:size]
