"""Protobuf without a schema: each way a value may be meant, inner messages, and gRPC's frames."""

from __future__ import annotations

import gzip
import os
import struct
import zlib

from hypothesis import given
from hypothesis import strategies as st

from app.core.bodies.decompressor import MESSAGE_MAX
from app.core.bodies.format_registry import ranked
from app.core.bodies.formats import protobuf
from tests.codings import packed_zstd
from tests.core.bodies.format_lines import formatted_bytes
from tests.core.bodies.wire import field, varint

TYPE = "application/x-protobuf"


def lines(data: bytes, kind: str = TYPE) -> list[str]:
    return formatted_bytes(protobuf.write, data, kind)[0]


def error(data: bytes, kind: str = TYPE) -> str | None:
    return formatted_bytes(protobuf.write, data, kind)[1].error


MESSAGE = b"".join(
    [
        field(1, 0, varint(150)),
        field(2, 2, b"testing"),
        field(3, 2, field(1, 0, varint(7)) + field(2, 2, b"in")),
        field(4, 5, struct.pack("<f", 1.5)),
        field(5, 1, struct.pack("<d", -2.25)),
        field(6, 0, varint((1 << 64) - 3)),
        field(7, 2, b"\xff\xfe\x00"),
        field(8, 3) + field(1, 0, varint(1)) + field(8, 4),
        field(9, 2),
    ]
)
SAID = [
    "1: varint 150  zigzag 75",
    '2: text "testing"',
    "3: message, 6 bytes {",
    "  1: varint 7  zigzag -4",
    '  2: text "in"',
    "}",
    "4: fixed32 1069547520  float 1.5",
    "5: fixed64 13835621005235585024  signed -4611123068473966592, float -2.25",
    "6: varint 18446744073709551613  zigzag -9223372036854775807, signed -3",
    "7: 3 bytes ff fe 00",
    "8: group {",
    "  1: varint 1",
    "}",
    "9: empty",
]


def test_every_kind_of_field() -> None:
    assert lines(MESSAGE) == SAID
    assert error(MESSAGE) is None


def test_text_that_would_be_a_message_too_is_text() -> None:
    assert lines(field(1, 2, b"hi")) == ['1: text "hi"']
    assert lines(field(1, 2, b"a\nb\x1b\xe2\x80\xae")) == ['1: text "a\\nb\\x1b\\u202e"']


def test_grpc_comes_in_frames() -> None:
    frame = b"\0" + struct.pack(">I", len(MESSAGE)) + MESSAGE
    trailers = b"grpc-status:0\r\n"
    data = frame + b"\1\0\0\0\3abc" + frame + b"\x80" + struct.pack(">I", len(trailers)) + trailers
    message = [f"message, {len(MESSAGE)} bytes", *("  " + line for line in SAID)]
    said = [*message, "compressed message, 3 bytes: 61 62 63", *message, "trailers, 15 bytes", "  grpc-status:0"]
    assert lines(data, "application/grpc") == said
    cut = "⋯ The body ends in the middle of a value."
    assert lines(frame[:-1], "application/grpc-web+proto")[-1] == cut
    assert lines(b"\1\0\0\0\3ab", "application/grpc") == ["compressed message, 3 bytes: 61 62", cut]
    assert "past the end of its message" in (error(b"\0\0\0\0\1\x08\x01", "application/grpc") or "")


def test_what_is_wrong_is_said_with_its_place() -> None:
    assert error(b"\x08\x01\x0f") == "Not valid protobuf at byte 3: wire type 7 does not exist."
    assert "field 0 does not exist" in (error(b"\x00\x01") or "")
    assert "64 bits" in (error(b"\x08" + b"\xff" * 9 + b"\x02") or "")
    assert "ten bytes" in (error(b"\x08" + b"\xff" * 11) or "")
    assert "ends but never begins" in (error(field(3, 4)) or "")
    assert "not closed" in (error(field(3, 3)) or "")
    assert "too deep" in (error(field(3, 3) * 10_000) or "")
    assert lines(MESSAGE[:-9])[-1] == "⋯ The body ends in the middle of a value."


def test_deep_and_long_things_are_borne() -> None:
    deep = b""
    for _ in range(3_000):
        deep = field(1, 2, deep)
    assert len(lines(deep)) == 2 * protobuf.DEEPEST + 1
    long = field(1, 2, os.urandom(protobuf.FIELD_MAX + 1)) + field(2, 0, varint(1))
    said = lines(long)
    assert said[0].startswith("1: 262,145 bytes ")
    assert said[0].endswith(" …")
    assert said[1:] == ["2: varint 1"]
    assert lines(field(1, 2)[:1] + varint(2**63) + b"x")[-1] == "⋯ The body ends in the middle of a value."


def test_it_competes_by_type_and_else_comes_before_bytes_alone() -> None:
    for kind in (TYPE, "application/protobuf", "application/grpc", "application/vnd.x+protobuf"):
        assert ranked(kind, MESSAGE)[0].name == "protobuf"
    assert ranked("", MESSAGE)[0].name == "protobuf"
    assert ranked("", MESSAGE * 100)[0].name == "protobuf"
    for kind, other in (("", b"hello there"), ("", MESSAGE + b"\x0f"), ("application/pdf", MESSAGE), ("", b"\x08\x01")):
        assert "protobuf" not in [view.name for view in ranked(kind, other)]


@given(
    st.binary(max_size=300) | st.binary(max_size=60).map(lambda data: field(1, 2, field(2, 2, data) + data)),
    st.sampled_from([TYPE, "", "application/grpc"]),
)
def test_any_bytes_are_borne(data: bytes, kind: str) -> None:
    lines(data, kind)
    protobuf.fit(kind, data)


def test_a_compressed_grpc_message_is_unpacked_within_a_bound() -> None:
    def frame(data: bytes) -> bytes:
        return b"\1" + len(data).to_bytes(4, "big") + data

    message = field(1, 0, b"\x07")
    after = frame(gzip.compress(message, mtime=0))
    for packed in (gzip.compress(message, mtime=0), zlib.compress(message), packed_zstd(message)):
        said = [f"compressed message, {len(packed)} bytes, 2 bytes once unpacked", "  1: varint 7  zigzag -4"]
        assert lines(frame(packed), "application/grpc") == said
        assert lines(frame(packed[:-1]) + after, "application/grpc")[-1] == said[-1]
    bomb = gzip.compress(bytes(MESSAGE_MAX + 1))
    for unknown in (bomb, zlib.compress(message)[:-1], b"\x78\x9cnot zlib", b"\xff\x06\0\0sNaPpY"):
        first, *rest = lines(frame(unknown) + after, "application/grpc")
        assert first.startswith(f"compressed message, {len(unknown):,} bytes: {unknown[:3].hex(' ')}")
        assert rest[-1] == "  1: varint 7  zigzag -4"
