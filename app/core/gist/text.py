"""Text bodies: XML by its elements, HTML by its title, mail by its subject, tokens by claims, YAML and CSV by names."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Iterator
from email.header import decode_header, make_header
from itertools import islice

from app.core.bodies.formats import jwt
from app.core.gist.words import NAMES_MAX, first_words, names, with_detail
from app.core.text import dimensions_text

TEXT_SCAN = 16 * 1024
LINE_MAX = 8 * 1024
_YAML = re.compile(r"^([A-Za-z_][\w.-]{0,60}):(?=\s|$)", re.MULTILINE)
_SUBJECT = re.compile(r"^Subject:[ \t]*([^\r\n]{1,400})", re.MULTILINE | re.IGNORECASE)
_OPERATION = re.compile(r"\s*(query|mutation|subscription)\b\s*(\w{0,60})")


def text_gist(text: str, label: str = "text") -> str:
    """The first words."""
    return with_detail(label, first_words(text[:TEXT_SCAN]))


def token_gist(text: str) -> str | None:
    """For a body that is only a JSON Web Token."""
    if not text.startswith(("ey", "ew")) or len(text) > jwt.TOKEN_MAX:
        return None
    token = jwt.parse_token(text.strip())
    if token is None:
        return None
    return f"JWT · encrypted, {token.algorithm[:40]}" if token.encrypted else with_detail("JWT", names(token.claims))


def mail_gist(text: str) -> str:
    """The subject."""
    found = _SUBJECT.search(text[:TEXT_SCAN])
    if found is None:
        return text_gist(text, "mail")
    try:
        subject = str(make_header(decode_header(found[1])))
    except (ValueError, LookupError):
        subject = found[1]
    return with_detail("mail", first_words(subject))


def yaml_gist(text: str) -> str:
    """The top-level names."""
    found = list(dict.fromkeys(_YAML.findall(text[:TEXT_SCAN])))
    return with_detail("YAML", names(found)) if found else text_gist(text, "YAML")


def graphql_gist(text: str) -> str:
    """The kind and name of the first operation."""
    operation = _OPERATION.match(text[:TEXT_SCAN])
    return f"GraphQL · {operation[1]} {operation[2]}".rstrip() if operation else text_gist(text, "GraphQL")


def csv_gist(text: str, *, tabs: bool = False) -> str:
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


def html_gist(text: str) -> str:
    """The title of the page, or else its first words."""
    text = text[:MARKUP_SCAN]
    title = _TITLE.search(text)
    if title is None:
        visible = _TAG.sub(" ", _HIDDEN_TEXT.sub(" ", text[:4_096]))
        return with_detail("HTML", first_words(html.unescape(visible)))
    return with_detail("HTML", first_words(html.unescape(title[1])))


def xml_gist(text: str) -> str | None:
    """The XML need not be well-formed; None if it does not begin with an element."""
    elements = _elements(text[:MARKUP_SCAN])
    root = next(elements, None)
    if root is None or root[0] == "close":
        return None
    name = _local_name(root[1])
    if name == "svg":
        return f"SVG {drawing_size(root[2])}".rstrip()
    if name == "Envelope":
        return with_detail("SOAP", names(_children(elements, parent="Body")))
    return with_detail("XML", with_detail(name, names(_children(elements)) if root[0] == "open" else ""))


def drawing_size(attributes: str) -> str:
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
