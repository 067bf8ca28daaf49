"""Seeded faults: where they are, what they change, and that they are found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import mutation

SOURCE = '''\
"""A module."""

LIMIT = 3


class Box:
    size: int = 4

    async def take(self, count: int = 1) -> bool:
        """Take some."""
        if count > LIMIT and not self.closed:
            await self.close()
        for _ in range(2):
            self.log(f"{count}")
        return self.left + count
'''


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`SOURCE` as the whole program, among its tests' revisions."""
    monkeypatch.setattr(mutation, "ROOT", tmp_path)
    path = tmp_path / "app" / "core" / "box.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE, "utf-8")
    return path


def changed_lines(source: str) -> list[tuple[str, str]]:
    pairs = zip(SOURCE.splitlines(), source.splitlines(), strict=True)
    return [(old.strip(), new.strip()) for old, new in pairs if old != new]


def test_each_change_is_of_one_line_of_a_function() -> None:
    found = {}
    for mutant, node, changed in mutation.places(SOURCE, "app/core/box.py"):
        assert mutant.function == "Box.take()"
        source = mutation.replaced(SOURCE, node, changed)
        compile(source, "box.py", "exec")
        ((_, new),) = changed_lines(source)
        found[new] = mutant.change
    assert found == {
        "if (count >= LIMIT) and not self.closed:": "other comparison",
        "if (count > LIMIT or not self.closed):": "and for or",
        "if (not (count > LIMIT and (not self.closed))):": "opposite condition",
        "pass": "call left out",
        "for _ in range((3)):": "other constant",
        "return (self.left - count)": "other operator",
        "return None": "result left out",
    }


def test_a_seed_draws_the_same_mutants_of_the_same_code(file: Path) -> None:
    assert mutation.choose(5, 1) == mutation.choose(5, 1)
    assert mutation.choose(5, 1) != mutation.choose(5, 2)


def test_a_mutant_is_found_again_where_its_line_went(file: Path) -> None:
    (mutant,) = (one for one in mutation.choose(8, 1) if one.change == "and for or")
    moved = file.with_name("crate.py")
    moved.write_text("import os\n\n" + SOURCE, "utf-8")
    file.unlink()
    path, source, line = mutation.find(mutant) or (None, "", 0)
    assert path == moved
    assert "count > LIMIT or not self.closed" in source
    assert line == 13
    moved.write_text(SOURCE.replace("count > LIMIT", "count > 5"), "utf-8")
    assert mutation.find(mutant) is None


def test_the_time_of_a_test_is_that_of_all_its_parts() -> None:
    printed = "0.30s setup    tests/test_a.py::test_x[a b]\n1.20s call     tests/test_a.py::test_x[a b]\n"
    assert mutation.seconds_of(printed) == {"tests/test_a.py::test_x[a b]": pytest.approx(1.5)}
