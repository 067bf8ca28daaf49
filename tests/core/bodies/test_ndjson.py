"""JSON values one after the other are each shown, whether they are declared so or not."""

from __future__ import annotations

import pytest

from tests.core.bodies.format_lines import read

RECORDS = ["{", '  "a": 1', "}", "[", "  2", "]", "{}"]


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/x-ndjson", b'{"a":1}\n[2]\r\n{}\n'),
        ("application/json-seq", b'\x1e{"a":1}\n\x1e[2]\n\x1e{}\n'),
        ("application/json", b'{"a":1}\n[2]\n{}'),
        ("", b'{"a":1}\n\n[2]\n{}'),
        ("application/jsonl", b'{"a":1}[2]{}'),
        ("text/plain", '{"a":1}\n[2]\n{}'.encode("utf-8-sig")),
    ],
)
def test_each_record_is_shown(content_type: str, body: bytes) -> None:
    reader, lines = read(body, content_type)
    assert reader.view is not None
    assert (reader.view.name, lines, reader.notes) == ("ndjson", RECORDS, [])


@pytest.mark.parametrize("body", [b'{\n"a": 1\n}', b'{"a":1}', b"[1,\n[2]]", b'{"a":1} \n'])
def test_one_value_is_json(body: bytes) -> None:
    reader, _ = read(body, "application/json")
    assert reader.view is not None
    assert reader.view.name == "json"


def test_a_record_that_is_cut_off_is_shown_as_it_stands_with_its_place() -> None:
    reader, lines = read(b'{"a":1}\n{"b":', "application/x-ndjson")
    assert lines == ['{"a":1}', '{"b":']
    assert "line 2" in reader.notes[0]
