"""Other text: first words, the claims of a token, the subject of a mail, the top-level names of YAML, CSV columns."""

from __future__ import annotations

import csv
import re
from email.header import decode_header, make_header

from app.core.bodies.formats import jwt
from app.core.gist.words import first_words, joined, names

SCAN = 16 * 1024
LINE_MAX = 8 * 1024
_YAML = re.compile(r"^([A-Za-z_][\w.-]{0,60}):(?=\s|$)", re.MULTILINE)
_SUBJECT = re.compile(r"^Subject:[ \t]*([^\r\n]{1,400})", re.MULTILINE | re.IGNORECASE)
_OPERATION = re.compile(r"\s*(query|mutation|subscription)\b\s*(\w{0,60})")


def text_gist(text: str, label: str = "text") -> str:
    """The first words."""
    return joined(label, first_words(text[:SCAN]))


def token_gist(text: str) -> str | None:
    """For a body that is only a JSON Web Token."""
    if not text.startswith(("ey", "ew")) or len(text) > jwt.TOKEN_MAX:
        return None
    token = jwt.parsed(text.strip())
    if token is None:
        return None
    return f"JWT · encrypted, {token.algorithm[:40]}" if token.encrypted else joined("JWT", names(token.claims))


def mail_gist(text: str) -> str:
    """The subject."""
    found = _SUBJECT.search(text[:SCAN])
    if found is None:
        return text_gist(text, "mail")
    try:
        subject = str(make_header(decode_header(found[1])))
    except (ValueError, LookupError):
        subject = found[1]
    return joined("mail", first_words(subject))


def yaml_gist(text: str) -> str:
    """The top-level names."""
    found = list(dict.fromkeys(_YAML.findall(text[:SCAN])))
    return joined("YAML", names(found)) if found else text_gist(text, "YAML")


def graphql_gist(text: str) -> str:
    """The kind and name of the first operation."""
    operation = _OPERATION.match(text[:SCAN])
    return f"GraphQL · {operation[1]} {operation[2]}".rstrip() if operation else text_gist(text, "GraphQL")


def csv_gist(text: str, *, tabs: bool) -> str:
    """Takes the values of the first line for the names of columns."""
    line = text[:LINE_MAX].lstrip("\r\n").partition("\n")[0].rstrip("\r")
    separator = "\t" if tabs else max(",;\t", key=line.count)
    try:
        columns = next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        columns = line.split(separator)
    return joined("TSV" if tabs else "CSV", names([column.strip() for column in columns if column.strip()]))
