"""The log file: what it takes, how large it gets, and that it never gets in the way."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.system import log_file
from app.system.log_file import write_log

own = logging.getLogger("app.something")
other = logging.getLogger("httpx")


def test_own_messages_and_warnings_of_others(tmp_path: Path) -> None:
    path = tmp_path / "hookline.log"
    with write_log(tmp_path):
        own.info("a message %d", 1)
        own.debug("a detail")
        logging.getLogger("application").info("another's")
        other.info("GET http://x/secret")
        other.warning("careful \x85é")
        try:
            raise ValueError("what went wrong")
        except ValueError:
            own.exception("it failed")
    own.warning("after the end")
    text = path.read_text("utf-8")
    assert "INFO app.something: a message 1\n" in text
    assert "WARNING httpx: careful" in text
    assert "ERROR app.something: it failed\nTraceback" in text
    assert "what went wrong" in text
    assert "has stopped" in text.splitlines()[-1]
    for absent in ("a detail", "secret", "another's", "after the end"):
        assert absent not in text
    if os.name != "nt":
        assert path.stat().st_mode & 0o777 == 0o600


def test_warnings_still_reach_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with write_log(tmp_path):
        own.warning("careful")
        own.info("nothing much")
    assert capsys.readouterr().err == "careful\n"


def test_trouble_that_goes_on_is_logged_once_a_minute(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    monkeypatch.setattr(log_file.time, "monotonic", lambda: now)
    with write_log(tmp_path):
        for number in range(500):
            own.warning("trouble at %s\nfd=%d", "8787", number)
            own.warning("other trouble")
            own.info("no trouble")
        try:
            raise ValueError
        except ValueError:
            own.warning("trouble at 8787", exc_info=True)
        now += 61
        for _ in range(2):
            own.warning("trouble at %s\nfd=1", "8787")
    lines = [line for line in (tmp_path / "hookline.log").read_text("utf-8").splitlines() if "WARNING" in line]
    assert [line.partition("something: ")[2] for line in lines] == [
        *("trouble at 8787", "other trouble", "trouble at 8787"),
        "trouble at 8787",
    ]
    told = capsys.readouterr().err
    assert told.count("other trouble\n") == 1
    assert told.endswith("trouble at 8787\nfd=1 (499 more like this since the last one)\n")


def test_it_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "SIZE_MAX", 2_000)
    with write_log(tmp_path):
        for number in range(300):
            own.info("message %d", number)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["hookline.log", "hookline.log.1", "hookline.log.2"]
    assert all(file.stat().st_size <= 2_000 for file in files)
    if os.name != "nt":
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with write_log(tmp_path / "missing"):
        own.error("careful")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
def test_a_full_disk_loses_lines_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hookline.log").symlink_to("/dev/full")
    with write_log(tmp_path):
        own.error("careful")
    assert "Traceback" not in capsys.readouterr().err


def test_lines_of_json_on_standard_error_have_all_that_the_file_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with write_log(tmp_path, as_json=True):
        own.info("a message %d\nof \x1b two lines, é", 1)
        other.info("GET http://x/secret")
        other.warning("careful")
        try:
            raise ValueError("what went wrong")
        except ValueError:
            own.exception("it failed")
    started, first, second, third, stopped = map(json.loads, capsys.readouterr().err.splitlines())
    assert started["message"].endswith(f"has started as process {os.getpid()}")
    assert (first["level"], first["logger"]) == ("INFO", "app.something")
    assert first["message"] == "a message 1\nof \x1b two lines, é"
    assert abs(datetime.fromisoformat(first["time"]) - datetime.now(UTC)) < timedelta(minutes=1)
    assert "exception" not in first
    assert (second["level"], second["logger"], second["message"]) == ("WARNING", "httpx", "careful")
    assert third["message"] == "it failed"
    assert third["exception"].startswith("Traceback")
    assert third["exception"].endswith("ValueError: what went wrong")
    assert stopped["message"] == "Hookline has stopped"
    text = (tmp_path / "hookline.log").read_text("utf-8")
    assert "ERROR app.something: it failed\nTraceback" in text
    assert "secret" not in text


def test_lines_of_json_need_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with write_log(tmp_path / "missing", as_json=True):
        own.info("a message")
    assert "a message" in capsys.readouterr().err
