"""Headers and trailers as a column holds them."""

from __future__ import annotations

import msgspec

from app.core.record import Headers

encode_headers = msgspec.msgpack.Encoder().encode
decode_headers = msgspec.msgpack.Decoder(Headers).decode
