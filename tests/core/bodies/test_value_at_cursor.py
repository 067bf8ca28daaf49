"""The value at a place of shown lines: found through folds, escapes and names."""

from __future__ import annotations

import json
import time

import pytest

from app.core.bodies.formats import form
from app.core.bodies.formats import json as json_format
from app.core.bodies.formatter import Line
from app.core.bodies.values import Value, value_at
from tests.core.bodies.format_lines import formatted

BODY = '{"say":"a \\"b\\" \\u00e9","created":1700000000,"list":["x","y"],"empty":""}'
LINES = formatted(json_format.write, BODY)[0]


@pytest.mark.parametrize(
    ("line", "at", "value"),
    [
        (1, '"a', Value('a "b" é', "say", True)),
        (1, "b", Value('a "b" é', "say", True)),
        (1, "ay", Value('a "b" é', "say", True)),  # on the name
        (2, "7000", Value("1700000000", "created", False)),
        (2, "eated", Value("1700000000", "created", False)),
        (4, "x", Value("x", "", True)),
        (6, "]", None),
        (99, "", None),
    ],
)
def test_a_value_of_json_is_found(line: int, at: str, value: Value | None) -> None:
    column = LINES[line].text.index(at) if line < len(LINES) else 0
    assert value_at(LINES, line, column) == value


def test_a_value_is_found_through_its_folds() -> None:
    text = "".join(f"{number:06d}" for number in range(1_000))
    lines = formatted(json_format.write, json.dumps({"long": text}))[0]
    assert len(lines) > 4
    for number in range(1, len(lines) - 1):
        assert value_at(lines, number, 5) == Value(text, "long", True)


def test_what_is_no_json_gives_the_word_there() -> None:
    assert value_at([Line("see <a href='abc%20d'>x</a>")], 0, 15) == Value("abc%20d", "", False)
    assert value_at([Line("data=aGVsbG8=&x=1")], 0, 9) == Value("aGVsbG8=&x=1", "data", False)
    assert value_at([Line("  ")], 0, 1) is None
    assert value_at([Line('"a": "x"')], 0, 6) == Value("x", "a", True)
    (line,) = formatted(form.write, "expires=1700000000")[0]
    assert value_at([line], 0, 14) == Value("1700000000", "expires", False)


def test_quotes_without_end_take_no_long_time() -> None:
    began = time.thread_time()
    assert value_at([Line('"' + '\\"' * 500_000)], 0, 3) == Value('\\"' * 499_999 + "\\", "", True)
    assert time.thread_time() - began < 1.0
