"""A body of each kind that Hookline shows, invented, as one sender or another would send it."""

from __future__ import annotations

import base64
import gzip
import json
import sys
import zlib

import brotli
import msgspec
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPointF
from PySide6.QtGui import QBrush, QColor, QImage, QLinearGradient, QPainter

from docs.picture_data import JSON, Request

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIB = 1024 * 1024
BOUNDARY = "----WebKitFormBoundaryQ7f3kz"

SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="24" height="24">
  <title>Delivered</title>
  <circle cx="12" cy="12" r="10" fill="none" stroke="#4f46e5" stroke-width="2"/>
  <path d="M7 12.5l3.5 3.5L17 9" fill="none" stroke="#4f46e5" stroke-width="2"/>
</svg>
"""
XML = """<?xml version="1.0" encoding="UTF-8"?>
<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Header/><soap:Body>
<!-- sent by the warehouse --><order id="7" currency="EUR"><item sku="mug-blue" quantity="2">Café mug</item>
<item sku="tea&amp;milk" quantity="1"/><total>12.50</total><note><![CDATA[Leave at <reception>]]></note></order>
</soap:Body></soap:Envelope>"""
HTML = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Order 7 has shipped</title>
<style>body { font-family: sans-serif }</style></head><body><h1>On its way</h1>
<p>Your order <b>#7</b> left our warehouse.<br><a href="https://shop.example.com/track?id=7&amp;lang=en">Track it</a>
<img src="https://shop.example.com/pixel.gif" alt=""></p><script>track("opened", {order: 7});</script></body></html>"""
SCRIPT = """// Called for each order.
import { retry } from "./retry.js";

const LIMIT = 5;

export async function deliver(order, { attempts = LIMIT } = {}) {
  const url = `https://api.example.com/orders/${order.id}`;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const answer = await fetch(url, { method: "POST", body: JSON.stringify(order) });
    if (answer.ok) return answer.json();
    await retry(attempt * 250); // milliseconds
  }
  throw new Error("not delivered");
}
"""
YAML = """# Rolled out by the build of 4f1c2d
service: billing
replicas: 3
image: "registry.example.com/billing:4f1c2d"
env:
  - name: LOG_LEVEL
    value: info
  - name: RETRIES
    value: 5
healthy: true
notes: |
  Watch the queue for an hour.
  Roll back if it grows.
"""
SQL = """-- The failed payments of a day
SELECT c.email, count(*) AS failed, max(p.created_at) AS last_try
FROM payments p
JOIN customers c ON c.id = p.customer_id
WHERE p.state = 'failed' AND p.created_at >= now() - interval '1 day'
GROUP BY c.email
HAVING count(*) > 2
ORDER BY failed DESC
LIMIT 50;
"""
GRAPHQL = """query Orders($first: Int = 10, $state: OrderState!) {
  orders(first: $first, state: $state) {
    nodes { id total { amount currency } customer { ...Who } }
    pageInfo { hasNextPage endCursor }
  }
}

fragment Who on Customer { name email @include(if: true) }
"""
CSV = """order,customer,currency,total,shipped
1001,"Lovelace, Ada",EUR,409.94,2026-11-20
1002,Grace Hopper,USD,12.50,
1003,"The ""Mug"" Shop",EUR,0.99,2026-11-21
1004,Linus Example,GBP,87.00,2026-11-21
"""


def bodies() -> list[tuple[str, str, Request]]:
    """Each with the name of its picture and the view it is shown in; no view is the one that Hookline takes."""
    return [*_structured(), *_binary(), *_pictures(), *_code(), *_packed(), *_hostile()]


def _of(path: str, kind: str, body: bytes | str, *headers: tuple[str, str]) -> Request:
    data = body.encode() if isinstance(body, str) else body
    typed = (("Content-Type", kind),) if kind else ()
    return Request("POST", path, (*typed, ("User-Agent", "partner-sync/2.4"), *headers), data)


