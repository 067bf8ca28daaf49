"""The values of one run, beside those that are saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from app.core.errors import InvalidFieldsError
from app.core.settings import Settings
from app.current_settings import CurrentSettings
from app.data_folder.private_files import load_settings, save_settings

SAVED = Settings(port=9100, api_port=9101, base_url="https://saved.example.org")


def settings(folder: Path, **overrides: object) -> CurrentSettings:
    save_settings(folder, SAVED)
    current = CurrentSettings(folder, overrides)
    current.load()
    return current


def test_values_of_this_run_are_listed_with_the_saved_ones(tmp_path: Path) -> None:
    current = settings(tmp_path, port=0, base_url="https://run.example.org", api_port=9101)
    current.override(port=9200)
    assert (current.now.port, current.now.base_url) == (9200, "https://run.example.org")
    assert current.overridden == {"port": 9100, "base_url": "https://saved.example.org"}


async def test_only_those_that_are_changed_are_saved(tmp_path: Path) -> None:
    current = settings(tmp_path, port=9200, base_url="https://run.example.org")
    await current.save({"theme": "dark", "port": 9200})
    assert load_settings(tmp_path) == replace(SAVED, port=9200, theme="dark")
    assert current.overridden == {"base_url": "https://saved.example.org"}
    assert current.now.base_url == "https://run.example.org"
    await current.save({"base_url": None})
    assert load_settings(tmp_path).base_url is None
    assert current.overridden == {}


@pytest.mark.parametrize(
    ("run", "given", "text"),
    [
        ({"port": 9101, "api_port": 9200}, "port", "Port 9101 is the saved API port"),
        ({"port": 9200, "api_port": 9100}, "api_port", "Port 9100 is the saved capture port"),
    ],
)
async def test_one_port_is_never_saved_for_both(tmp_path: Path, run: dict[str, int], given: str, text: str) -> None:
    current = settings(tmp_path, **run)
    with pytest.raises(InvalidFieldsError, match=text) as caught:
        await current.save({given: run[given]})
    assert [error.field for error in caught.value.errors] == [given]
    assert load_settings(tmp_path) == SAVED
    await current.save(run)
    assert load_settings(tmp_path) == replace(SAVED, **run)
