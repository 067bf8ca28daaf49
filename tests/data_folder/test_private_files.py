"""Small files: what was saved is loaded, what is wrong is named, nobody else may read them."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

import msgspec
import pytest

from app.core.errors import DataFolderError
from app.core.settings import Settings
from app.data_folder.private_files import (
    TUNNELS_NAME,
    load_or_create_token,
    load_settings,
    load_tunnel_options,
    save_settings,
    save_tunnel_options,
)
from tests.db.helpers import files

OTHER = Settings(port=1234, host="0.0.0.0", api_port=4321, base_url="https://a.example", body_limit=4096, theme="dark")

posix = pytest.mark.skipif(sys.platform == "win32", reason="file modes are POSIX")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_without_a_file_the_settings_are_the_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == Settings()


def test_settings_that_were_saved_are_loaded(tmp_path: Path) -> None:
    save_settings(tmp_path, Settings())
    save_settings(tmp_path, OTHER)
    assert load_settings(tmp_path) == OTHER
    assert files(tmp_path) == {"settings.json": 0o600}


def test_settings_left_out_have_their_defaults(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"port": 9000}')
    assert load_settings(tmp_path) == msgspec.structs.replace(Settings(), port=9000)


def test_the_default_port_of_one_is_free_for_the_other(tmp_path: Path) -> None:
    for ports in ({"port": 8788, "api_port": 9000}, {"port": 9000, "api_port": 8787}):
        settings = msgspec.structs.replace(Settings(), **ports)
        save_settings(tmp_path, settings)
        assert load_settings(tmp_path) == settings


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
def test_bad_settings_are_named_with_key_and_value(tmp_path: Path, text: str, named: list[str]) -> None:
    file = tmp_path / "settings.json"
    file.write_text(text)
    with pytest.raises(DataFolderError) as caught:
        load_settings(tmp_path)
    for part in (str(file), *named):
        assert part in str(caught.value)
    assert file.read_text() == text


def test_what_cannot_be_saved_leaves_the_old_settings(tmp_path: Path) -> None:
    save_settings(tmp_path, OTHER)
    (tmp_path / "settings.json.part").mkdir()
    with pytest.raises(DataFolderError, match=r"settings\.json"):
        save_settings(tmp_path, Settings())
    assert load_settings(tmp_path) == OTHER


def test_settings_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "settings.json").mkdir()
    with pytest.raises(DataFolderError, match="cannot be read"):
        load_settings(tmp_path)


def test_a_token_is_made_once_and_kept(tmp_path: Path) -> None:
    token = load_or_create_token(tmp_path)
    assert len(token) >= 32
    assert load_or_create_token(tmp_path) == token
    assert [path.name for path in tmp_path.iterdir()] == ["api-token"]


@posix
def test_only_its_owner_may_read_the_token(tmp_path: Path) -> None:
    token = load_or_create_token(tmp_path)
    path = tmp_path / "api-token"
    assert mode(path) == 0o600
    path.chmod(0o644)
    assert load_or_create_token(tmp_path) == token
    assert mode(path) == 0o600


@pytest.mark.parametrize("end", ["", "\n", "\r\n", " \n"])
def test_the_users_own_token_counts_with_or_without_a_newline(tmp_path: Path, end: str) -> None:
    (tmp_path / "api-token").write_bytes(("my-own-token-0123456789" + end).encode())
    assert load_or_create_token(tmp_path) == "my-own-token-0123456789"


def test_an_empty_file_gets_a_token(tmp_path: Path) -> None:
    (tmp_path / "api-token").write_text("\n")
    token = load_or_create_token(tmp_path)
    assert (tmp_path / "api-token").read_text() == token + "\n"


@pytest.mark.parametrize(
    "text", ["short", "two words of some length", "sch\xf6n-und-lang-genug-1234", "a" * 20 + "\nb"]
)
def test_a_token_that_no_header_can_carry_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "api-token"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataFolderError, match="api-token"):
        load_or_create_token(tmp_path)
    assert path.read_text(encoding="utf-8") == text


def test_a_folder_in_place_of_the_token_is_an_error_with_words(tmp_path: Path) -> None:
    (tmp_path / "api-token").mkdir()
    with pytest.raises(DataFolderError, match="api-token"):
        load_or_create_token(tmp_path)


def test_on_a_full_disk_a_token_takes_the_room_of_the_reserve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reserve = tmp_path / "hookline.reserve"
    reserve.write_bytes(bytes(4096))

    def full(_: int) -> None:
        if reserve.stat().st_size:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr("app.data_folder.database_files.free_bytes", lambda _: 0)
    token = load_or_create_token(tmp_path)
    assert load_or_create_token(tmp_path) == token
    assert sorted(path.name for path in tmp_path.iterdir()) == ["api-token", "hookline.reserve"]


def test_options_of_tunnels_are_kept_and_never_told(tmp_path: Path) -> None:
    assert load_tunnel_options(tmp_path) == {}
    save_tunnel_options(tmp_path, {"ngrok": {"authtoken": "secret"}})
    file = tmp_path / TUNNELS_NAME
    assert mode(file) == 0o600
    assert load_tunnel_options(tmp_path) == {"ngrok": {"authtoken": "secret"}}
    for text in ('{"ngrok": {"authtoken": 5, "x": "s3cret"}}', '{"s3cret', "[]", "\udcff"):
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(DataFolderError, match="is damaged") as caught:
            load_tunnel_options(tmp_path)
        assert "s3cret" not in str(caught.value)
