"""A disk of 30 MB, filled in four ways: nothing acknowledged is lost, and deleting, stop and start work."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from app.application import Application
from tests.e2e.program import Program, api, hookline
from tests.e2e.senders import Answer, post
from tests.support import until

pytestmark = pytest.mark.slow

if sys.platform != "linux":
    pytest.skip("needs a tmpfs", allow_module_level=True)

DISK = 30 * 1024 * 1024
SLUG = "full-disk"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A data folder on a tmpfs of its own, without a storage limit: half of the disk would never fill it."""
    here = tmp_path / "small"
    here.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", here]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no right to mount a small file system")
    try:
        data = here / "data"
        data.mkdir(mode=0o700)
        (data / "settings.json").write_text('{"storage_limit": null}')
        yield data
    finally:
        subprocess.run(["umount", "-l", here], check=True)


def free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def fill_from_outside(folder: Path) -> Path:
    """Take every byte that is left."""
    ballast = folder.parent / "ballast"
    with ballast.open("ab", buffering=0) as file:
        while free(folder):  # a program that runs may have given space back meanwhile
            for size in (1_000_000, 4_096, 1):
                with contextlib.suppress(OSError):
                    while file.write(b"x" * size):
                        pass
    return ballast


def make_endpoint(program: Program) -> str:
    """Its URL."""
    status, added = api(program, "POST", "/endpoints", {"name": "Full", "slug": SLUG})
    assert status == 201, added
    return str(added["url"])


def fill_by_captures(url: str, size: int) -> tuple[list[str], Answer]:
    """Post bodies of `size` bytes, from several senders, until one is refused; ids acknowledged, the refusal."""
    parts = urlsplit(url)
    request = f"POST {parts.path} HTTP/1.1\r\nHost: t\r\nContent-Length: {size}\r\n\r\n".encode() + b"x" * size
    ids: list[str] = []
    with ExitStack() as open_ones:
        senders = []
        for _ in range(32 if size < 10_000 else 1):
            connection = socket.create_connection((str(parts.hostname), parts.port or 80), timeout=20)
            senders.append((open_ones.enter_context(connection), open_ones.enter_context(connection.makefile("rb"))))
        while True:
            for connection, _ in senders:
                connection.sendall(request)
            answers = [read_one(stream) for _, stream in senders]
            ids += [json.loads(answer.body)["id"] for answer in answers if answer.status == 200]
            refused = [answer for answer in answers if answer.status != 200]
            if refused:
                assert {answer.status for answer in refused} == {503}
                return ids, refused[0]


def read_one(stream: Any) -> Answer:
    status = int(stream.readline().split()[1])
    headers = {}
    while (line := stream.readline()) != b"\r\n":
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    return Answer(status, headers, stream.read(int(headers["content-length"])))


def wait_taken(url: str, body: bytes, seconds: float = 10.0) -> str:
    """Post until it is captured; its id."""
    end = time.monotonic() + seconds
    while True:
        answer = post(url, body)
        if answer.status == 200:
            return str(json.loads(answer.body)["id"])
        assert time.monotonic() < end, f"captures did not come back within {seconds} s"
        time.sleep(0.1)


