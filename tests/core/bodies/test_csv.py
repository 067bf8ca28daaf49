"""Comma-separated values are cut into rows and cells as they were written, however the text comes."""

from __future__ import annotations

import csv
import io
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bodies.format_registry import ranked
from app.core.bodies.formats.csv import COLUMNS_MAX, ROW_MAX, CsvReader, Rows, RowSplitter, delimiter_of, has_header

ODD = 'a,b\r\n1,"x\r\ny"\n\n"q""z",5" disk\r"un,closed\nrow'


def rows_of(text: str, delimiter: str = ",", piece: int = 1 << 20) -> list[list[str]]:
    return cells_of(read(text, delimiter, piece))


def read(text: str, delimiter: str = ",", piece: int = 1 << 20) -> Rows:
    splitter, rows = RowSplitter(delimiter), Rows(delimiter)
    for at in range(0, max(1, len(text)), piece):
        block = splitter.feed(text[at : at + piece], at + piece >= len(text))
        if block is not None:
            rows.add(block)
    return rows


def cells_of(rows: Rows) -> list[list[str]]:
    return [rows.cells(number) for number in range(len(rows))]


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 100])
def test_odd_rows_are_kept_as_they_are(piece: int) -> None:
    assert rows_of(ODD, piece=piece) == [
        ["a", "b"],
        ["1", "x\r\ny"],
        [""],
        ['q"z', '5" disk'],
        ['"un', "closed"],  # a quote that is never closed is a character like any other
        ["row"],
    ]


CELL = st.text('ab",\n\r; \té', max_size=6)


@given(st.lists(st.lists(CELL, min_size=2, max_size=4), min_size=1, max_size=6), st.integers(1, 9))
def test_what_a_writer_writes_is_read_again(table: list[list[str]], piece: int) -> None:
    written = io.StringIO(newline="")
    csv.writer(written).writerows(table)
    assert rows_of(written.getvalue(), piece=piece) == table


@given(st.text('a",\n\r', max_size=60), st.integers(1, 9))
def test_nothing_of_any_text_is_lost(text: str, piece: int) -> None:
    rows = read(text, piece=piece)
    kept = "".join(rows.row_text(number) for number in range(len(rows)))
    assert [char for char in kept if char in 'a",'] == [char for char in text if char in 'a",']


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [("a,b\n1,2\n", ","), ("a;b\n1,5;2\n", ";"), ("a\tb\n1\t2\n", "\t"), ("a|b|c\n1|2|3\n", "|"), ("a\nb\n", ",")],
)
def test_the_delimiter_is_found(text: str, delimiter: str) -> None:
    assert delimiter_of(text, "text/csv") == delimiter
    assert delimiter_of(text, "text/tab-separated-values") == "\t"


@pytest.mark.parametrize(
    ("text", "content_type", "header"),
    [
        ("id,name\n1,x\n", "text/csv", True),
        ("id,name\n1,x\n", "text/csv; header=absent", False),
        ("1,2\n3,4\n", "text/csv; header=present", True),
        ("1,2\n3,4\n", "text/csv", False),
        ("2026-01-02,x\n2026-01-03,y\n", "text/csv", False),
        ("a,a\n1,2\n", "text/csv", False),
        ("a,\n1,2\n", "text/csv", False),
        ("id,name\n", "text/csv", False),
    ],
)
def test_a_header_is_recognised(text: str, content_type: str, header: bool) -> None:
    assert has_header(read(text), content_type) is header


def test_more_columns_than_are_shown_stand_in_the_last_one() -> None:
    plain = ",".join(map(str, range(COLUMNS_MAX + 3)))
    for line in (plain, f'"0{plain[1:]}'.replace('"0,', '"0",', 1)):
        cells = read(f"{line}\n").cells(0)
        assert len(cells) == COLUMNS_MAX
        assert cells[0] == "0"
        assert cells[-1] == f"{COLUMNS_MAX - 1},{COLUMNS_MAX},{COLUMNS_MAX + 1},{COLUMNS_MAX + 2}"


