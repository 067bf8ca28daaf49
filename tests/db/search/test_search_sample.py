"""Which runs of a long word the index is asked for: the rare ones, as a sample of the requests knows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.core.search.query import Word
from app.db.search.index_query import to_index_query
from app.db.sqlite import search_group
from app.db.sqlite.search import IndexFile
from app.db.sqlite.search_group import IndexEntry, TrigramSample
from tests.db.helpers import entry


def with_body(seq: int, body: str) -> IndexEntry:
    return entry(seq, "/", (), body.encode())


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IndexFile]:
    """A hundred requests with `common`, each tenth with `seldom` too; every second is a sample."""
    monkeypatch.setattr(search_group, "SAMPLED", 2)
    with closing(IndexFile(tmp_path / "search.db", "store", 999)) as made:
        bodies = ["common " + ("seldom " if number % 10 == 4 else "") for number in range(100)]
        made.add([with_body(number, body) for number, body in enumerate(bodies)])
        yield made


def asked(file: IndexFile, text: str) -> str | None:
    found = to_index_query([Word(text=text, start=0, end=0)])
    assert found is not None
    return file._group(0).expression(found)


def test_the_rarest_runs_are_asked_for(file: IndexFile) -> None:
    text = asked(file, "common seldom")
    assert text is not None
    assert '"sel" AND' in text or 'AND "sel"' in text
    assert '"com"' not in text


def test_what_most_have_is_not_asked_for(file: IndexFile) -> None:
    assert asked(file, "common") is None
    assert asked(file, "seldom") is not None


def test_nothing_is_lost_when_the_sample_knows_better_later(file: IndexFile) -> None:
    assert asked(file, "novel") is not None
    file.add([with_body(number, "novel") for number in range(100, 400)])
    assert asked(file, "novel") is None
    assert asked(file, "common") is not None


def test_the_sample_is_begun_anew_when_it_is_large(file: IndexFile, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(file, "common") is None
    monkeypatch.setattr(search_group, "MOST_SAMPLES", 100)
    file.add([with_body(number, "other") for number in range(199, 203)])
    assert TrigramSample(file._connection).rarest(["com"]) == ["com"]
    assert asked(file, "other") is None
