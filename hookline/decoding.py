"""What msgspec decodes as a type. Python must not do that by itself: two threads that use a type for the first time at
once end the process with a segmentation fault (msgspec 0.22), so each type is prepared by one thread at a time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
Hook = Callable[[type[Any], Any], Any]

_decoders: dict[tuple[Any, Hook | None], msgspec.json.Decoder[Any]] = {}
_preparing = Lock()


def decode_json(text: bytes | str, kind: type[T], dec_hook: Hook | None = None) -> T:
    """JSON as `kind`; msgspec.DecodeError for what is not such JSON. `dec_hook` makes values of types that msgspec does
    not know."""
    found: T = _decoder(kind, dec_hook).decode(text)
    return found


def convert(value: Any, kind: type[T]) -> T:
    """Plain values, such as those of decoded JSON, as `kind`; msgspec.ValidationError if they do not fit."""
    _decoder(kind, None)
    return msgspec.convert(value, kind)


def _decoder(kind: Any, dec_hook: Hook | None) -> msgspec.json.Decoder[Any]:
    """To make one prepares the type, with all that it consists of."""
    key = kind, dec_hook
    if key not in _decoders:
        with _preparing:
            _decoders[key] = msgspec.json.Decoder(kind, dec_hook=dec_hook)
    return _decoders[key]
