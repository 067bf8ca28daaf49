"""Describes requests without a body, and all bodies but small JSON objects: forms by the names of their fields,
multipart bodies by their parts, XML by its elements, HTML by its title, mail by its subject, tokens by claims, YAML and
CSV by names.

The first bytes of the body decide what it is, then its type.

At most the first part (1 MiB) is read, and `UNPACKED_MAX` bytes once unpacked.
"""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Callable, Iterable, Iterator
from email.header import decode_header, make_header
from functools import lru_cache, partial
from itertools import islice
from urllib.parse import unquote, unquote_plus

import msgspec

from app.core.bodies.charset import detect
from app.core.bodies.decompressor import Decompressor, codings
from app.core.bodies.formats import jwt
from app.core.bodies.formats.binary import InvalidError, TruncatedError
from app.core.bodies.formats.image import image_kind, image_name, image_size
from app.core.bodies.formats.multipart import as_text
from app.core.bodies.formats.protobuf import fields_in
from app.core.bodies.gist_json import NAMES_MAX, OPERATION, first_words, json_gist, names, ndjson_gist, with_detail
from app.core.bodies.media_types import media_type, type_hint
from app.core.raw_request import below_slug
from app.core.record import Headers
from app.core.text import count_of, dimensions_text, size_text

UNPACKED_MAX, AT_ONCE_MAX = 64 * 1024, 2 * 1024 * 1024
TEXT_MAX = 64 * 1024
HEAD = 1_024
"""Characters that decide whether bytes are text."""
PATH_MAX = 400
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c\x1d\x1f\x7f]")
_ODD = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c\x1d\x1f\x7f-\x9f]")
_MARKED = (b"\xef\xbb", b"\xff\xfe", b"\xfe\xff")
"""The first bytes of byte order marks."""


def without_body(method: str, target: str, headers: Headers) -> str:
    if method == "OPTIONS":
        requested_method = next(
            (value for name, value in headers if name.lower() == "access-control-request-method"), None
        )
        if requested_method:
            return f"CORS preflight · {requested_method[:20]}"
    path, _, query = below_slug(target[: 8 * PATH_MAX]).partition("?")
    found = names(_field_names(query)) if query else ""
    if found:
        return with_detail("query", found)
    return path[:PATH_MAX] if path not in ("", "/") else "no body"


def of_body(kind: str, headers: Headers, content_type: str, data: bytes, *, size: int, complete: bool) -> str:
    """`kind` is what its type declares."""
    coding_names = codings(headers)
    if coding_names and data:
        plain, ended = _decompressed(coding_names, data)
        if not plain:
            return f"{coding_names[-1][:20]} · {size_text(size)}"
        data, complete = plain, complete and ended
    found = known_bytes(data, size) or _by_type(kind, content_type, data, size, complete=complete)
    return found or _guessed(content_type, data, size, complete=complete)


def _decompressed(coding_names: tuple[str, ...], data: bytes) -> tuple[bytes, bool]:
    """The beginning of a decompressed body, and whether that is all of it; empty if it cannot be decompressed."""
    decompressor = Decompressor(coding_names, AT_ONCE_MAX)
    plain = decompressor.unpack(data, UNPACKED_MAX)
    return plain, decompressor.needs_input and decompressor.finish() is None


def _by_type(kind: str, content_type: str, data: bytes, size: int, *, complete: bool) -> str | None:
    """By its type; None if the body does not match it."""
    if not data:
        return with_detail(type_hint(content_type[:80]) or "binary", size_text(size))
    if kind == "multipart":
        return _multipart_gist(content_type, data, complete=complete)
    if kind == "msgpack":
        return msgpack_gist(data, size, declared=True)
    if kind == "protobuf":
        return protobuf_gist(data, size)
    if kind == "grpc":
        return grpc_gist(data, size)
    if kind == "ndjson":
        return ndjson_gist(data, complete=complete)
    utf8 = _in_utf8(content_type, data, complete=complete) if kind in ("json", "form", *_BY_TEXT) else None
    if utf8 is None:
        return None
    if kind == "json":
        return json_gist(utf8, complete=complete)
    words = utf8.decode("utf-8", "replace")
    if kind == "form":
        # curl sends any body as a form unless it is given a type.
        return None if words[:1] in '{[<"' else _form_gist(words, complete=complete)
    return _BY_TEXT[kind](words)