def _structured() -> list[tuple[str, str, Request]]:
    tree = """{"id": 9007199254740993127, "ratio": 0.1000000000000000055511151231257827, "mass": 6.02214076e+23,
"status": "draft", "status": "paid", "customer": {"name": "Ada Lovelace", "tags": ["vip", "beta"], "address":
{"city": "London", "zip": "W1"}}, "lines": [{"sku": "mug-blue", "quantity": 2}, {"sku": "tea", "quantity": 1}],
"history": [{"at": "2026-11-20", "by": "ada"}, {"at": "2026-11-21", "by": "grace"}], "deleted": null, "live": false}"""
    broken = """{
  "id": 7,
  "customer": {"name": "Ada", "email": "ada@example.com"},
  "lines": [
    {"sku": "mug-blue", "quantity": 2},
    {"sku": "tea" "quantity": 1}
  ]
}
"""
    form = "token=abc&team_id=T1DC2JH3J&command=%2Fdeploy&text=shop+to+production&user_name=grace&tag=a&tag=b&empty="
    events = "".join(
        json.dumps({"level": level, "at": f"2026-11-21T09:00:0{n}Z", "message": text}) + "\n"
        for n, (level, text) in enumerate(
            (
                ("info", "deploy began"),
                ("warn", "slow answer of billing"),
                ("error", "billing gave up"),
                ("info", "done"),
            )
        )
    )
    return [
        ("json-tree", "tree", _of("/orders/7", "application/vnd.shop.order+json", tree)),
        ("json-broken", "", _of("/orders/8", "application/problem+json", broken)),
        ("xml", "", _of("/soap", "text/xml; charset=utf-8", XML)),
        ("html", "", _of("/mail/shipped", "text/html; charset=utf-8", HTML)),
        ("form", "", _of("/slash", "application/x-www-form-urlencoded", form)),
        ("multipart", "", _of("/upload", f"multipart/form-data; boundary={BOUNDARY}", _multipart())),
        ("ndjson", "", _of("/events", "application/x-ndjson", events + '{"level": "info", "cut')),
    ]


def _binary() -> list[tuple[str, str, Request]]:
    packed = {
        "id": 42,
        "name": "Café mug",
        "price": 12.5,
        "tags": ["blue", "new"],
        "raw": b"\x00\x01\xfe",
        "next": None,
    }
    order = (
        _field(1, b"order-7") + b"\x10\x96\x01" + _field(3, _field(1, b"mug-blue") + b"\x10\x02") + b"\x25\0\0\x48\x41"
    )
    squeezed = gzip.compress(order * 3, mtime=0)
    grpc = b"\x01" + len(squeezed).to_bytes(4, "big") + squeezed + b"\x00" + len(order).to_bytes(4, "big") + order
    return [
        ("msgpack", "", _of("/metrics", "application/msgpack", msgspec.msgpack.encode(packed))),
        ("protobuf", "", _of("/proto", "application/x-protobuf", order)),
        (
            "grpc",
            "",
            _of("/shop.Orders/Create", "application/grpc", grpc, ("grpc-encoding", "gzip"), ("TE", "trailers")),
        ),
        ("hex", "hex", _of("/firmware", "application/octet-stream", bytes(range(256)) * 12 + b"Hookline")),
    ]


