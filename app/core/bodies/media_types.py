"""Media types: which of them mean the same format, and short names for people."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable
from email.message import Message
from pathlib import PurePosixPath
from typing import NamedTuple

PARAMETERS_MAX = 100
"""The standard library reads a value in the square of its semicolons: 65,000 would hold up all else for a third of a
second."""


class TextLanguage(NamedTuple):
    """`endings` are those of file names; the first of `types` is taken for such a file."""

    name: str
    title: str
    types: tuple[str, ...]
    endings: tuple[str, ...]


def _language(name: str, title: str, *, types: str, endings: str) -> TextLanguage:
    """Senders use each type with `application/` too."""
    named = tuple(f"{group}/{kind}" for kind in types.split() for group in ("text", "application"))
    return TextLanguage(name, title, named, tuple(endings.split()))


TEXT_LANGUAGES = (
    _language(
        "ndjson",
        "NDJSON",
        types="x-ndjson ndjson jsonl x-jsonl jsonlines x-jsonlines json-seq json-lines",
        endings="ndjson jsonl",
    ),
    _language("javascript", "JavaScript", types="javascript x-javascript ecmascript", endings="js mjs cjs jsx"),
    _language("typescript", "TypeScript", types="typescript x-typescript", endings="ts tsx"),
    _language("css", "CSS", types="css", endings="css"),
    _language("yaml", "YAML", types="yaml x-yaml vnd.yaml", endings="yaml yml"),
    _language("toml", "TOML", types="toml x-toml", endings="toml"),
    _language("ini", "INI", types="x-ini ini", endings="ini cfg conf editorconfig"),
    _language("properties", "Properties", types="x-java-properties", endings="properties env"),
    _language("graphql", "GraphQL", types="graphql", endings="graphql gql"),
    _language("sql", "SQL", types="sql x-sql", endings="sql"),
    _language("markdown", "Markdown", types="markdown x-markdown", endings="md"),
    _language("python", "Python", types="x-python x-script.python", endings="py pyi"),
    _language("shell", "Shell", types="x-sh x-shellscript x-bash", endings="sh bash"),
    _language("diff", "Diff", types="x-diff x-patch", endings="diff patch"),
    _language("csv", "CSV", types="csv x-csv comma-separated-values", endings="csv"),
    _language("tsv", "TSV", types="tab-separated-values tsv", endings="tsv"),
)
_LANGUAGES = {kind: language.name for language in TEXT_LANGUAGES for kind in language.types}
_PROTOBUF = ("protobuf", "x-protobuf", "vnd.google.protobuf", "x-google-protobuf", "proto", "x-protobuffer")

GRPC = frozenset({f"application/{name}" for name in ("grpc", "grpc+proto", "grpc-web", "grpc-web+proto")})
GENERIC_TEXT = frozenset({"", "text/plain", "application/octet-stream"})
"""Types that name no text format."""
FORM = "application/x-www-form-urlencoded"
GENERIC_BINARY = frozenset({"", "application/octet-stream", "binary/octet-stream", FORM})
"""Types that name no binary format; curl sends the last one unless told otherwise."""

_MSGPACK_TYPES = frozenset({f"application/{name}" for name in ("msgpack", "x-msgpack", "vnd.msgpack", "messagepack")})
_PROTOBUF_TYPES = frozenset({f"application/{name}" for name in _PROTOBUF})


def content_type_of(headers: Iterable[tuple[str, str]]) -> str:
    """The first one declared; empty without one."""
    return next((value for name, value in headers if name.lower() == "content-type"), "")


def media_type(content_type: str) -> str:
    """`application/json` of `Application/JSON; charset=utf-8`."""
    return content_type.partition(";")[0].strip().lower()


def parameter(value: str, name: str) -> object:
    """A parameter of a header's value, as the standard library has it: a text, or three if it is encoded (RFC 2231);
    None without one."""
    if value.count(";") > PARAMETERS_MAX:
        return None
    message = Message()
    try:
        # The only header whose parameters are read unless another is named.
        message["Content-Type"] = value.replace("\r", " ").replace("\n", " ")
        return message.get_param(name)
    except (ValueError, LookupError, TypeError):
        return None


def text_language(media_type: str) -> str:
    """The name of the language that the type names; empty for other types."""
    return _LANGUAGES.get(media_type, "")


_BY_ENDING = {ending: each.types[0] for each in TEXT_LANGUAGES for ending in each.endings}
# Not the system's table: a body must look the same on every computer.
_TYPES = mimetypes.MimeTypes(filenames=())


def type_of(media_type: str, file_name: str | None) -> str:
    """The declared type of a part, or if that is generic, the type for the ending of its file name."""
    if media_type not in GENERIC_TEXT or not file_name:
        return media_type
    ending = PurePosixPath(file_name[-200:]).suffix[1:].lower()
    return _BY_ENDING.get(ending) or _TYPES.guess_type(f"x.{ending}")[0] or media_type


def is_json(media_type: str) -> bool:
    """One JSON value."""
    return media_type.endswith(("/json", "+json"))


def is_xml(media_type: str) -> bool:
    return media_type.endswith(("/xml", "+xml"))


def is_msgpack(media_type: str) -> bool:
    return media_type in _MSGPACK_TYPES or media_type.endswith("+msgpack")


def is_protobuf(media_type: str) -> bool:
    """A bare message; gRPC's framed ones have types of their own (`GRPC`)."""
    return media_type in _PROTOBUF_TYPES or media_type.endswith("+protobuf")


_HINTS = {
    **{kind: language.title for language in TEXT_LANGUAGES for kind in language.types},
    "application/json": "JSON",
    FORM: "Form",
    "text/html": "HTML",
    "text/xml": "XML",
    "application/xml": "XML",
    "application/octet-stream": "Binary",
    "application/pdf": "PDF",
    "application/zip": "ZIP",
    "application/gzip": "GZIP",
    "application/jwt": "JWT",
    **dict.fromkeys(GRPC, "gRPC"),
    **dict.fromkeys(_MSGPACK_TYPES, "MsgPack"),
    **dict.fromkeys(_PROTOBUF_TYPES, "Protobuf"),
}
_ENDINGS = {"+json": "JSON", "+xml": "XML", "+zip": "ZIP"}
_FAMILIES = {"image": "Image", "audio": "Audio", "video": "Video", "text": "Text", "multipart": "Multipart"}


def type_hint(content_type: str) -> str:
    """`JSON`, `Form`, `Image`; empty without a type, the end of the subtype for an unknown one."""
    media = media_type(content_type)
    if media in _HINTS:
        return _HINTS[media]
    family, _, subtype = media.partition("/")
    ending = next((word for end, word in _ENDINGS.items() if subtype.endswith(end)), None)
    return ending or _FAMILIES.get(family) or subtype.rpartition(".")[2].removeprefix("x-")[:10]