def _guessed(content_type: str, data: bytes, size: int, *, complete: bool) -> str:
    """By the body alone."""
    kind = media_type(content_type[:200])
    if data.startswith(b"\x1f\x8b"):
        plain, ended = _decompressed(("gzip",), data)
        inside = _guessed("", plain, size, complete=complete and ended) if plain and plain[:2] != b"\x1f\x8b" else ""
        return with_detail("gzip", inside or size_text(size))
    utf8 = _in_utf8(content_type, data, complete=complete)
    if utf8 is None:
        found = msgpack_gist(data, size, declared=False) if complete else None
        return found or unknown_bytes(kind, size)
    start = utf8[:64].lstrip()[:1]
    if start and start in b"{[" and (found := json_gist(utf8, complete=complete)) and (complete or found.count("·")):
        return found
    words = utf8.decode("utf-8", "replace")
    beginning = words[:1_024].lstrip("\ufeff \t\r\n").lower()
    if beginning.startswith(("<!doctype html", "<html")):
        return _html_gist(words)
    if start == b"<" and (found := _xml_gist(words)):
        return found
    return _token_gist(words) or _text_gist(words, _label(kind))


def _label(kind: str) -> str:
    hint = type_hint(kind)
    return "text" if hint in ("", "Text", "Form", "Binary", "JSON", "XML", "octet-stre") else hint


@lru_cache(maxsize=256)
def _may_be_utf8(content_type: str) -> bool:
    """True also for a type without a charset."""
    text = content_type[:500].lower()
    return "charset" not in text or "utf-8" in text or "utf8" in text


def _in_utf8(content_type: str, data: bytes, *, complete: bool) -> bytes | None:
    """Converts text to UTF-8 without a byte order mark; None if `data` is not text."""
    start = data[:TEXT_MAX]
    if _may_be_utf8(content_type) and start[:2] not in _MARKED:
        if start[:1] in (b"{", b"[") and start[1:2] != b"\0":
            return data  # the JSON decoder checks it
        try:
            words = start.decode("utf-8")
        except UnicodeDecodeError:
            words = "\0"
        if _is_text(words):
            return data
    charset = detect(content_type, start, complete and len(data) <= TEXT_MAX)
    words = charset.decode(start, complete=False)
    if charset.source == "guessed" and _ODD.search(words, 0, HEAD):
        return None  # Latin-1 decodes any bytes; characters that are rare in text reveal binary data
    return words.encode("utf-8", "replace") if _is_text(words) else None


def _is_text(words: str) -> bool:
    found = _CONTROL.findall(words, 0, HEAD)
    return "\0" not in found and len(found) * 20 <= min(len(words), HEAD)


ENTRIES_MAX = 4
FIELDS_READ = 64
GRPC_HEAD = 5

_map = msgspec.msgpack.Decoder(dict[str, msgspec.Raw])
_array = msgspec.msgpack.Decoder(list[msgspec.Raw])
_NOT_MSGPACK = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_PDF = re.compile(rb"%PDF-(\d\.\d)")


def known_bytes(data: bytes, size: int) -> str | None:
    """Formats that the first bytes identify, regardless of the type; `size` is of the whole body as sent."""
    picture = picture_gist(data)
    if picture is not None:
        return picture
    if pdf := _PDF.match(data):
        return f"PDF {pdf[1].decode()} · {size_text(size)}"
    if data.startswith(b"PK\x03\x04"):
        return with_detail("ZIP", names(zip_entries(data), more=True))
    return None


def picture_gist(data: bytes) -> str | None:
    """`PNG 640×400`, `JPEG` if `data` does not include the size; None if it is not a picture."""
    kind = image_kind(data)
    if kind is None:
        return None
    size = image_size(kind, data)
    name = image_name(kind)
    return f"{name} {dimensions_text(*size)}" if size else name


def zip_entries(data: bytes) -> list[str]:
    """The first names in an archive, as far as its local headers have their sizes."""
    found: list[str] = []
    at = 0
    while len(found) < ENTRIES_MAX and data.startswith(b"PK\x03\x04", at) and at + 30 <= len(data):
        length, extra = (int.from_bytes(data[at + place : at + place + 2], "little") for place in (26, 28))
        name = data[at + 30 : at + 30 + length]
        found.append(name.decode("utf-8", "replace"))
        packed = int.from_bytes(data[at + 18 : at + 22], "little")
        if data[at + 6] & 8 or packed == 0xFFFFFFFF:
            break  # the length follows the data
        at += 30 + length + extra + packed
    return found


