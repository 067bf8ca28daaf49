"""Tables fit their terminal, counted in cells."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Sequence
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.output import ROWS_MEASURED, Column, Output, Table, cell_count, cut_to_cells

COLUMNS = (
    Column("ID"),
    Column("TIME", left_out=1),
    Column("METHOD"),
    Column("PROVIDER", least=8, left_out=2),
    Column("TARGET", least=12),
)
ROW = ("019a1b2c-3d4e", "2026-11-22 07:31:47", "POST", "mattermost", "/orders/" + "x" * 90)
WIDE = ("019a1b2c-3d4e", "2026-11-22 07:31:47", "POST", "日本語のサービス", "/注文/" + "漢字" * 30)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def lines(
    rows: Sequence[Sequence[str]], columns: int, monkeypatch: pytest.MonkeyPatch, screen: io.StringIO
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    with Table(Output(out=screen), COLUMNS) as table:
        for row in rows:
            table.row(*row)
    return screen.getvalue().splitlines()


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("plain", 5),
        ("ünïcödé", 7),
        ("u\u0308", 1),
        ("日本", 4),
        ("ﾊﾛｰ", 3),
        ("\uff21\uff22", 4),
        ("\U0001f600", 2),
        ("❤\ufe0f", 2),
        ("👩\u200d👩\u200d👧", 2),
        ("🇩🇪", 2),
        ("👍🏽", 2),
        ("한\u1112\u1161\u11ab", 4),
        ("", 0),
    ],
)
def test_the_cells_of_a_text(text: str, cells: int) -> None:
    assert cell_count(text) == cells


@given(st.text(), st.integers(1, 30))
def test_a_cut_text_has_room(text: str, cells: int) -> None:
    cut = cut_to_cells(text, cells)
    assert cell_count(cut) <= cells or not cell_count(text)
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))
    assert not text.isascii() or len(cut) == min(len(text), cells)
    # a mark stays with what it marks
    kept = cut[:-1]
    assert cut == text or not (text[len(kept) :] and unicodedata.category(text[len(kept)]) == "Mn" and kept)


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("row", [ROW, WIDE])
def test_no_line_is_longer_than_the_terminal(row: Sequence[str], columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    heading, shown = lines([row], columns, monkeypatch, Screen())
    assert cell_count(heading) <= columns
    assert cell_count(shown) <= columns
    assert "019a1b2c-3d4e" in shown, "an id is there to be copied"
    assert "POST" in shown
    assert shown.endswith("…") is (columns < 160)


def test_the_least_important_columns_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    titles = {columns: lines([ROW], columns, monkeypatch, Screen())[0].split() for columns in (36, 56, 80)}
    assert titles == {
        36: ["ID", "METHOD", "TARGET"],
        56: ["ID", "TIME", "METHOD", "TARGET"],
        80: ["ID", "TIME", "METHOD", "PROVIDER", "TARGET"],
    }


def test_columns_that_tell_nothing_go_first_and_long_cells_are_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (
        Column("ID"),
        Column("TIME", left_out=1, short=lambda cell: cell[11:], shortened=2),
        Column("DELIVERY", left_out=3, empty="-"),
        Column("SIZE", left_out=4),
    )
    row = ("019a1b2c-3d4e", "2026-11-22 07:31:47", "-", "1.2 kB")

    def shown(width: int, delivery: str) -> list[str]:
        monkeypatch.setattr("tests.cli.test_table.COLUMNS", columns)
        return lines([row, (*row[:2], delivery, row[3])], width, monkeypatch, Screen())

    assert shown(60, "-")[0].split() == ["ID", "TIME", "DELIVERY", "SIZE"]
    assert shown(45, "-")[0].split() == ["ID", "TIME", "SIZE"]
    assert shown(45, "failed")[0].split() == ["ID", "TIME", "DELIVERY"]
    assert shown(34, "failed")[1] == "019a1b2c-3d4e  2026-11-22 07:31:47"
    assert shown(33, "failed")[1] == "019a1b2c-3d4e  07:31:47  -"
    assert shown(16, "failed")[1] == "019a1b2c-3d4e"


def test_columns_stand_one_below_the_other_whatever_script_is_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("1", "2", "GET", provider, "/here") for provider in ("plain", "日本", "u\u0308ber", "\U0001f600")]
    heading, *shown = lines(rows, 80, monkeypatch, Screen())
    places = {cell_count(line[: line.index("/here")]) for line in shown}
    assert places == {cell_count(heading[: heading.index("TARGET")])}


def test_what_a_sender_wrote_is_escaped_before_it_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    _, shown = lines([("1", "2", "GET", "a\x1b[2J\u202eb", "/\t")], 80, monkeypatch, Screen())
    assert shown.endswith("a\\x1b[2J\\u202eb  /\\x09")


def test_elsewhere_nothing_is_cut_and_tabs_separate(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines([ROW, WIDE], 20, monkeypatch, io.StringIO()) == ["\t".join(ROW), "\t".join(WIDE)]


def test_the_first_rows_of_a_long_list_measure_it_and_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(str(number), "-", "GET", "-", "/") for number in range(ROWS_MEASURED)]
    screen = Screen()
    shown = lines([*rows, ("1" * 40, "-", "GET", "p" * 40, "/")], 80, monkeypatch, screen)
    assert len(shown) == ROWS_MEASURED + 2
    assert shown[-1].startswith("1" * 40), "an id is never cut"
    assert "ppppppp…" in shown[-1]


def test_a_table_without_rows_has_no_heading(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines([], 80, monkeypatch, Screen()) == []


WIDEST = {
    "ID": "019a1b2c-3d4e-7f",
    "SLUG": "5qk47a1ot3phfzsg6ntbyd13",
    "STATE": "interrupted",
    "METHOD": "OPTIONS",
    **dict.fromkeys(("CREATED", "QUEUED", "RECEIVED", "SINCE", "UNTIL", "STARTED"), "2026-11-22 07:31:47"),
    "STATUS": "503",
    "SENT": "100000",
    "FAILED": "100000",
    "#": "10",
    "SETTING": "tunnel_autostart",
    "PROGRAM": "cloudflared-quick",
    "INSTALLED": "via ssh",
}
"""Cells of columns that are never cut, by title."""
TABLES = {
    **dict.fromkeys(("deliveries", "replay", "requests", "settings", "tunnel"), WIDEST),
    "endpoint": {**WIDEST, "STATE": "off"},
    "target": {**WIDEST, "ID": "1000", "STATE": "paused (failures)"},
}
OF_TABLES = {"REFUSED_COLUMNS": {**WIDEST, "ID": "1000"}}
"""The same for tables by name, beside those of their module."""


@pytest.mark.parametrize("module", TABLES)
def test_every_table_fits_40_columns(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    named = vars(import_module(f"app.cli.commands.{module}"))
    tables = {name: one for name, one in named.items() if isinstance(one, tuple) and one and isinstance(one[0], Column)}
    assert tables
    for name, columns in tables.items():
        widest, screen = OF_TABLES.get(name, TABLES[module]), Screen()
        with Table(Output(out=screen), columns) as table:
            table.row(*(widest.get(column.title, "x" * 50) for column in columns))
        assert max(map(cell_count, screen.getvalue().splitlines())) <= 40
