"""XML, well-formed or not: entities stay as written and nothing is fetched."""

from __future__ import annotations

import re

from app.core.bodies.formats import html
from app.core.bodies.formats.markup import Dialect, writer
from app.core.bodies.media_types import is_xml

_XML = Dialect(strict=True, folds_case=False, instruction_end="?>")
_ELEMENT = re.compile(rb"<[A-Za-z_][\w:.-]*(?:\s[^<>]*)?/?>")

write = writer(_XML)


def fit(media_type: str, head: bytes) -> float:
    """Certain if type and first character agree; likely if any text begins with a tag."""
    # Removing zeros makes UTF-16 readable here; the charset is detected elsewhere.
    start = head.replace(b"\0", b"").lstrip(b" \t\r\n\xef\xbb\xbf\xff\xfe")
    if is_xml(media_type):
        return 1.0 if start.startswith(b"<") else 0.45
    if html.is_html(start):
        return 0.0
    if start.startswith(b"<?xml"):
        return 0.95
    closed = b"</" in start or b"/>" in start
    return 0.8 if _ELEMENT.match(start) and closed else 0.0