def msgpack_gist(data: bytes, size: int, *, declared: bool) -> str | None:
    """`data` is a whole body. Unless it was `declared` to be MessagePack, None for all but a map with keys."""
    try:
        keys = list(_map.decode(data))
    except _NOT_MSGPACK:
        return _msgpack_array(data, size) if declared else None
    return with_detail("MessagePack", names(keys)) if keys or declared else None


def _msgpack_array(data: bytes, size: int) -> str:
    try:
        items = _array.decode(data)
    except _NOT_MSGPACK:
        return f"MessagePack · {size_text(size)}"
    return f"MessagePack · {count_of(len(items), 'item')}"


def protobuf_gist(data: bytes, size: int) -> str:
    """Without a schema, a message is described by the numbers of its first fields."""
    numbers = ", ".join(map(str, _numbers(data)))
    return f"Protobuf · fields {numbers}" if numbers else f"Protobuf · {size_text(size)}"


def grpc_gist(data: bytes, size: int) -> str:
    """gRPC messages follow their length; the fields of the first are listed unless it is compressed."""
    numbers = ""
    if len(data) > GRPC_HEAD and data[0] == 0:
        numbers = ", ".join(map(str, _numbers(data[GRPC_HEAD : GRPC_HEAD + int.from_bytes(data[1:5])])))
    return f"gRPC · fields {numbers}" if numbers else f"gRPC · {size_text(size)}"


def unknown_bytes(media_type: str, size: int) -> str:
    """The declared type and the size."""
    family, _, subtype = media_type.partition("/")
    if family in ("image", "audio", "video", "font") and subtype:
        label = f"{subtype.rpartition('.')[2].removeprefix('x-')[:12].upper()} {family}"
    else:
        hint = type_hint(media_type)
        label = "binary" if hint in ("", "Binary", "Form", "Text", "octet-stre") else hint
    return f"{label} · {size_text(size)}"


def _numbers(data: bytes) -> list[int]:
    """Field numbers in order, each once; none if the bytes are not a message."""
    found: dict[int, None] = {}
    try:
        for number, _ in islice(fields_in(data), FIELDS_READ):
            found[number] = None
    except TruncatedError:
        pass
    except InvalidError:
        return []
    return list(found)[:12]


FORM_SCAN = 64 * 1024
PARTS_READ = 8
"""Parts whose headers are read; the others are only counted."""
PART_HEAD_MAX = 2_048
"""Bytes of a part's headers that are read."""
FIELD_MAX = 400
"""Characters of a field's name, as sent, that are decoded."""

_BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))', re.IGNORECASE)
_FIRST_LINE = re.compile(rb"\s{0,40}(--[^\r\n]{1,200}?)[ \t]{0,20}\r?\n")
_PART_NAME = re.compile(r'[;\s]name=(?:"([^"\r\n]{0,400})"|([^\s;"]{1,400}))', re.IGNORECASE)
_PART_FILE = re.compile(r'[;\s]filename=(?:"([^"\r\n]{0,400})"|([^\s;"]{1,400}))', re.IGNORECASE)
_PART_EXTENDED_FILE = re.compile(r"[;\s]filename\*=[\w-]{0,20}'[\w-]{0,20}'([^\s;]{1,400})", re.IGNORECASE)
_PART_TYPE = re.compile(r"^content-type:[ \t]{0,20}([^\s;]{1,100})", re.IGNORECASE | re.MULTILINE)


def _form_gist(text: str, *, complete: bool) -> str | None:
    """`text` like `a=1&b=2`; None if it has no fields."""
    if "=" not in text[:FORM_SCAN]:
        return None
    return with_detail("form", names(_field_names(text[:FORM_SCAN]), more=not complete))


def _field_names(text: str) -> Iterable[str]:
    """The names of a form's or query's fields in the order sent, each once; at most one more than are shown."""
    fields = islice(text.split("&", 4 * NAMES_MAX), 4 * NAMES_MAX)
    found = (unquote_plus(field.partition("=")[0][:FIELD_MAX]) for field in fields)
    return list(islice(dict.fromkeys(name for name in found if name), NAMES_MAX + 1))


def _multipart_gist(content_type: str, data: bytes, *, complete: bool) -> str:
    """Splits a multipart body at the boundary from its type, or else from its first line."""
    line = _boundary_line(content_type, data)
    if not line:
        return "multipart"
    heads = list(islice(_part_heads(line, data[:FORM_SCAN]), PARTS_READ))
    files = [name for head in heads if (name := _part_file(head))]
    found = files or [_part_name(head) for head in heads]
    count = _part_count(line, data) if complete else 0
    label = f"multipart · {count_of(count, 'part')}" if count else "multipart"
    return with_detail(label, names(found, more=not complete or count > len(heads)))


