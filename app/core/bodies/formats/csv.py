"""Comma-separated values: delimiter, rows and cells, as they were sent."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from codecs import IncrementalDecoder
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from app.core.bodies import media_types
from app.core.bodies.charset import detect
from app.core.bodies.formats.text import fit as text_fit

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
ROW_MAX = 1024 * 1024
"""Maximum characters of a row. Longer rows are cut; a quote that is not closed within this length is plain text."""
COLUMNS_MAX = 500
"""Maximum columns; the last one contains the rest of a longer row, as written."""
_SAMPLE_ROWS = 50
_NUMBER = re.compile(r"[-+]?[\d.,:/ TZ%$€-]*\d[\d.,:/ TZ%$€-]*")
_LINE_ENDS = re.compile(r"(?!)()|\r\n?|\n")
_QUOTED = re.compile(r'"([^"]*+(?:""[^"]*+)*+)"')


class Block(NamedTuple):
    """Complete rows: their text, the start of each and the end of the last one, and the highest number of cells."""

    text: str
    starts: array[int]
    columns: int


class RowSplitter:
    """Finds row ends in text that arrives in pieces. A line end within quotes does not end a row."""

    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter
        self._rest = ""
        escaped = re.escape(delimiter)
        self._ends = re.compile(rf'(?:(?<=[{escaped}\r\n])|\A)"[^"]*+(?:""[^"]*+)*+(?:"|(\Z))|\r\n?|\n')

    def feed(self, text: str, final: bool) -> Block | None:
        """The rows that end in this piece; `final` marks the last piece."""
        text = self._rest + text
        ends = self._ends if '"' in text else _LINE_ENDS
        starts = array("I", [0])
        at, length = 0, len(text)
        while match := ends.search(text, at):
            if match[1] is not None and (final or length - starts[-1] > ROW_MAX):
                at = match.start() + 1  # never closed: plain text
            elif match[1] is not None or (match.group() == "\r" and match.end() == length and not final):
                break  # the end of the quotes, or a line feed, may follow
            else:
                at = match.end()
                if match.group()[0] != '"':
                    starts.append(at)
        while length - starts[-1] > ROW_MAX and not final:
            starts.append(starts[-1] + ROW_MAX)
        if final and starts[-1] < length:
            starts.append(length)
        self._rest = text[starts[-1] :]
        if len(starts) == 1:
            return None
        return Block(text[: starts[-1]], starts, self._columns(text, starts))

    def _columns(self, text: str, starts: array[int]) -> int:
        """The highest number of cells in a row. Rows are split only if there are quotes and enough delimiters to
        matter."""
        columns, quotes = 1, '"' in text
        for start, end in pairwise(starts):
            fields = text.count(self.delimiter, start, end) + 1
            if fields > columns:
                columns = max(columns, len(cells(text[start:end], self.delimiter)) if quotes else fields)
        return columns


class Rows:
    """Rows by number."""

    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter
        self.columns = 0
        self.characters = 0
        self._blocks: list[Block] = []
        self._firsts: list[int] = []
        self._count = 0

    def __len__(self) -> int:
        """Rows so far."""
        return self._count

    def add(self, block: Block) -> None:
        """Append a block."""
        self._blocks.append(block)
        self._firsts.append(self._count)
        self._count += len(block.starts) - 1
        self.characters += len(block.text)
        self.columns = min(max(self.columns, block.columns), COLUMNS_MAX)

    def row_text(self, number: int) -> str:
        """A row as it was written, without its line end."""
        at = bisect_right(self._firsts, number) - 1
        block, row = self._blocks[at], number - self._firsts[at]
        return block.text[block.starts[row] : block.starts[row + 1]].rstrip("\r\n")

    def cells(self, number: int) -> list[str]:
        """May be fewer than `columns`; the last one contains the rest of a longer row."""
        return cells(self.row_text(number), self.delimiter, self.columns)


def cells(row_text: str, delimiter: str, columns_max: int = 0) -> list[str]:
    """The cells of a row, unquoted; the last of `columns_max` (0: unlimited) contains the rest, as written."""
    row_text = row_text.rstrip("\r\n")
    if '"' not in row_text:
        return row_text.split(delimiter, columns_max - 1 if columns_max else -1)
    found: list[str] = []
    at = 0
    while True:
        quoted = _QUOTED.match(row_text, at)
        start = quoted.end() if quoted else at
        if columns_max and len(found) == columns_max - 1 and start < len(row_text) and delimiter in row_text[at:]:
            return [*found, row_text[at:]]
        end = row_text.find(delimiter, start)
        rest = row_text[start : end if end >= 0 else len(row_text)]
        found.append((quoted[1].replace('""', '"') if quoted else "") + rest)
        if end < 0:
            return found
        at = end + 1


def delimiter_of(sample: str, content_type: str, *, complete: bool = True) -> str:
    """The delimiter that gives the most rows the same number of cells."""
    if media_types.text_language(media_types.media_type(content_type)) == "tsv":
        return "\t"
    return max(DELIMITERS, key=lambda delimiter: _regular(sample, delimiter, complete))


def has_header(rows: Rows, content_type: str) -> bool:
    """Whether the first row names the columns: as the type declares, or if its cells are distinct and not numbers."""
    declared = str(media_types.parameter(content_type, "header")).lower()  # RFC 4180
    if declared in ("present", "absent"):
        return declared == "present"
    if len(rows) < 2:
        return False
    names = rows.cells(0)
    plain = all(name.strip() and len(name) <= 200 and not _NUMBER.fullmatch(name.strip()) for name in names)
    return plain and len(set(names)) == len(names) and names != rows.cells(1)


def fit(kind: str, head: bytes) -> float:
    """Certain by type; offered for any text whose lines have the same number of cells."""
    if text_fit("", head) < 0.5 or head.lstrip()[:1] in (b"{", b"[", b"<"):
        return 0.0
    if media_types.text_language(kind) in ("csv", "tsv"):
        return 0.97
    if kind not in media_types.GENERIC_TEXT:
        return 0.0
    sample = head.decode("utf-8", "replace")
    share, columns = max(_regular(sample, delimiter, False) for delimiter in DELIMITERS)
    return 0.3 if share == 1.0 and columns >= 3 and sample.count("\n") >= 2 else 0.0


def _regular(sample: str, delimiter: str, complete: bool) -> tuple[float, int]:
    """The share of rows with the most common number of cells, and that number; (0, 0) for a single column."""
    block = RowSplitter(delimiter).feed(sample, complete)
    rows = Rows(delimiter)
    if block is None:
        return 0.0, 0
    rows.add(block)
    counts = Counter(len(cells(rows.row_text(at), delimiter)) for at in range(min(len(rows), _SAMPLE_ROWS)))
    columns, times = counts.most_common(1)[0]
    return (times / counts.total(), columns) if columns > 1 else (0.0, 0)


_FIRST, _SAMPLE = 4 * 1024, 32 * 1024
"""Bytes read before charset and delimiter are detected, and characters used to detect them."""


class CsvReader:
    """`feed` it the decompressed body piece by piece."""

    def __init__(self, content_type: str) -> None:
        self._content_type = content_type
        self._splitter: RowSplitter | None = None
        self._decoder: IncrementalDecoder | None = None
        self._first = b""

    @property
    def delimiter(self) -> str:
        """Known with the first rows."""
        return self._splitter.delimiter if self._splitter else ","

    def feed(self, plain: bytes, final: bool) -> Block | None:
        """The rows that end in this piece; `final` marks the last one. Slow: not for the GUI thread."""
        if self._splitter is not None and self._decoder is not None:
            return self._splitter.feed(self._decoder.decode(plain, final), final)
        self._first += plain
        if len(self._first) < _FIRST and not final:
            return None
        charset = detect(self._content_type, self._first, final)
        self._decoder = charset.decoder()
        text = self._decoder.decode(self._first[charset.skip :], final)
        sample = text[:_SAMPLE]
        complete = final and len(sample) == len(text)
        self._splitter = RowSplitter(delimiter_of(sample, self._content_type, complete=complete))
        return self._splitter.feed(text, final)