def _pictures() -> list[tuple[str, str, Request]]:
    jpeg = _drawn("JPEG", 1200, 800)
    return [
        ("png", "", _of("/avatars/7.png", "image/png", _drawn("PNG", 240, 240, see_through=True))),
        ("jpeg", "", _of("/photos/7.jpg", "image/jpeg", jpeg)),
        ("webp", "", _of("/photos/7.webp", "image/webp", _drawn("WEBP", 640, 400))),
        ("gif", "", _of("/spinners/7.gif", "image/gif", _gif())),
        ("svg", "", _of("/icons/7.svg", "image/svg+xml", SVG)),
        ("jpeg-cut", "", _of("/photos/8.jpg", "image/jpeg", jpeg[: len(jpeg) * 3 // 5])),
    ]


def _code() -> list[tuple[str, str, Request]]:
    letter = "Größe: 42 €\nStraße: Königsallee 7, Düsseldorf\nAn: Jürgen Müller\nViele Grüße aus dem Büro\n"
    return [
        ("javascript", "", _of("/deliver.js", "text/javascript", SCRIPT)),
        ("yaml", "", _of("/deploy.yaml", "application/yaml", YAML)),
        ("sql", "", _of("/report.sql", "application/sql", SQL)),
        ("graphql", "", _of("/graphql", "application/graphql", GRAPHQL)),
        ("csv", "", _of("/orders.csv", "text/csv", CSV)),
        ("charset", "", _of("/letter", "text/plain; charset=windows-1252", letter.encode("cp1252"))),
        ("tokens", "", _of("/login", "application/jwt", _token(), ("Authorization", f"Bearer {_token('grace')}"))),
    ]


def _packed() -> list[tuple[str, str, Request]]:
    log = json.dumps({"log": [{"n": n, "message": "deploy finished"} for n in range(200)]}).encode()
    engine = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join([*(engine.compress(b"all work and no play " * 50_000) for _ in range(512)), engine.flush()])
    return [
        ("gzip", "", _of("/logs/gz", "application/json", gzip.compress(log, mtime=0), ("Content-Encoding", "gzip"))),
        ("brotli", "", _of("/logs/br", "application/json", brotli.compress(log), ("Content-Encoding", "br"))),
        ("zstd", "", _of("/logs/zst", "application/json", zstd.compress(log), ("Content-Encoding", "zstd"))),
        ("gzip-bomb", "", _of("/logs/huge", "text/plain", bomb, ("Content-Encoding", "gzip"))),
    ]


def _hostile() -> list[tuple[str, str, Request]]:
    hostile = {
        "html": "<img src=x onerror=alert(1)><b>not bold</b>",
        "ansi": "\x1b[2J\x1b[31mred?",
        "bidi": "user\u202e\u2066// admin\u2069 \u2066",
        "zero width": "pay\u200bpal",
        "emoji": "👩\u200d🚀 שלום مرحبا 你好",
    }
    text = json.dumps(hostile, ensure_ascii=False, indent=1)
    return [
        ("deep", "", _of("/deep", "application/vnd.deep+json", b"[" * 100_000 + b"]" * 100_000)),
        ("hostile", "", Request("POST", "/comments", (JSON, ("User-Agent", "<b>bold</b>")), text.encode())),
    ]


def _field(number: int, value: bytes) -> bytes:
    """A length-delimited field of protobuf."""
    return bytes([number << 3 | 2, len(value)]) + value


def _token(who: str = "ada") -> str:
    head = {"alg": "HS256", "typ": "JWT", "kid": "2026-11"}
    claims = {"iss": "https://login.example.com", "sub": who, "aud": "shop", "iat": 1_795_000_000, "exp": 1_795_003_600}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (head, claims)]
    return ".".join([*parts, "TJVA95OrM7E2cBab30RMHrHDcEfxjoYZgeFONFh7HgQ"])


def _multipart() -> bytes:
    def part(name: str, data: bytes, file: str = "", kind: str = "") -> bytes:
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"'
        head += f'; filename="{file}"' if file else ""
        head += f"\r\nContent-Type: {kind}" if kind else ""
        return f"{head}\r\n\r\n".encode() + data + b"\r\n"

    return b"".join(
        [
            part("title", "Zwölf Tassen".encode()),
            part("photo", _drawn("PNG", 320, 200), "mug, blue.png", "image/png"),
            part("order", b'{"sku": "mug-blue", "quantity": 12}', "order.json", "application/json"),
            part("notes", b"Call before noon.", "notes.txt", "text/plain"),
            f"--{BOUNDARY}--\r\n".encode(),
        ]
    )


def _drawn(kind: str, width: int, height: int, *, see_through: bool = False) -> bytes:
    """A round sun over hills; where nothing is drawn the picture may be seen through."""
    form = QImage.Format.Format_ARGB32 if see_through else QImage.Format.Format_RGB32
    image = QImage(width, height, form)
    image.fill(QColor(0, 0, 0, 0))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(0, 0, 0, 0))
    if not see_through:
        sky = QLinearGradient(0, 0, 0, height)
        sky.setColorAt(0, QColor("#312e81"))
        sky.setColorAt(1, QColor("#fb923c"))
        painter.fillRect(image.rect(), QBrush(sky))
    painter.setBrush(QColor("#fde68a"))
    painter.drawEllipse(QPointF(width / 2, height / 2), height / 4, height / 4)
    painter.setBrush(QColor("#4338ca"))
    painter.drawEllipse(QPointF(width / 3, height * 1.1), width / 2, height / 3)
    painter.setBrush(QColor("#1e1b4b"))
    painter.drawEllipse(QPointF(width * 0.8, height * 1.15), width / 2.2, height / 3)
    painter.end()
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, kind):  # type: ignore[call-overload]  # PySide6 refuses the bytes that its stubs ask for
        raise OSError(f"This Qt writes no {kind}.")
    return bytes(data.data())


def _gif(side: int = 96) -> bytes:
    """Rings of 128 colours, written without packing: codes of eight bits, begun anew before they would grow."""
    middle = side / 2
    pixels = [int(((x - middle) ** 2 + (y - middle) ** 2) ** 0.5 * 4) % 128 for y in range(side) for x in range(side)]
    codes = bytearray()
    for at in range(0, len(pixels), 120):
        codes += bytes([128, *pixels[at : at + 120]])
    codes.append(129)
    blocks = b"".join(bytes([len(codes[at : at + 255])]) + codes[at : at + 255] for at in range(0, len(codes), 255))
    size = side.to_bytes(2, "little") * 2
    palette = bytes(v for n in range(128) for v in (79 + n, 70 + n // 2, 229 - n))
    return b"GIF89a" + size + b"\xf6\0\0" + palette + b",\0\0\0\0" + size + b"\0" + b"\x07" + blocks + b"\0;"
