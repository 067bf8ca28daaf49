"""Which lines fold, what stands for them, and how rows and lines correspond."""

from __future__ import annotations

import json
import random

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.folding import Folds
from app.core.bodies.formatter import Line


def lines_of(body: bytes, content_type: str) -> list[Line]:
    reader = BodyReader((), content_type, "pretty")
    reader.feed(body, True)
    lines: list[Line] = []
    while not reader.done:
        lines += reader.lines(10_000)
    return lines


def folds_of(lines: list[Line], step: int = 7) -> Folds:
    folds = Folds()
    for at in range(0, len(lines), step):
        folds.add(lines[at : at + step])
    return folds


def test_objects_and_lists_fold_with_what_they_hold() -> None:
    body = json.dumps({"a": {"x": 1, "y": {}, "z": [1, 2]}, "none": [], "b": [{"n": 1}] * 3, "c": "x" * 5_000}).encode()
    lines = lines_of(body, "application/json")
    folds = folds_of(lines)
    labels = {lines[start].text.strip(): "".join(folds.label(start, lines)) for start in sorted(folds.regions)}
    assert labels == {
        "{": " 1 key },",  # of the three objects in the list, the last one
        '"a": {': " 3 keys },",
        '"z": [': " 2 items ]",
        '"b": [': " 3 items ],",
    } | {"{": labels["{"]}
    assert "".join(folds.label(0, lines)) == " 4 keys }"
    (first,) = [start for start in folds.regions if lines[start].text == '  "a": {']
    assert lines[folds.regions[first].end].text == "  },"
    assert folds.foldable_at(first + 2) == first
    folds.fold([first])
    assert folds.foldable_at(first) == 0
    folds.fold([0])
    assert folds.foldable_at(first) is None
    assert 0 not in folds.inner_regions()


def test_xml_and_what_has_no_end_fold_by_their_indentation() -> None:
    lines = lines_of(b"<r><a><b>1</b><c/></a><d>2</d></r>", "application/xml")
    folds = folds_of(lines)
    assert [(start, folds.regions[start].end) for start in sorted(folds.regions)] == [(0, 6), (1, 4)]
    assert folds.label(1, lines) == (" … ", "</a>")
    yaml = [Line("a:"), Line("  b: 1"), Line(""), Line("  c:"), Line("    - d")]
    folds = folds_of(yaml, 1)
    assert folds.regions == {}
    folds.finish()
    assert {start: region.end for start, region in folds.regions.items()} == {0: 4, 3: 4}
    assert folds.label(0, yaml) == (" … ", "")


def test_rows_and_lines_correspond_whatever_is_folded() -> None:
    r = random.Random(5)
    lines = lines_of(json.dumps([{"a": [1, {"b": 2}], "c": {}}] * 30).encode(), "application/json")
    folds = folds_of(lines)
    for _ in range(40):
        chosen = r.sample(sorted(folds.regions), 5)
        (folds.fold if r.random() < 0.7 else folds.unfold)(chosen)
        shown = list(folds.visible_lines(0, len(lines) - 1))
        assert [folds.line_of(row) for row in range(len(shown))] == shown
        assert [folds.row_of(line) for line in shown] == list(range(len(shown)))
        for line in set(range(len(lines))) - set(shown):
            hider = folds.hidden_by(line)
            assert hider is not None
            assert folds.row_of(line) == folds.row_of(hider)
        assert all(folds.hidden_by(line) is None for line in shown)