def stored(folder: Path) -> set[str]:
    with closing(sqlite3.connect(folder / "hookline.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {row[0] for row in database.execute("SELECT id FROM capture")}


def check_deleting_and_coming_back(program: Program, url: str, body: bytes) -> set[str]:
    """Delete one request, then all others; what is captured after that."""
    listed = {item["id"] for item in api(program, "GET", "/requests?limit=500")[1]["items"]}
    assert api(program, "DELETE", f"/requests/{max(listed)}")[0] == 204
    assert api(program, "GET", f"/requests?q={quote('method:POST')}&limit=1")[1]["items"]
    assert api(program, "DELETE", f"/endpoints/{SLUG}/requests")[0] == 204
    before = wait_taken(url, body)
    assert {item["id"] for item in api(program, "GET", "/requests")[1]["items"]} == {before}
    return {before}


@pytest.mark.parametrize("size", [600, pytest.param(200_000, marks=pytest.mark.long), 5_000_000])
def test_captures_stop_in_time_and_come_back_after_deleting(folder: Path, size: int) -> None:
    with Program(folder) as program:
        url = make_endpoint(program)
        if size == 600:  # fewer of them fill what is left
            (folder.parent / "ballast").write_bytes(bytes(DISK // 2))
        ids, refused = fill_by_captures(url, size)
        assert refused.headers["retry-after"]
        assert json.loads(refused.body) == {"error": "storage_unavailable"}
        while free(folder) > 2 * size + 4_000_000:  # somebody read, so that the log could not shrink
            time.sleep(0.1)
            ids += fill_by_captures(url, size)[0]
        ids += fill_by_captures(url, 600)[0]
        assert sum(path.stat().st_size for path in folder.parent.rglob("*") if path.is_file()) > DISK * 0.6
        assert free(folder) > 1_000_000
        assert "free" in api(program, "GET", "/status")[1]["storage"]
        assert program.stop() == 0
    check_log(program)
    assert stored(folder) == set(ids)
    with Program(folder) as program:
        url = f"{program.base}/catch/{SLUG}"
        fill_by_captures(url, size)
        kept = check_deleting_and_coming_back(program, url, b"x" * size)
        assert api(program, "GET", "/status")[1]["storage"] == "ok"
        assert program.stop() == 0
    check_log(program)
    assert stored(folder) == kept


def check_log(program: Program) -> None:
    """No traceback, and no trouble told twice."""
    assert not any("Traceback" in line for line in program.errors)
    assert sum("storing fails" in line for line in program.errors) <= 1, program.errors


def test_a_disk_filled_by_others_to_its_last_byte(folder: Path) -> None:
    with Program(folder) as program:
        url = make_endpoint(program)
        ids = {wait_taken(url, b"x" * 200_000) for _ in range(20)}
        fill_from_outside(folder)
        ids |= set(fill_by_captures(url, 600)[0])
        ids -= check_reading_and_deleting(program, ids)
        fill_from_outside(folder)
        assert program.stop() == 0
    assert stored(folder) == ids
    ballast = fill_from_outside(folder)
    with Program(folder) as program:
        fresh = f"{program.base}/catch/{SLUG}"
        ids |= set(fill_by_captures(fresh, 600)[0])
        ids -= check_reading_and_deleting(program, ids)
        assert api(program, "PATCH", f"/endpoints/{SLUG}")[0] in (400, 422)
        ballast.unlink()
        ids.add(wait_taken(fresh, b"x" * 600))
        assert program.stop() == 0
    check_log(program)
    assert stored(folder) == ids


def check_reading_and_deleting(program: Program, ids: set[str]) -> set[str]:
    """The id that was deleted."""
    listed = [item["id"] for item in api(program, "GET", "/requests?limit=500")[1]["items"]]
    assert set(listed) == ids
    assert api(program, "GET", f"/requests/{listed[0]}")[0] == 200
    assert len(api(program, "GET", "/requests?limit=500&q=xxxx")[1]["items"]) == len(ids)
    assert api(program, "GET", "/status")[1]["storage"] != "ok"
    assert api(program, "DELETE", f"/requests/{listed[0]}")[0] == 204
    return {listed[0]}


def test_a_command_deletes_on_a_full_disk_and_a_start_without_any_room_says_why_it_cannot(folder: Path) -> None:
    with Program(folder) as program:
        url = make_endpoint(program)
        for _ in range(5):
            wait_taken(url, b"x" * 200_000)
    for command in (("endpoint", "list"), ("endpoint", "rm", SLUG, "--yes"), ("endpoint", "list")):
        fill_from_outside(folder)
        done = hookline(folder, *command)
        assert done.returncode == 0, done.stderr
    assert (folder / "hookline.reserve").stat().st_size > 1_000_000
    (folder / "hookline.reserve").unlink()
    fill_from_outside(folder)
    refused = hookline(folder, "serve", "--port", "0", "--api-port", "0")
    assert refused.returncode == 3
    assert refused.stderr == f"hookline: {folder / 'hookline.db'} cannot be used. The disk is full. Free some space.\n"


async def test_settings_are_saved_on_a_full_disk(folder: Path) -> None:
    application = Application(folder, {"port": 0, "api_port": 0})
    await application.open()
    await application.listen()
    await until((folder / "hookline.reserve").exists)
    fill_from_outside(folder)
    await application.change_settings({"theme": "dark"})
    assert json.loads((folder / "settings.json").read_text())["theme"] == "dark"
    await application.close()
    assert (folder / "hookline.reserve").stat().st_size >= 100_000
