"""Memory that was freed goes back to the system: glibc keeps what lies between blocks still in use."""

from __future__ import annotations

import sys
from collections.abc import Callable


def trim() -> None:
    """Give back what is free; nothing where the C library is not glibc. Takes milliseconds, without Python's lock."""
    release = _malloc_trim()
    if release is not None:
        release(0)


def _malloc_trim() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # here, because few runs ever need it

    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found
