"""The token file."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from app.core.errors import DataFolderError
from app.data_folder.api_token import load_or_create_token

posix = pytest.mark.skipif(sys.platform == "win32", reason="file modes are POSIX")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_made_once_and_kept(tmp_path: Path) -> None:
    token = load_or_create_token(tmp_path)
    assert len(token) >= 32
    assert load_or_create_token(tmp_path) == token
    assert [path.name for path in tmp_path.iterdir()] == ["api-token"]


@posix
def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
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
def test_what_no_header_can_carry_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "api-token"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataFolderError, match="api-token"):
        load_or_create_token(tmp_path)
    assert path.read_text(encoding="utf-8") == text


def test_a_folder_in_its_place_is_an_error_with_words(tmp_path: Path) -> None:
    (tmp_path / "api-token").mkdir()
    with pytest.raises(DataFolderError, match="api-token"):
        load_or_create_token(tmp_path)
