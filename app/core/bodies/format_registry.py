"""Lists all views and ranks them for a body. A new format is one more file and one more row here."""

from __future__ import annotations

from app.core.bodies.formats import (
    code,
    csv,
    form,
    hex_dump,
    html,
    html_sanitizer,
    image,
    json,
    json_tree,
    jwt,
    msgpack,
    multipart,
    protobuf,
    svg_sanitizer,
    text,
    xml,
)
from app.core.bodies.formats.languages import LANGUAGES, Language
from app.core.bodies.formatter import Formatter, Group, View
from app.core.bodies.media_types import media_type

HEAD = 4_096
"""Decompressed bytes that the views are ranked by."""


def _json(content_type: str) -> Formatter:
    return json.JsonFormatter()


def _ndjson(content_type: str) -> Formatter:
    return json.NdjsonFormatter()


def _xml(content_type: str) -> Formatter:
    return xml.formatter()


def _html(content_type: str) -> Formatter:
    return html.formatter()


def _form(content_type: str) -> Formatter:
    return form.FormFormatter(content_type)


def _multipart(content_type: str) -> Formatter:
    return multipart.MultipartFormatter(content_type, _ranked_for_part)


def _text(content_type: str) -> Formatter:
    return text.TextFormatter()


def _jwt(content_type: str) -> Formatter:
    return jwt.JwtFormatter()


def _msgpack(content_type: str) -> Formatter:
    return msgpack.formatter(media_type(content_type))


def _msgpack_fit(kind: str, head: bytes) -> float:
    return msgpack.fit(kind, head, HEAD)


def _protobuf(content_type: str) -> Formatter:
    return protobuf.formatter(media_type(content_type))


def _protobuf_fit(kind: str, head: bytes) -> float:
    return protobuf.fit(kind, head, HEAD)


def _code(language: Language) -> View:
    def formatter(content_type: str) -> Formatter:
        return code.CodeFormatter(language)

    return View(language.name, language.title, "pretty", language.fit, formatter)


NDJSON = View("ndjson", "NDJSON", "pretty", json.ndjson_fit, _ndjson)
JSON = View("json", "JSON", "pretty", json.fit, _json)
TREE = View("tree", "JSON tree", "tree", json_tree.fit, None)
JWT = View("jwt", "JWT", "pretty", jwt.fit, _jwt)
MSGPACK = View("msgpack", "MessagePack", "pretty", _msgpack_fit, _msgpack, reads_bytes=True)
PROTOBUF = View("protobuf", "Protobuf", "pretty", _protobuf_fit, _protobuf, reads_bytes=True)
XML = View("xml", "XML", "pretty", xml.fit, _xml)
HTML = View("html", "HTML", "pretty", html.fit, _html)
FORM_TABLE = View("form-table", "Form", "table", form.fit, None)
CSV_TABLE = View("csv-table", "CSV", "table", csv.fit, None)
FORM = View("form", "Form", "pretty", form.fit, _form)
MULTIPART = View("multipart", "Multipart", "pretty", multipart.fit, _multipart, reads_bytes=True)
TEXT = View("text", "Text", "text", text.fit, _text)
HEX = View("hex", "Hex", "hex", hex_dump.fit, None)
IMAGE = View("image", "Image", "preview", image.fit, None)
PAGE = View("page", "HTML", "preview", html_sanitizer.fit, None)
DRAWING = View("drawing", "SVG", "preview", svg_sanitizer.fit, None)

VIEWS = (
    *(
        NDJSON,
        JSON,
        TREE,
        XML,
        HTML,
        FORM_TABLE,
        FORM,
        CSV_TABLE,
        MULTIPART,
        JWT,
        MSGPACK,
        PROTOBUF,
        IMAGE,
        DRAWING,
        PAGE,
    ),
    *map(_code, LANGUAGES),
    *(TEXT, HEX),
)


def ranked(kind: str, head: bytes) -> list[View]:
    """The views that can show the body, best first; text and hex always can."""
    scores = {view.name: view.fit(kind, head[:HEAD]) for view in VIEWS}
    return sorted((view for view in VIEWS if scores[view.name] > 0), key=lambda view: -scores[view.name])


def _ranked_for_part(kind: str, head: bytes) -> list[View]:
    """For a part shown within another body, which has no tables."""
    return [view for view in ranked(kind, head) if view.group != "table"]


def best_in(group: Group, views: list[View]) -> View | None:
    """The best of `views`, which are ranked, in the group."""
    return next((view for view in views if view.group == group), None)
