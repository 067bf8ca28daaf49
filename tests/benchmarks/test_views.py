"""The table of views is made of whatever lies in the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.views import main


def test_each_file_of_a_folder_has_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "event.json").write_bytes(b'{"a": 1}')
    (tmp_path / "broken.json").write_bytes(b'{"a": ')
    (tmp_path / "form.http").write_bytes(b"--x\r\n\r\nhi\r\n--x--\r\n")
    (tmp_path / "page.html").write_bytes(b"<p>hi")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "bytes").write_bytes(bytes(range(256)))
    assert main([str(tmp_path)]) == 0
    rows = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()[1:7]}
    views = {"broken.json": "Text", "bytes": "Hex", "deep/event.json": "JSON", "empty": "Text"}
    assert rows == views | {"form.http": "Multipart", "page.html": "HTML"}


def test_what_is_no_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none")]) == 2
    assert "usage" in capsys.readouterr().err
