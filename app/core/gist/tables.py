"""Tables and streams by their first line: CSV by its columns, NDJSON by the names of its first object."""

from __future__ import annotations

import csv

from app.core.gist.json_gist import keys_of
from app.core.gist.words import joined, names
from app.core.text import count_of

LINE_MAX = 8 * 1024


def csv_gist(text: str, *, tabs: bool) -> str:
    """Takes the values of the first line for the names of columns."""
    line = text[:LINE_MAX].lstrip("\r\n").partition("\n")[0].rstrip("\r")
    separator = "\t" if tabs else max(",;\t", key=line.count)
    try:
        columns = next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        columns = line.split(separator)
    return joined("TSV" if tabs else "CSV", names([column.strip() for column in columns if column.strip()]))


def ndjson_gist(data: bytes, *, whole: bool) -> str:
    """JSON values, one per line or each after a record separator (RFC 7464)."""
    start = data.lstrip(b" \t\r\n\x1e")
    keys = names(keys_of(start.partition(b"\n")[0]))
    if not whole:
        return joined("NDJSON", keys)
    count = sum(1 for line in data.replace(b"\x1e", b"\n").split(b"\n") if line.strip())
    return joined(f"NDJSON · {count_of(count, 'line')}", keys)
