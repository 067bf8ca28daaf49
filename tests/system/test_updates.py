"""The program notices that its own file was replaced or removed; a real file stands in for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.system.installation import REMOVED, UPDATED, Change, ProgramFile

PAUSE_S = 0.02


@pytest.fixture(autouse=True)
def _looks_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.system.installation.LOOK_S", PAUSE_S)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "hookline"
    path.write_bytes(b"version 1")
    return path


def replace(path: Path) -> None:
    """As package managers do it: the new file is renamed over the old one."""
    new = path.with_name("new")
    new.write_bytes(b"version 2")
    new.rename(path)


async def first(path: Path, *steps: object, within_s: float = 20.0) -> Change | None:
    """What is said first while `steps` are done with pauses between; None when nothing is."""
    seen = ProgramFile(path).changes()
    waiting = asyncio.ensure_future(anext(seen))
    await asyncio.sleep(3 * PAUSE_S)
    assert not waiting.done()
    for step in steps:
        step()  # type: ignore[operator]
        await asyncio.sleep(0)
    try:
        return await asyncio.wait_for(waiting, within_s)
    except TimeoutError:
        return None


async def test_a_file_renamed_over_it_is_an_update(file: Path) -> None:
    assert await first(file, lambda: replace(file)) is UPDATED


async def test_a_file_written_anew_in_place_is_an_update(file: Path) -> None:
    assert await first(file, lambda: file.write_bytes(b"version 1.1")) is UPDATED


async def test_a_file_that_is_left_alone_or_read_is_none(file: Path) -> None:
    assert await first(file, file.read_bytes, within_s=0.5) is None


async def test_a_file_that_stays_away_was_removed(file: Path) -> None:
    assert await first(file, file.unlink) is REMOVED


async def test_a_file_taken_away_and_laid_down_anew_is_an_update_only(file: Path) -> None:
    assert await first(file, file.unlink, lambda: file.write_bytes(b"version 2")) is UPDATED


async def test_an_installation_after_a_removal_is_an_update(file: Path) -> None:
    seen = ProgramFile(file).changes()
    file.unlink()  # noqa: ASYNC240 - a moment's blocking is nothing to a test
    assert await asyncio.wait_for(anext(seen), 20) is REMOVED
    replace(file)
    assert await asyncio.wait_for(anext(seen), 20) is UPDATED
