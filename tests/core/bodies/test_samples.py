"""Every sample finds a view and raises nothing, and JSON is found valid or not as its file's name says.

The samples are those below the folder given by `--samples`, or without it those made here. A file whose name begins
with `y_` in a folder `json` has to be valid, one with `n_` must not be, one with `i_` may be either.
"""

from __future__ import annotations

import subprocess
import sys
from codecs import BOM_UTF8
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from benchmarks.views import show

ROOT = Path(__file__).parents[3]
MADE: dict[str, bytes] = {
    "json/y_array.json": b"[1, 2.50, null]",
    "json/y_duplicate_names.json": b'{"a": 1, "a": 2}',
    "json/y_nested.json": b"[" * 5_000 + b"]" * 5_000,
    "json/n_open.json": b'{"a": ',
    "json/n_comma_at_the_end.json": b"[1,]",
    "json/n_nested_without_end.json": b"[" * 100_000,
    "json/n_not_a_number.json": b"[NaN]",
    "json/i_lone_surrogate.json": b'["\\ud800"]',
    "json/i_invalid_utf8.json": b'["\xff"]',
    "json/i_huge_number.json": b"[1e999]",
    "page.html": b"<p>hi<p>there",
    "feed.xml": b'<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><a>&d;</a>',
    "deploy.yaml": b"name: x\n",
    "form.http": b'--x\r\nContent-Disposition: form-data; name="a"; filename="b.js"\r\n\r\nlet a\r\n--x--\r\n',
    "bytes": bytes(range(256)) * 40,
    "long.txt": b"a" * 3_000_000,
    "empty": b"",
}
NOT_VALID = "Not valid JSON"


def samples(folder: str | None) -> dict[str, Callable[[], bytes]]:
    """By name, what gives the bytes of each; those of a folder are read only when their turn comes."""
    if folder is None:
        return {name: partial(bytes, body) for name, body in MADE.items()}
    root = Path(folder)
    return {path.relative_to(root).as_posix(): path.read_bytes for path in root.rglob("*") if path.is_file()}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each sample."""
    if "sample" in metafunc.fixturenames:
        found = sorted(samples(metafunc.config.getoption("--samples")).items())
        metafunc.parametrize("sample", found, ids=[name for name, _ in found])


def test_each_sample_is_shown(
    sample: tuple[str, Callable[[], bytes]], record_property: Callable[[str, Any], None]
) -> None:
    name, read = sample
    body = read()
    shown = show(body, name)
    record_property("sample", [name, len(body), shown.view, shown.first])
    assert not shown.raised, shown.told
    assert shown.view != "none"
    assert shown.lines or not body.removeprefix(BOM_UTF8) or shown.view in ("Hex", "Image")
    what = PurePosixPath(name)
    if what.parent.name == "json" and what.name.startswith("y_"):
        assert (shown.view, NOT_VALID in shown.told) == ("JSON", False), shown.told
    if what.parent.name == "json" and what.name.startswith("n_"):
        assert NOT_VALID in shown.told


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["0", "1"])
def test_a_folder_of_samples_is_listed_at_the_end(tmp_path: Path, processes: str) -> None:
    """Also when the tests run in another process; one that is not as its name says fails."""
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "y_good.json").write_bytes(b"[]")
    (tmp_path / "json" / "y_bad.json").write_bytes(b"[")
    (tmp_path / "page.html").write_bytes(b"<p>")
    command = [sys.executable, "-m", "pytest", __file__, "-k", "each_sample", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-n", processes, "--samples", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "1 failed, 2 passed" in done.stdout
    table = done.stdout.partition(" samples ")[2].splitlines()[1:6]
    assert [line.split()[:3] for line in table] == [
        ["file", "bytes", "view"],
        ["json/y_bad.json", "1", "Text"],
        ["json/y_good.json", "2", "JSON"],
        ["page.html", "3", "HTML"],
        ["3", "files,", "slowest"],
    ]
