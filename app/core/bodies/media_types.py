"""Media types: which of them mean the same format, and short names for people."""

from __future__ import annotations

from email.message import Message

PARAMETERS_MAX = 100
"""The standard library reads a value in the square of its semicolons: 65,000 would hold up all else for a third of a
second."""
_GROUPS = ("application", "text")
_JSON_LINES = ("x-ndjson", "ndjson", "jsonl", "x-jsonl", "jsonlines", "x-jsonlines", "json-seq", "json-lines")
_PROTOBUF = ("protobuf", "x-protobuf", "vnd.google.protobuf", "x-google-protobuf", "proto", "x-protobuffer")

JSON_LINES = frozenset(f"{group}/{name}" for group in _GROUPS for name in _JSON_LINES)
"""Several JSON values one after the other."""
CSV = frozenset({"text/csv", "application/csv", "text/x-csv", "application/x-csv", "text/comma-separated-values"})
TSV = frozenset({"text/tab-separated-values", "application/tab-separated-values", "text/tsv"})
GRPC = frozenset({f"application/{name}" for name in ("grpc", "grpc+proto", "grpc-web", "grpc-web+proto")})
GENERIC_TEXT = frozenset({"", "text/plain", "application/octet-stream"})
"""Types that name no text format."""
GENERIC_BINARY = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-www-form-urlencoded"})
"""Types that name no binary format; curl sends the last one unless told otherwise."""

_MSGPACK_TYPES = frozenset({f"application/{name}" for name in ("msgpack", "x-msgpack", "vnd.msgpack", "messagepack")})
_PROTOBUF_TYPES = frozenset({f"application/{name}" for name in _PROTOBUF})


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
    "application/json": "JSON",
    "application/x-ndjson": "NDJSON",
    "application/x-www-form-urlencoded": "Form",
    "multipart/form-data": "Multipart",
    "text/plain": "Text",
    "text/html": "HTML",
    "text/csv": "CSV",
    "text/xml": "XML",
    "application/xml": "XML",
    "application/octet-stream": "Binary",
    "application/pdf": "PDF",
    "application/zip": "ZIP",
    "application/gzip": "GZIP",
    "application/grpc": "gRPC",
    "application/jwt": "JWT",
    "application/msgpack": "MsgPack",
    "application/x-msgpack": "MsgPack",
    "application/vnd.msgpack": "MsgPack",
    "application/javascript": "JavaScript",
    "text/javascript": "JavaScript",
    "application/yaml": "YAML",
    "application/x-yaml": "YAML",
    "text/yaml": "YAML",
    "application/sql": "SQL",
    "application/graphql": "GraphQL",
    "application/protobuf": "Protobuf",
    "application/x-protobuf": "Protobuf",
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
