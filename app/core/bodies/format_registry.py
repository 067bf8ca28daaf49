"""Lists all views and ranks them for a body. A view without `write` also needs its widget in
`app/ui/inspector/body/body_pane.py`.
"""

from __future__ import annotations

from app.core.bodies.formats import (
    binary,
    code,
    csv,
    form,
    html_sanitizer,
    image,
    json,
    jwt,
    markup,
    msgpack,
    multipart,
    protobuf,
    svg_sanitizer,
    text,
    trees,
)
from app.core.bodies.formats.code import LANGUAGES
from app.core.bodies.formatter import HEAD, Group, Line, View


def _ranked_for_part(kind: str, head: bytes) -> list[View]:
    """For a part shown within another body, which has no tables and no cards."""
    return [view for view in ranked(kind, head) if view.group not in ("table", "parts")]


def part_lines(part: multipart.Part, data: bytes, size: int, *, complete: bool) -> list[Line]:
    """The beginning `data` of a part's content of this size."""
    return multipart.content_lines(part, data, size, _ranked_for_part, complete=complete)


TEXT = View("text", "Text", "text", text.fit, text.write)
HEX = View("hex", "Hex", "hex", binary.fit, None)
VIEWS = (
    View("ndjson", "NDJSON", "pretty", json.ndjson_fit, json.write_many),
    View("json", "JSON", "pretty", json.fit, json.write),
    View("tree", "JSON tree", "tree", trees.fit, None),
    View("xml", "XML", "pretty", markup.xml_fit, markup.xml_write),
    View("html", "HTML", "pretty", markup.html_fit, markup.html_write),
    View("form-table", "Form", "table", form.fit, None),
    View("form", "Form", "pretty", form.fit, form.write),
    View("csv-table", "CSV", "table", csv.fit, None),
    View("parts", "Multipart", "parts", multipart.cards_fit, None),
    View("multipart", "Multipart", "pretty", multipart.fit, multipart.writer(_ranked_for_part), reads_bytes=True),
    View("jwt", "JWT", "pretty", jwt.fit, jwt.write),
    View("msgpack", "MessagePack", "pretty", msgpack.fit, msgpack.write, reads_bytes=True),
    View("protobuf", "Protobuf", "pretty", protobuf.fit, protobuf.write, reads_bytes=True),
    View("image", "Image", "preview", image.fit, None),
    View("drawing", "SVG", "preview", svg_sanitizer.fit, None),
    View("page", "HTML", "preview", html_sanitizer.fit, None),
    *(View(each.name, each.title, "pretty", each.fit, code.writer(each)) for each in LANGUAGES),
    TEXT,
    HEX,
)


def ranked(kind: str, head: bytes) -> list[View]:
    """The views that can show the body, best first; text and hex always can."""
    scores = {view.name: view.fit(kind, head[:HEAD]) for view in VIEWS}
    return sorted((view for view in VIEWS if scores[view.name] > 0), key=lambda view: -scores[view.name])


def raw_views(head: bytes) -> list[View]:
    """For a whole request that begins with `head`."""
    return [View("raw", "Text", "text", text.fit, text.raw_writer(head)), HEX]


def best_in(group: Group, views: list[View]) -> View | None:
    """The best of `views`, which are ranked, in the group."""
    return next((view for view in views if view.group == group), None)