def _boundary_line(content_type: str, data: bytes) -> bytes:
    declared = _BOUNDARY.search(content_type[:1_000])
    line = b"--" + (declared[1] or declared[2]).encode("latin-1", "replace") if declared else b""
    if line and line in data[:FORM_SCAN]:
        return line
    first = _FIRST_LINE.match(data[:1_000])
    return first[1] if first else line


def _part_heads(line: bytes, data: bytes) -> Iterator[str]:
    """The headers of each part."""
    mark, data = b"\n" + line, b"\n" + data
    at = data.find(mark)
    while at >= 0:
        begin = at + len(mark)
        if data.startswith(b"--", begin):
            return
        end = data.find(b"\n\r\n", begin, begin + PART_HEAD_MAX)
        if end < 0:
            end = data.find(b"\n\n", begin, begin + PART_HEAD_MAX)
        if end < 0 and begin + PART_HEAD_MAX > len(data):
            return  # cut off within these headers
        yield as_text(data[begin : end if end >= 0 else begin + PART_HEAD_MAX].decode("latin-1"))
        at = data.find(mark, begin)


def _part_file(head: str) -> str:
    """The file name sent; `filename*` (RFC 5987) is used only without a plain `filename`."""
    if found := _PART_FILE.search(head):
        return found[1] or found[2] or ""
    extended = _PART_EXTENDED_FILE.search(head)
    return unquote(extended[1], errors="replace") if extended else ""


def _part_name(head: str) -> str:
    """The name of the part, or else its type."""
    if found := _PART_NAME.search(head):
        return found[1] or found[2] or ""
    kind = _PART_TYPE.search(head)
    return kind[1] if kind else "text/plain"


def _part_count(line: bytes, data: bytes) -> int:
    """The boundaries at the beginning of a line, except the one that ends the body."""
    ends = data.count(b"\n" + line + b"--")
    return data.count(b"\n" + line) + data.startswith(line) - ends - data.startswith(line + b"--")


TEXT_SCAN = 16 * 1024
LINE_MAX = 8 * 1024
_YAML = re.compile(r"^([A-Za-z_][\w.-]{0,60}):(?=\s|$)", re.MULTILINE)
_SUBJECT = re.compile(r"^Subject:[ \t]*([^\r\n]{1,400})", re.MULTILINE | re.IGNORECASE)


def _text_gist(text: str, label: str = "text") -> str:
    """The first words."""
    return with_detail(label, first_words(text[:TEXT_SCAN]))


def _token_gist(text: str) -> str | None:
    """For a body that is only a JSON Web Token."""
    if not text.startswith(("ey", "ew")) or len(text) > jwt.TOKEN_MAX:
        return None
    token = jwt.parse_token(text.strip())
    if token is None:
        return None
    return f"JWT · encrypted, {token.algorithm[:40]}" if token.encrypted else with_detail("JWT", names(token.claims))


def _mail_gist(text: str) -> str:
    """The subject."""
    found = _SUBJECT.search(text[:TEXT_SCAN])
    if found is None:
        return _text_gist(text, "mail")
    try:
        subject = str(make_header(decode_header(found[1])))
    except (ValueError, LookupError):
        subject = found[1]
    return with_detail("mail", first_words(subject))


def _yaml_gist(text: str) -> str:
    """The top-level names."""
    found = list(dict.fromkeys(_YAML.findall(text[:TEXT_SCAN])))
    return with_detail("YAML", names(found)) if found else _text_gist(text, "YAML")


def _graphql_gist(text: str) -> str:
    """The kind and name of the first operation."""
    operation = OPERATION.match(text[:TEXT_SCAN])
    return f"GraphQL · {operation[1]} {operation[2]}".rstrip() if operation else _text_gist(text, "GraphQL")


def _csv_gist(text: str, *, tabs: bool = False) -> str:
    """Takes the values of the first line for the names of columns."""
    line = text[:LINE_MAX].lstrip("\r\n").partition("\n")[0].rstrip("\r")
    separator = "\t" if tabs else max(",;\t", key=line.count)
    try:
        columns = next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        columns = line.split(separator)
    return with_detail("TSV" if tabs else "CSV", names([column.strip() for column in columns if column.strip()]))


MARKUP_SCAN = 64 * 1024
CHILDREN_MAX = 4
ELEMENTS_MAX = 500
"""Maximum elements read while looking for children."""

