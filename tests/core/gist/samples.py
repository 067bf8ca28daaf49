"""Requests of many kinds with the gist each is to have."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
import zlib
from dataclasses import dataclass

import brotli
import msgspec

from app.core.record import Headers
from tests.codings import packed_zstd
from tests.core.bodies.wire import field, token, varint

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
ORDER = b'{"id":7,"total":"12.50","items":[{"id":1}]}'


@dataclass(frozen=True)
class Kind:
    """A request and its gist; `size` where more of the body was sent than is given."""

    gist: str
    body: bytes = b""
    type: str = JSON
    method: str = "POST"
    below: str = ""
    headers: Headers = ()
    size: int | None = None

    @property
    def target(self) -> str:
        return f"/catch/sample{self.below}"

    @property
    def all_headers(self) -> Headers:
        kind = (("Content-Type", self.type),) if self.type else ()
        return (("Host", "127.0.0.1:8787"), *kind, *self.headers)


def png(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))


def jpeg(width: int, height: int) -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", 200) + b"\xff" * 198
    return b"\xff\xd8" + exif + b"\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width) + b"\x03" + bytes(9)


def webp(kind: bytes, data: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 22 + len(data)) + b"WEBP" + kind + struct.pack("<I", len(data)) + data


def multipart(*parts: tuple[str, bytes], edge: bytes = b"XX--yy") -> bytes:
    complete = b"".join(b"--" + edge + b"\r\n" + head.encode() + b"\r\n\r\n" + data + b"\r\n" for head, data in parts)
    return complete + b"--" + edge + b"--\r\n"


def part(name: str, file: str = "") -> str:
    return f'Content-Disposition: form-data; name="{name}"' + (f'; filename="{file}"' if file else "")


def zipped(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, "x" * 40)
    return out.getvalue()


_FILES = multipart((part("a"), b"1"), (part("b"), b"2"), (part("c", "report.pdf"), b"--XX\r\n"), (part("d"), b""))
_FIELD = b'--XX\nContent-Disposition: form-data; name="%s"\n\n1\n'
_BARE_LINES = _FIELD % b"a" + _FIELD % b"b" + b"--XX--\n"
_RELATED = multipart(("Content-Type: text/plain", b"a"), ("Content-Type: text/html; charset=utf-8", b"b"))
_GRAPHQL = {"query": "mutation Pay($id: ID!) { pay(id: $id) { id } }", "variables": {"id": 1}}
_DOWNLOAD = f"Content-Disposition: form-data; name=f; filename*=UTF-8''{'%C3%A9'}.txt"
_SOAP = b"<s:Envelope><s:Header><x/></s:Header><s:Body><GetPrice><i/></GetPrice></s:Body></s:Envelope>"
_SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="24px" height="16"><path/></svg>'
_XML = b'<?xml version="1.0"?><!-- <a/> --><o:Order x="1"><Total/><Note>a</Note></o:Order>'
_MESSAGE = field(1, 0, varint(3)) + field(2, 2, b"x") * 2 + field(5, 5, bytes(4))
_CALL = b"\0\0\0\0\x02" + field(1, 0, varint(3))
_BIG = b'{"id":1,"rows":[' + b'{"a":1},' * 9_000

KINDS = (
    # JSON by its names, in the order sent
    Kind("JSON · id, total, items", ORDER),
    Kind("JSON · id, total, items", ORDER, type="application/vnd.api+json; charset=utf-8"),
    Kind("JSON · id, total, items", ORDER, type=""),
    Kind("JSON · id, total, items", ORDER, type=FORM),  # what curl -d calls it
    Kind("JSON · id, total, items", b"\xef\xbb\xbf" + ORDER),
    Kind("JSON · id, total, items", ORDER.decode().encode("utf-16")),
    Kind("JSON · id, total, items", b"\n  " + ORDER + b"\n"),
    Kind("order.paid · JSON · id, type, data", b'{"id":1,"type":"order.paid","data":{}}'),
    Kind("deploy · JSON · type, event", b'{"type":"a","event":"deploy"}'),
    Kind("JSON · id, type, data", b'{"id":1,"type":"two words","data":{}}'),
    Kind("JSON · id, type, data", b'{"id":1,"type":{"event":"x"},"data":{}}'),
    Kind("JSON · {}", b"{}"),
    Kind("JSON · []", b"[]"),
    Kind("JSON · 12 items", json.dumps(list(range(12))).encode()),
    Kind("JSON · 1 item", b"[[1,2]]"),
    Kind("JSON · b", b'{"":1," ":2,"b":3}'),
    Kind("JSON array · 2 × b", b'[{"":1,"b":2},{}]'),
    Kind("JSON · 2 items", b'[{"":1},{}]'),
    Kind("JSON array · 12 × id, name", json.dumps([{"id": n, "name": "x"} for n in range(12)]).encode()),
    Kind('JSON · "hello"', b'"hello"'),
    Kind("JSON · 42", b" 42\n"),
    Kind("JSON · null", b"null"),
    Kind("JSON · a, b, c, d, e, f, g, h, i, j, k, l, …", json.dumps(dict.fromkeys("abcdefghijklmnop")).encode()),
    Kind("invalid JSON · id, total, …", b'{"id":1,"total":2,}'),
    Kind("invalid JSON · id, …", b'{"id": 1, total: 2}'),
    Kind("JSON · id, rows, …", _BIG, size=300_000),
    Kind("JSON array · id, tags, …", b'[{"id":1,"tags":["x"]},' + b'{"id":2,"tags":[]},' * 500, size=300_000),
    Kind("text · {\\rtf1 hello}", b"{\\rtf1 hello}", type="text/plain"),
    Kind("text · [info] started", b"[info] started", type="text/plain"),
    Kind("text · hello", b"hello", type=JSON),
    # what says more than its names
    Kind("GraphQL · mutation Pay", json.dumps(_GRAPHQL).encode()),
    Kind("GraphQL · query Find", json.dumps({**_GRAPHQL, "query": "{ me }", "operationName": "Find"}).encode()),
    Kind("JSON · query, page", b'{"query":"shoes","page":1}'),
    Kind("GraphQL · query Me", b"query Me { me { id } }", type="application/graphql"),
    Kind("JSON-RPC · eth_subscribe", b'{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":[]}'),
    Kind("JSON-RPC · response", b'{"jsonrpc":"2.0","id":1,"result":7}'),
    Kind("CloudEvent · com.x.made", b'{"specversion":"1.0","id":"1","type":"com.x.made","source":"/x"}'),
    # forms and parts
    Kind("form · name, email", b"name=Zo%C3%AB&email=z%40x.org&name=again", type=FORM),
    Kind("form · größe, a b", b"gr%C3%B6%C3%9Fe=1&a+b=2", type=FORM),
    Kind("text · hello", b"hello", type=FORM),
    Kind("multipart · 4 parts · report.pdf", _FILES, type="multipart/form-data; boundary=XX--yy"),
    Kind("multipart · 4 parts · report.pdf", _FILES, type="multipart/form-data"),
    Kind("multipart · 4 parts · report.pdf", _FILES, type='multipart/form-data; boundary="other"'),
    Kind("multipart · 2 parts · to, from", multipart((part("to"), b"a"), (part("from"), b"b")), type="multipart/mixed"),
    Kind("multipart · 2 parts · text/plain, text/html", _RELATED, type="multipart/alternative; boundary=XX--yy"),
    Kind("multipart · 2 parts · a, b", _BARE_LINES, type="multipart/form-data; boundary=XX"),
    Kind("multipart · 1 part · é.txt", multipart((_DOWNLOAD, b"x")), type="multipart/form-data; boundary=XX--yy"),
    Kind("multipart · a, b, …", _FILES[:130], type="multipart/form-data; boundary=XX--yy", size=9_000),
    Kind("query · hub.mode, hub.challenge", type="", method="GET", below="?hub.mode=subscribe&hub.challenge=1"),
    Kind("query · id", type="", method="DELETE", below="/orders?id=7"),
    Kind("/orders/7", type="", method="GET", below="/orders/7"),
    Kind("no body", type="", method="GET"),
    Kind("no body", type="", method="HEAD", below="/"),
    Kind("no body"),
    Kind(
        "CORS preflight · POST",
        type="",
        method="OPTIONS",
        headers=(("Origin", "https://x"), ("access-control-request-method", "POST")),
    ),
    # markup, tables, text
    Kind(
        "XML · Order · Total, Note",
        b'<?xml version="1.0"?><!-- <a/> --><o:Order x=">"><Total/><Note>a</Note></o:Order>',
    ),
    Kind("XML · r · a, b, c, d, …", b"<r><a/><b><x/></b><c/><d/><e/></r>", type="text/xml"),
    Kind("XML · Größe", '<?xml version="1.0" encoding="iso-8859-1"?><Größe/>'.encode("latin-1"), type="text/xml"),
    Kind(
        "SOAP · GetPrice",
        b"<s:Envelope><s:Header><x/></s:Header><s:Body><GetPrice><i/></GetPrice></s:Body></s:Envelope>",
    ),
    Kind(
        "SVG 24×16",
        b'<svg xmlns="http://www.w3.org/2000/svg" width="24px" height="16"><path/></svg>',
        type="image/svg+xml",
    ),
    Kind("SVG 64×32", b'<svg viewBox="0 0 64 32"><path/></svg>', type="image/svg+xml"),
    Kind("SVG 1,200×80", b'<svg viewBox="0,0,1200.,80.25"><path/></svg>', type="image/svg+xml"),
    Kind("SVG", b'<svg viewBox="0 0 1.2.3 4.5.6"><path/></svg>', type="image/svg+xml"),
    Kind("HTML · Fish & chips", b"<!DOCTYPE html><html><title>Fish &amp;\n chips</title><p>x", type="text/html"),
    Kind("HTML · Hello you", b"<html><style>p {}</style><p>Hello <b>you</b>", type=""),
    Kind("CSV · id, full name, total", b'id,"full name",total\r\n1,a,2\r\n', type="text/csv"),
    Kind("CSV · id, total", b"id;total\n1;2,50\n", type="text/csv; charset=utf-8"),
    Kind("TSV · id, total", b"id\ttotal\n", type="text/tab-separated-values"),
    Kind("NDJSON · 3 lines · id, name", b'{"id":1,"name":"a"}\n{"id":2}\n\n{"id":3}\n', type="application/x-ndjson"),
    Kind("text · Größe: 5 µm", "Größe: 5 µm".encode("latin-1"), type="text/plain; charset=iso-8859-1"),
    Kind("text · two lines of text", b"  two lines\r\n of  text", type="text/plain"),
    Kind("text · hello", b"hello", type="application/octet-stream"),
    Kind("YAML · on, jobs", b"on: push\njobs:\n  a: 1\n", type="application/yaml"),
    Kind("YAML · on", b"on: push\n", type="application/vnd.yaml"),
    Kind("YAML · on", b"on: push\n", type="text/x-yaml"),
    Kind("TOML · [a] b = 1", b"[a]\nb = 1\n", type="application/toml"),
    Kind("SQL · SELECT 1", b"SELECT 1", type="text/x-sql"),
    Kind("JavaScript · f()", b"f()", type="application/x-javascript"),
    Kind("mail · Grüße", b"From: a@x.org\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\nHi", type="message/rfc822"),
    Kind("JWT · iss, sub", token({"iss": "a", "sub": "b"}).encode(), type="application/jwt"),
    Kind("JWT · iss, sub", token({"iss": "a", "sub": "b"}).encode(), type="text/plain"),
    # bytes
    Kind("PNG 640×400", png(640, 400), type="image/png"),
    Kind("PNG 640×400", png(640, 400), type="application/octet-stream"),
    Kind("JPEG 300×200", jpeg(300, 200), type="image/jpeg"),
    Kind("JPEG", jpeg(300, 200)[:60], type="image/jpeg", size=9_000),
    Kind("GIF 10×20", b"GIF89a" + struct.pack("<HH", 10, 20) + bytes(9), type="image/gif"),
    Kind("WebP 640×400", webp(b"VP8X", bytes(4) + (639).to_bytes(3, "little") + (399).to_bytes(3, "little"))),
    Kind("WebP 640×400", webp(b"VP8L", b"\x2f" + (639 | 399 << 14).to_bytes(4, "little"))),
    Kind("WebP 640×400", webp(b"VP8 ", bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", 640, 400))),
    Kind("MP4 video · 1.2 KiB", b"\0\0\0\x18ftyp" + b"\xff\0" * 596, type="video/mp4"),
    Kind("PDF 1.7 · 4.1 KiB", b"%PDF-1.7\n%\xe2\xe3", type="application/pdf", size=4_200),
    Kind("ZIP · a.csv, b.csv, …", zipped("a.csv", "b.csv"), type="application/zip"),
    Kind("ZIP · b.csv, …", zipped(" ", "b.csv"), type="application/zip"),
    Kind("ZIP", b"PK\x03\x04" + bytes(26) + b"data", type="application/zip"),
    Kind("gzip · JSON · id, total, items", gzip.compress(ORDER), type="application/gzip"),
    Kind("MessagePack · id, type", msgspec.msgpack.encode({"id": 1, "type": "x"}), type="application/msgpack"),
    Kind("MessagePack · id, type", msgspec.msgpack.encode({"id": 1, "type": "x" * 200}), type=""),
    Kind("MessagePack · 2 items", msgspec.msgpack.encode([1, 2]), type="application/x-msgpack"),
    Kind(
        "Protobuf · fields 1, 2, 5",
        field(1, 0, varint(3)) + field(2, 2, b"x") * 2 + field(5, 5, bytes(4)),
        type="application/protobuf",
    ),
    Kind(
        "gRPC · fields 1",
        b"\0\0\0\0\x02" + field(1, 0, varint(3)),
        type="application/grpc+proto",
        below="/shop.Orders/Get",
    ),
    Kind("binary · 4.1 KiB", b"\x9f\x02\xff\0" * 1_050, type="application/octet-stream"),
    Kind("binary · 4.1 KiB", b"\x9f\x02\xff\0" * 1_050, type=""),
    # content codings come off first
    Kind("JSON · id, total, items", gzip.compress(ORDER), headers=(("Content-Encoding", "gzip"),)),
    Kind("JSON · id, total, items", brotli.compress(ORDER), headers=(("content-encoding", "br"),)),
    Kind("JSON · id, total, items", packed_zstd(gzip.compress(ORDER)), headers=(("Content-Encoding", "gzip, zstd"),)),
    Kind("snappy · 4.1 KiB", b"\x9f" * 4_200, headers=(("Content-Encoding", "snappy"),)),
    Kind("gzip · 11 B", b"not gzipped", headers=(("Content-Encoding", "gzip"),)),
)
