"""Content codings undone in bounded steps, so that a bomb of a body yields no more than was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from app.core.bodies.decoding.stages import BrotliStage, InflateStage, ZstdStage, has_zlib_wrapper

MAX_CODINGS = 3


class Stage(Protocol):
    """One coding being undone. `error` says in words what is wrong."""

    error: str | None

    @property
    def needs_input(self) -> bool:
        """Whether `read` gives nothing more until more is fed, or ever."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the data may end here."""
        ...

    @property
    def trailing(self) -> int:
        """How many bytes so far follow the end of the data; they are not decoded."""
        ...

    def feed(self, data: bytes) -> None:
        """More of the compressed data."""
        ...

    def read(self, limit: int) -> bytes:
        """At most `limit` decoded bytes; may be empty though `needs_input` is false: then call it again."""
        ...


_STAGES: dict[str, Callable[[], Stage]] = {
    "gzip": lambda: InflateStage("gzip"),
    "x-gzip": lambda: InflateStage("gzip"),
    "deflate": lambda: InflateStage("deflate"),
    "br": BrotliStage,
    "zstd": ZstdStage,
}
KNOWN = frozenset(_STAGES)


def codings(headers: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The content codings in the order they were applied; `identity` is none."""
    values = [value for name, value in headers if name.lower() == "content-encoding"]
    named = (part.strip().lower() for value in values for part in value.split(","))
    return tuple(name for name in named if name and name != "identity")


def refusal(names: tuple[str, ...]) -> str | None:
    """Why a body with these codings cannot be decoded, in a sentence; None when it can."""
    unknown = next((name for name in names if name not in KNOWN), None)
    if unknown is not None:
        return f"The body is compressed with {unknown[:40]!r}, which Hookline cannot decode."
    if len(names) > MAX_CODINGS:
        return f"The body is compressed {len(names)} times; Hookline decodes at most {MAX_CODINGS}."
    return None


class Decompressor:
    """Undoes one coding after the other. `error` says in words where a body broke off or is damaged."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._stages = [_STAGES[name]() for name in reversed(names)]
        self._plain = b""

    @property
    def error(self) -> str | None:
        """What is wrong with the body, if anything; what comes before the fault was given."""
        return next((stage.error for stage in self._stages if stage.error), None)

    @property
    def note(self) -> str | None:
        """Where bytes follow the end of the compressed data: a sentence that says how many. They are not decoded."""
        trailing = sum(stage.trailing for stage in self._stages)
        if not trailing:
            return None
        count = "1 byte follows" if trailing == 1 else f"{trailing:,} bytes follow"
        return f"{count} the end of the compressed data and {'is' if trailing == 1 else 'are'} left out."

    @property
    def needs_input(self) -> bool:
        """Whether nothing is left of what was fed (after an error, nothing more comes)."""
        return self.error is not None or (not self._plain and all(stage.needs_input for stage in self._stages))

    def feed(self, data: bytes) -> None:
        """More of the body as sent; only when `needs_input`."""
        if self._stages:
            self._stages[0].feed(data)
        else:
            self._plain += data

    def read(self, limit: int) -> bytes:
        """At most `limit` decoded bytes of what was fed; empty only when all of it was given."""
        if not self._stages:
            taken, self._plain = self._plain[:limit], self._plain[limit:]
            return taken
        while not self.needs_input:
            for stage, following in zip(self._stages, self._stages[1:], strict=False):
                if following.needs_input and not stage.needs_input:
                    following.feed(stage.read(limit))
            taken = self._stages[-1].read(limit)
            if taken:
                return taken
        return b""

    def finish(self) -> str | None:
        """After the last byte was fed: the error, or that the body is incomplete."""
        ended = all(stage.ended for stage in self._stages)
        return self.error or (None if ended else "The compressed body is incomplete.")


MESSAGE_MAX = 1024 * 1024
"""Bytes of one message, unpacked, that are looked into."""


def decompress_message(data: bytes) -> bytes | None:
    """The message, or None where it is larger than `MESSAGE_MAX`, damaged, or packed in a way not known here."""
    coding = _coding_of_message(data)
    if coding is None:
        return None
    decompressor, plain = Decompressor((coding,)), bytearray()
    decompressor.feed(data)
    while not decompressor.needs_input and len(plain) <= MESSAGE_MAX:
        plain += decompressor.read(MESSAGE_MAX + 1 - len(plain))
    return bytes(plain) if len(plain) <= MESSAGE_MAX and decompressor.finish() is None else None


def _coding_of_message(data: bytes) -> str | None:
    if data.startswith(b"\x1f\x8b"):
        return "gzip"
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return "zstd"
    return "deflate" if has_zlib_wrapper(data) else None