_ELEMENT_NAME = re.compile(r"[^\W\d][\w:.-]{0,200}")
_BEGINS = re.compile(r"<(?:[!?]|/?[^\W\d])")
"""The start of a tag, or what is skipped. Anything else after a `<` is text."""
_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{1,400})", re.IGNORECASE)
_HIDDEN_TEXT = re.compile(r"<(script|style)\b.*?</\1[^<>]*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_SIZE = re.compile(r"""(?:^|\s)(width|height)\s*=\s*["']\s*(\d{1,6}(?:\.\d{1,4})?)(?:px)?\s*["']""")
_VIEW = re.compile(
    r"""(?:^|\s)viewBox\s*=\s*["'][-\d.]+[\s,]+[-\d.]+[\s,]+(\d{1,9}(?:\.\d{0,9})?)[\s,]+(\d{1,9}(?:\.\d{0,9})?)"""
)
_SKIPPED = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">"))


def _html_gist(text: str) -> str:
    """The title of the page, or else its first words."""
    text = text[:MARKUP_SCAN]
    title = _TITLE.search(text)
    if title is None:
        visible = _TAG.sub(" ", _HIDDEN_TEXT.sub(" ", text[:4_096]))
        return with_detail("HTML", first_words(html.unescape(visible)))
    return with_detail("HTML", first_words(html.unescape(title[1])))


def _xml_gist(text: str) -> str | None:
    """The XML need not be well-formed; None if it does not begin with an element."""
    elements = _elements(text[:MARKUP_SCAN])
    root = next(elements, None)
    if root is None or root[0] == "close":
        return None
    name = _local_name(root[1])
    if name == "svg":
        return f"SVG {_drawing_size(root[2])}".rstrip()
    if name == "Envelope":
        return with_detail("SOAP", names(_children(elements, parent="Body")))
    return with_detail("XML", with_detail(name, names(_children(elements)) if root[0] == "open" else ""))


def _drawing_size(attributes: str) -> str:
    """`24×24` from an <svg> element's attributes; empty without a size."""
    given = {found[1]: found[2] for found in _SIZE.finditer(attributes[:4_096])}
    view = _VIEW.search(attributes[:4_096])
    width, height = given.get("width"), given.get("height")
    if (width is None or height is None) and view:
        width, height = view[1], view[2]
    return dimensions_text(float(width), float(height)) if width and height else ""


def _children(elements: Iterator[tuple[str, str, str]], parent: str | None = None) -> list[str]:
    """The names of the children of the root, or of the element named `parent`, each once."""
    found: dict[str, None] = {}
    depth, depth_of_children, inside = 1, 1 if parent is None else 2, parent is None
    for kind, name, _ in islice(elements, ELEMENTS_MAX):
        if kind == "close":
            depth -= 1
            if depth < depth_of_children and (inside or depth < 1):
                break
            continue
        if depth == depth_of_children and inside:
            found[_local_name(name)] = None
            if len(found) > min(CHILDREN_MAX, NAMES_MAX):
                break
        if kind == "open":
            depth += 1
            inside = inside or (depth == 2 and _local_name(name) == parent)
    visible = list(found)
    return [*visible[:CHILDREN_MAX], "…"] if len(visible) > CHILDREN_MAX else visible


def _elements(text: str) -> Iterator[tuple[str, str, str]]:
    """Kind (open, close, empty), name and attributes of each tag, in one pass."""
    at = 0
    while at >= 0 and (begins := _BEGINS.search(text, at)) is not None:
        at = begins.start()
        skipped = next(((start, end) for start, end in _SKIPPED if text.startswith(start, at)), None)
        if skipped is not None:
            at = text.find(skipped[1], at + len(skipped[0]))
            continue
        closing = text.startswith("</", at)
        name, end = _ELEMENT_NAME.match(text, at + 1 + closing), text.find(">", at)
        if name is None or end < 0:
            return
        kind = "close" if closing else "empty" if text[end - 1] == "/" else "open"
        yield kind, name[0], text[name.end() : end]
        at = end


def _local_name(name: str) -> str:
    return name.rpartition(":")[2]


_BY_TEXT: dict[str, Callable[[str], str | None]] = {
    "csv": _csv_gist,
    "graphql": _graphql_gist,
    "html": _html_gist,
    "mail": _mail_gist,
    "tsv": partial(_csv_gist, tabs=True),
    "xml": _xml_gist,
    "yaml": _yaml_gist,
}
