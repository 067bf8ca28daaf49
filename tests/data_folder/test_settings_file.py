"""The settings file: what was saved is loaded, what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from app.core.errors import DataFolderError
from app.core.settings import Settings
from app.data_folder.settings_file import load, save
from tests.db.helpers import files

OTHER = Settings(port=1234, host="0.0.0.0", api_port=4321, base_url="https://a.example", body_limit=4096, theme="dark")


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path) == Settings()


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    save(tmp_path, Settings())
    save(tmp_path, OTHER)
    assert load(tmp_path) == OTHER
    assert files(tmp_path) == {"settings.json": 0o600}


def test_settings_left_out_have_their_defaults(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"port": 9000}')
    assert load(tmp_path) == msgspec.structs.replace(Settings(), port=9000)


def test_the_default_port_of_one_is_free_for_the_other(tmp_path: Path) -> None:
    for ports in ({"port": 8788, "api_port": 9000}, {"port": 9000, "api_port": 8787}):
        settings = msgspec.structs.replace(Settings(), **ports)
        save(tmp_path, settings)
        assert load(tmp_path) == settings


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"port": "80"}', ["port", "'80'"]),
        ('{"port": 0}', ["port", "Capture port", "1 to 65535", "0"]),
        ('{"body_limit": 7}', ["body_limit", "Largest body", "7"]),
        ('{"theme": "pink"}', ["theme", "'pink'"]),
        ('{"colour": 3}', ["colour", "3"]),
        ('{"api_port": null}', ["api_port", "None"]),
        ('{"port": 9000, "api_port": 9000}', ["api_port", "must differ"]),
        ("[]", ["one JSON object"]),
        ("{", ["not JSON"]),
        ('{"host": "\\ud800"}', ["settings.json"]),
    ],
)
def test_a_bad_file_is_named_with_key_and_value(tmp_path: Path, text: str, named: list[str]) -> None:
    file = tmp_path / "settings.json"
    file.write_text(text)
    with pytest.raises(DataFolderError) as caught:
        load(tmp_path)
    for part in (str(file), *named):
        assert part in str(caught.value)
    assert file.read_text() == text


def test_what_cannot_be_saved_leaves_the_old_settings(tmp_path: Path) -> None:
    save(tmp_path, OTHER)
    (tmp_path / "settings.json.part").mkdir()
    with pytest.raises(DataFolderError, match=r"settings\.json"):
        save(tmp_path, Settings())
    assert load(tmp_path) == OTHER


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "settings.json").mkdir()
    with pytest.raises(DataFolderError, match="cannot be read"):
        load(tmp_path)
