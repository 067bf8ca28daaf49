"""Lengths of time as they are typed and shown."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.core.text import exact_duration
from app.ui.widgets.text_fields import DurationField, parse_duration


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("250 ms", 250),
        ("10s", 10_000),
        (" 1.5 s ", 1_500),
        ("5 MIN", 300_000),
        ("2 h", 7_200_000),
        ("7 d", 604_800_000),
        ("1,500 ms", 1_500),
        ("0 s", 0),
        ("0.0005 s", None),
        ("10", None),
        ("ten s", None),
        ("-1 s", None),
        ("1 week", None),
        ("", None),
    ],
)
def test_a_number_with_a_unit_is_understood(text: str, ms: int | None) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 s"),
        (250, "250 ms"),
        (1_000, "1 s"),
        (1_500, "1.5 s"),
        (1_234, "1,234 ms"),
        (90_000, "90 s"),
        (600_000, "10 min"),
        (7_200_000, "2 h"),
    ],
)
def test_what_is_shown_parses_back(ms: int, text: str) -> None:
    assert exact_duration(ms) == text
    assert parse_duration(text) == ms


def test_the_field_keeps_what_was_typed_and_says_what_is_wrong(qtbot: QtBot) -> None:
    field = DurationField("Time limit", 100, 600_000)
    qtbot.addWidget(field)
    field.set_value(10_000)
    assert (field.text(), field.value(), field.problem()) == ("10 s", 10_000, None)
    field.setText("30")
    assert field.value() == 10_000
    assert "with its unit" in (field.problem() or "")
    field.setText("5 ms")
    assert field.problem() == "Time limit must be 100 ms to 10 min, not 5 ms."
    field.setText("")
    assert field.problem() == "Time limit is required: 100 ms to 10 min."
