"""Each text language is one row, and all who ask for a type's language know all of its types."""

from __future__ import annotations

import base64

import pytest

from app.core.bodies.formats.code import LANGUAGES
from app.core.bodies.media_types import TEXT_LANGUAGES, TextLanguage, text_language, type_hint
from app.core.search.readable_text import readable_texts

TYPES = [(language, kind) for language in TEXT_LANGUAGES for kind in language.types]


@pytest.mark.parametrize(("language", "kind"), TYPES, ids=[kind for _, kind in TYPES])
def test_each_type_of_a_language_is_named_and_a_part_of_it_is_text(language: TextLanguage, kind: str) -> None:
    assert (text_language(kind), type_hint(f"{kind}; charset=utf-8")) == (language.name, language.title)
    head = f"--b\r\nContent-Type: {kind}\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    part = head + base64.b64encode(b"hello").decode()
    assert readable_texts("multipart/mixed; boundary=b", f"{part}\r\n--b--\r\n", "utf-8") == ["hello"]


def test_no_type_and_no_file_ending_names_two_languages() -> None:
    for names in ([kind for _, kind in TYPES], [end for language in TEXT_LANGUAGES for end in language.endings]):
        assert len(names) == len(set(names))


def test_each_language_with_colours_is_a_row() -> None:
    assert {language.name for language in TEXT_LANGUAGES} - {language.name for language in LANGUAGES} == {"ndjson"}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("application/msgpack", "MsgPack"),
        ("application/messagepack", "MsgPack"),
        ("application/x-protobuf", "Protobuf"),
        ("application/vnd.google.protobuf", "Protobuf"),
        ("application/x-protobuffer", "Protobuf"),
        ("application/grpc", "gRPC"),
        ("application/grpc+proto", "gRPC"),
        ("application/grpc-web", "gRPC"),
    ],
)
def test_all_types_of_a_binary_format_have_its_name(kind: str, name: str) -> None:
    assert type_hint(kind) == name