def test_the_longest_row_tells_how_many_columns_there_are() -> None:
    assert read("a,b\n1,2\n1,2,3,4\n").columns == 4
    assert read('a,b\n"1,2,3,4",2\n' + "1,2\n" * 500 + '"1",2,3\n').columns == 3


@pytest.mark.slow
def test_endless_rows_and_quotes_are_cut() -> None:
    began = time.thread_time()
    assert max(len(row) for row in map(read("x" * (3 * ROW_MAX), piece=ROW_MAX // 2).row_text, range(3))) <= ROW_MAX
    assert len(read('"' + ',"""' * 200_000, piece=1 << 18)) == 1
    assert len(read('"a\n' + "b\n" * ROW_MAX, piece=1 << 18)) == ROW_MAX + 1
    assert time.thread_time() - began < 10


def test_a_body_is_read_through_its_charset() -> None:
    text = "Größe;Preis\n" + "groß;1,5\n" * 400
    for charset in ("utf-8", "utf-16", "latin-1"):
        reader, rows = CsvReader(f"text/csv; charset={charset}"), Rows(";")
        body = text.encode(charset)
        for at in range(0, len(body), 20):
            if block := reader.feed(body[at : at + 20], at + 20 >= len(body)):
                rows.add(block)
        assert reader.delimiter == ";"
        assert cells_of(rows)[:2] == [["Größe", "Preis"], ["groß", "1,5"]]
        assert len(rows) == 401


@pytest.mark.parametrize("row", [b"a;b", b"a|b|c", b"a\tb", b'"a,b";2'])
def test_a_single_row_without_a_line_end_tells_the_delimiter(row: bytes) -> None:
    reader = CsvReader("text/csv")
    block = reader.feed(row, True)
    assert block is not None
    assert block.columns > 1
    assert reader.delimiter == row.decode().strip('abc",12')[0]


def test_a_row_that_goes_on_does_not_tell_the_delimiter() -> None:
    """What is looked at ends in its middle, where it has no semicolon yet."""
    reader = CsvReader("text/csv")
    text = f"a;b;1,5\n1,{'5' * 100_000};c;d\n"
    reader.feed(text.encode(), True)
    assert reader.delimiter == ";"


@pytest.mark.parametrize(
    ("content_type", "body", "best"),
    [
        ("text/csv", b"a,b\n1,2\n", "csv-table"),
        ("text/tab-separated-values", b"a\tb\n", "csv-table"),
        ("text/csv", b'{"a":1}', "csv"),
        ("text/csv", bytes(range(32)) * 9, "hex"),
        ("text/plain", b"a,b,c\n1,2,3\n4,5,6\n", "text"),
    ],
)
def test_where_a_table_is_the_best_view(content_type: str, body: bytes, best: str) -> None:
    assert ranked(content_type, body)[0].name == best


@pytest.mark.parametrize(
    ("text", "table"),
    [
        (b"a,b,c\n1,2,3\n", True),
        (b"a,b,c\n1,2,3", False),
        (b"a,b\n1,2\n", False),
        (b"a,b,c\n1,2,3\n4,5,6,7\n", False),
    ],
)
def test_text_may_be_a_table_from_two_rows_of_three_cells_on(text: bytes, table: bool) -> None:
    assert ("csv-table" in [view.name for view in ranked("text/plain", text)]) is table


def test_text_of_regular_lines_may_be_seen_as_a_table() -> None:
    assert "csv-table" in [view.name for view in ranked("text/plain", b"a,b,c\n1,2,3\n4,5,6\n")]
    assert "csv-table" not in [
        view.name for view in ranked("text/plain", b"Dear all, hello,\nthis is, a letter\n\nBye")
    ]
    assert "csv-table" not in [view.name for view in ranked("text/plain", b'{"a":1,"b":2,"c":3}\n' * 3)]
