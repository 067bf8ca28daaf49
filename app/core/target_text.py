"""What a request's target and content type tell people, in few characters."""

from __future__ import annotations


def below_slug(target: str) -> str:
    """The part of a capture's target that its sender chose: `/orders?x=1` of `/catch/my-slug/orders?x=1`."""
    path = target
    if "://" in target[:12]:
        path = "/" + target.split("://", 1)[1].partition("/")[2]
    parts = path.split("/", 3)
    if len(parts) < 3 or parts[1] != "catch":
        return target
    if len(parts) == 4:
        return "/" + parts[3]
    query = parts[2].partition("?")[1:]
    return "/" + "".join(query)


def query_pairs(target: str) -> list[tuple[str, str, str]]:
    """The query as raw (name, value, both as sent), in order, duplicates kept; no query, no pairs."""
    _, mark, query = target.partition("?")
    if not mark or not query:
        return []
    parts = ((part, part.partition("=")) for part in query.split("&"))
    return [(name, value, part) for part, (name, _, value) in parts]


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
    """A word for a content type: `JSON`, `Form`, `Image`; nothing for none, the subtype's end for one unknown."""
    media = content_type.partition(";")[0].strip().lower()
    if media in _HINTS:
        return _HINTS[media]
    family, _, subtype = media.partition("/")
    ending = next((word for end, word in _ENDINGS.items() if subtype.endswith(end)), None)
    return ending or _FAMILIES.get(family) or subtype.rpartition(".")[2].removeprefix("x-")[:10]
