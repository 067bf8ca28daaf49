"""MessagePack: every type is shown as it is, and what is none says where."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.bodies.format_registry import ranked
from app.core.bodies.formats import json, msgpack
from app.core.bodies.formats.binary import HEX_MAX
from app.core.bodies.formatter import HEAD
from tests.core.bodies.format_lines import formatted_bytes, texts

TYPE = "application/msgpack"
encode = msgspec.msgpack.encode


def lines(data: bytes, kind: str = TYPE) -> list[str]:
    return formatted_bytes(msgpack.write, data, kind)[0]


def error(data: bytes, kind: str = TYPE) -> str | None:
    return formatted_bytes(msgpack.write, data, kind)[1].error


def test_maps_arrays_and_what_json_has_none_of() -> None:
    value = {
        "id": 12345678901234567890,
        "least": -(2**63),
        "list": [None, True, []],
        "bytes": b"\x00\xff",
        7: {"deep": 1.1},
        "at": datetime(2026, 11, 20, 9, 0, 0, 123456, tzinfo=UTC),
        "ext": msgspec.msgpack.Ext(5, b"abc"),
    }
    assert lines(encode(value)) == [
        "{",
        '  "id": 12345678901234567890,',
        '  "least": -9223372036854775808,',
        '  "list": [',
        "    null,",
        "    true,",
        "    []",
        "  ],",
        '  "bytes": bin, 2 bytes: 00 ff,',
        "  7: {",
        '    "deep": 1.1',
        "  },",
        '  "at": timestamp 2026-11-20 09:00:00.123456 UTC,',
        '  "ext": ext type 5, 3 bytes: 61 62 63',
        "}",
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xca" + struct.pack(">f", 0.1), ["0.1"]),
        (b"\xca" + struct.pack(">f", float("inf")), ["inf"]),
        (b"\xcb" + struct.pack(">d", -1e300), ["-1e+300"]),
        (b"\xd6\xff\xff\xff\xff\xff", ["timestamp 2106-02-07 06:28:15 UTC"]),
        (b"\xc7\x0c\xff" + struct.pack(">Iq", 5, -1), ["timestamp 1969-12-31 23:59:59.000000005 UTC"]),
        (b"\xc7\x0c\xff" + struct.pack(">Iq", 0, 2**60), ["timestamp 1152921504606846976 s and 0 ns since 1970"]),
        (b"\x82\xa1a\x01\xa1a\x02", ["{", '  "a": 1,', '  "a": 2', "}"]),
        (b"\x81\x92\x01\x02\x03", ["{", "  [", "    1,", "    2", "  ]: 3", "}"]),
        (b"\x81\x80\x90", ["{", "  {}: []", "}"]),
        (b"\x01\xa1x\x90", ["1", '"x"', "[]"]),
        (b"\xa3\xff\\a", ['"\\xff\\\\a"']),
        (b"\xa4\x1b\xe2\x80\xae", ['"\\x1b\\u202e"']),
        (b"", []),
    ],
)
def test_small_things(data: bytes, expected: list[str]) -> None:
    assert lines(data) == expected


def test_long_bytes_are_cut_and_long_texts_folded() -> None:
    assert lines(encode(b"\xab" * 1_000)) == ["bin, 1,000 bytes: " + "ab " * (HEX_MAX - 1) + "ab …"]
    text = "é" * 200_000
    assert "".join(lines(encode([text]))) == f'[  "{text}"]'


def test_what_breaks_off_is_shown_as_far_as_it_comes_if_its_type_says_what_it_is() -> None:
    data = encode({"a": 1, "b": "hello"})
    assert lines(data[:-2])[-1] == "⋯ The body ends in the middle of a value."
    assert lines(data[:-2])[:2] == ["{", '  "a": 1,']
    assert error(data[:-2]) is None
    assert error(data[:-2], "") is not None
    assert msgpack.fit("", data[:-2]) == 0


def test_what_is_wrong_is_said_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(msgpack, "DEEPEST", 2_000)
    assert error(b"\x81\xa1a\xc1") == "Not valid MessagePack at byte 4: type 0xc1 does not exist."
    assert "deeper than" in (error(b"\x91" * 3_000) or "")


def test_deep_nesting_and_lying_lengths_are_borne() -> None:
    found = lines(b"\x91" * 20_000 + b"\xc0")
    assert len(found) == 40_001
    assert max(map(len, found)) < 200
    for liar in (
        b"\xdd\xff\xff\xff\xff\x01",
        b"\xdf\xff\xff\xff\xff\x01",
        b"\xc6\xff\xff\xff\xffx",
        b"\xdb\xff\xff\xff\xffx",
    ):
        assert lines(liar)[-1] == "⋯ The body ends in the middle of a value."


def test_it_competes_by_type_or_by_what_it_plainly_is() -> None:
    data = encode({"event": "paid", "amount": 12.5, "raw": b"\xff"})
    assert ranked(TYPE, data)[0].name == "msgpack"
    assert ranked("application/vnd.api+msgpack", data)[0].name == "msgpack"
    assert ranked("", data)[0].name == "msgpack"
    assert ranked("application/x-www-form-urlencoded", data)[0].name == "msgpack"
    assert ranked("", encode([{"n": n, "raw": b"\xff"} for n in range(2_000)])[:HEAD])[0].name == "msgpack"
    for kind, other in (
        ("application/json", data),
        ("", data + b"\x01"),
        ("", b"\x01"),
        ("", encode("text")),
        ("", "ܐܒܓ".encode()),
        ("", b"hello"),
    ):
        assert "msgpack" not in [view.name for view in ranked(kind, other)]


values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text(st.characters(codec="ascii", categories=["L", "N"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="ascii", categories=["L"])), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(values)
def test_what_json_can_say_looks_as_in_json(value: Any) -> None:
    assert lines(encode(value)) == texts(json.write, msgspec.json.encode(value).decode())


@given(st.binary(max_size=300), st.sampled_from([TYPE, ""]))
@example(b"\x81\xa2\x00\x80", "")
def test_any_bytes_are_borne(data: bytes, kind: str) -> None:
    lines(data, kind)
    msgpack.fit(kind, data)
