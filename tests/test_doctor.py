"""`hookline doctor` on folders in every state: it says what is wrong, what to do, and changes nothing."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.core.clock import DAY_US, now_us
from app.core.doctor import Finding, findings, ok
from app.core.errors import HooklineError
from app.data_folder.folder_lock import lock_folder
from app.db.sqlite import database_checks
from app.db.sqlite.search import IndexFile
from app.db.sqlite.search_group import IndexEntry
from app.db.sqlite.store import Store
from app.doctor import checks, examine
from tests import damage, factories
from tests.db.helpers import add_many, last_seen
from tests.support import free_port


def by_name(folder: Path, *, full: bool = False) -> dict[str, Finding]:
    """The findings by name; each that is not fine says what to do, or what it is."""
    found = list(examine(folder, full=full))
    assert [finding.name for finding in found] == [name for name, _ in checks(folder, full=full)]
    for finding in found:
        assert finding.text
        assert "\n" not in finding.text + (finding.advice or "")
    return {finding.name: finding for finding in found}


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A data folder with three requests, free ports, and all of its files sound."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    store = await Store.open(folder, lambda _: None)
    endpoint = await store.endpoints.create(factories.draft())
    await add_many(store, endpoint.id, 3)
    instance = store.account.instance_id
    await store.close()
    index = IndexFile(folder / "search.db", instance, newest=3)  # which a store this small has not
    index.add([IndexEntry(seq=seq, received_at=seq, text="", terms="", numbers=()) for seq in (1, 2, 3)])
    index.close()
    settings(folder)
    (folder / "api-token").write_text("a-token-for-tests-only")
    (folder / "api-token").chmod(0o600)
    return folder


def settings(folder: Path, **values: object) -> None:
    given = {"port": free_port(), "api_port": free_port(), **values}
    (folder / "settings.json").write_text(json.dumps(given))


def files(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        file.name: (file.stat().st_size, file.stat().st_mtime_ns)
        for file in folder.iterdir()
        if file.name != "hookline.lock"
    }


def test_a_sound_folder_has_no_problem_and_is_not_changed(data: Path) -> None:
    before = files(data)
    found = by_name(data, full=True)
    ours = ("Data folder", "Settings", "API token", "Hookline", "Capture port", "API port", "Database", "Search index")
    assert {name: found[name].state for name in (*ours, "Clock")} == dict.fromkeys((*ours, "Clock"), "ok")
    assert found["Data folder"].text == str(data)
    assert found["Database"].text.endswith("sound")
    assert "agrees with the database" in found["Clock"].text
    assert files(data) == before


def test_a_folder_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    found = by_name(tmp_path / "missing")
    assert found["Data folder"].state == "warning"
    assert "--data-dir" in (found["Data folder"].advice or "")
    assert found["Database"].text == "none yet; it is created at the first start"
    assert not (tmp_path / "missing").exists()


def test_a_team_store_is_examined_in_place_of_the_file(
    data: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKLINE_STORE", postgres_url)
    found = by_name(data)
    assert "; the tables are created at the first start" in found["Database"].text
    assert not {"Disk", "Clock"} & found.keys()


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder")
    found = by_name(tmp_path / "data")["Data folder"]
    assert (found.state, found.text) == ("problem", f"{tmp_path / 'data'} is a file, not a folder.")


def test_a_folder_that_cannot_be_reached(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    found = by_name(tmp_path / "loop" / "data")["Data folder"]
    assert found.state == "problem"
    assert "cannot be reached" in found.text


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_what_other_users_can_read(data: Path) -> None:
    data.chmod(0o755)
    (data / "api-token").chmod(0o644)
    found = by_name(data)
    assert (found["Data folder"].state, found["Data folder"].advice) == ("warning", f"chmod 700 {data}")
    assert (found["API token"].state, found["API token"].advice) == ("warning", f"chmod 600 {data / 'api-token'}")


def test_settings_that_cannot_be_used_are_named(data: Path) -> None:
    settings(data, port="http")
    found = by_name(data)["Settings"]
    assert found.state == "problem"
    assert "port is 'http'" in found.text


def test_too_little_disk_for_the_reserve(data: Path) -> None:
    settings(data, disk_reserve=1 << 40)
    found = by_name(data)["Disk"]
    if "free (the reserve" in found.text:
        pytest.skip("more than two TiB are free")
    assert found.state in ("problem", "warning")
    assert "503" in found.text
    assert "disk_reserve" in (found.advice or "")


def test_a_port_that_another_program_has(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        settings(data, port=port)
        found = by_name(data)["Capture port"]
    assert found.state == "problem"
    assert found.text.startswith(f"Port {port} on 127.0.0.1 is in use by ")
    assert found.advice == "Stop that program, or choose another port: hookline settings port PORT"
    if sys.platform == "linux":
        assert f"(process {os.getpid()})" in found.text


def test_an_address_of_another_machine(data: Path) -> None:
    settings(data, host="192.0.2.1")
    found = by_name(data)["Capture port"]
    assert found.state == "problem"
    assert found.advice == "Choose an address of this machine: hookline settings host 127.0.0.1"


def damaged(folder: Path) -> None:
    with (folder / "hookline.db").open("r+b") as file:
        file.seek(8 * 4096)
        file.write(b"\x55" * 3 * 4096)


def no_database(folder: Path) -> None:
    (folder / "hookline.db").write_text("Dear diary, " * 100)


def foreign(folder: Path) -> None:
    (folder / "hookline.db").unlink()
    with closing(sqlite3.connect(folder / "hookline.db")) as connection, connection:
        connection.execute("CREATE TABLE other (x)")


def newer(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "hookline.db")) as connection, connection:
        connection.execute("INSERT INTO migration VALUES ('9999_from_the_future', 0)")


def lost(folder: Path) -> None:
    (folder / "hookline.db").unlink()


@pytest.mark.parametrize(
    ("harm", "text"),
    [
        (damaged, "damaged"),
        (no_database, "damaged"),
        (foreign, "not one of Hookline's"),
        (newer, "written by a newer Hookline"),
        (lost, "is missing, but search.db beside it shows that there was one"),
    ],
)
def test_a_database_that_cannot_be_used(data: Path, harm: Callable[[Path], None], text: str) -> None:
    harm(data)
    before = files(data)
    found = by_name(data)["Database"]
    assert found.state == "problem"
    assert text in found.text
    assert files(data) == before


def test_a_large_database_is_checked_for_a_limited_time(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_checks, "QUICK_S", 0.0)
    found = by_name(data)["Database"]
    assert found.state == "warning"
    assert "hookline doctor --full" in (found.advice or "")
    assert by_name(data, full=True)["Database"].state == "ok"


def test_damaged_bodies_are_found_by_a_full_check(data: Path) -> None:
    with closing(sqlite3.connect(data / "hookline.db")) as connection:
        (first,) = connection.execute("SELECT id FROM capture ORDER BY seq LIMIT 1").fetchone()
    damage.change_body(data, first)
    assert by_name(data)["Database"].state == "ok"
    found = by_name(data, full=True)["Database"]
    assert found.state == "problem"
    assert "has 1 damaged body, not what was received" in found.text
    assert found.text.endswith(f"The first is of request {first}.")


def test_a_trigger_that_is_not_ours_is_found(data: Path) -> None:
    with closing(sqlite3.connect(data / "hookline.db")) as connection:
        connection.execute("CREATE TRIGGER evil AFTER INSERT ON capture BEGIN DELETE FROM capture; END")
    found = by_name(data)["Database"]
    assert found.state == "problem"
    assert found.text.endswith("was changed by another program: the trigger evil is not Hookline's.")


def test_an_index_that_lacks_requests_or_is_damaged(data: Path) -> None:
    with closing(sqlite3.connect(data / "search.db")) as connection, connection:
        connection.execute("UPDATE state SET upto = 1")
    assert by_name(data)["Search index"].text == "2 requests still to be indexed, while Hookline runs"
    (data / "search.db").write_text("Dear diary, " * 1000)
    found = by_name(data)["Search index"]
    assert found.state == "warning"
    assert "rebuilds it" in (found.advice or "")


def test_a_clock_that_disagrees_with_the_store(data: Path) -> None:
    last_seen(data, now_us() + 40 * DAY_US)
    found = by_name(data)["Clock"]
    assert found.state == "warning"
    assert "behind the last time Hookline ran" in found.text
    assert "hookline retention resume" in (found.advice or "")


def test_a_program_that_has_the_folder_and_does_not_respond(data: Path) -> None:
    lock = lock_folder(data)
    found = by_name(data)["Hookline"]
    assert found.state == "warning"
    assert f"Process {os.getpid()} has the folder, but its API is not known." in found.text
    running = {"pid": os.getpid(), "capture_url": None, "api_url": f"http://127.0.0.1:{free_port()}"}
    (data / "runtime.json").write_text(json.dumps(running))
    found = by_name(data)["Hookline"]
    assert found.state == "problem"
    assert "does not respond" in found.text
    assert f"kill {os.getpid()}" in (found.advice or "")
    lock.release()


def test_ports_are_those_of_the_running_program(data: Path) -> None:
    """Another program may have the settings' port, and a file that a killed program left tells nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port, other, api_port = server.getsockname()[1], free_port(), free_port()
        settings(data, port=port, api_port=api_port)
        urls = {"capture_url": f"http://127.0.0.1:{other}", "api_url": f"http://127.0.0.1:{api_port}"}
        (data / "runtime.json").write_text(json.dumps({"pid": os.getpid(), **urls}))
        assert by_name(data)["Capture port"].state == "problem"
        lock = lock_folder(data)
        found = by_name(data)
        lock.release()
    expected = f"{other}, used by this Hookline instead of {port}, which the settings have"
    assert (found["Capture port"].state, found["Capture port"].text) == ("ok", expected)
    assert (found["API port"].state, found["API port"].text) == ("ok", f"{api_port}, used by this Hookline")


def test_a_run_that_was_killed(data: Path) -> None:
    (data / "hookline.pid").write_text("1")
    found = by_name(data)["Hookline"]
    assert (found.state, found.text) == (
        "warning",
        "Not running. The last run was killed or the system went down.",
    )


def test_no_display_is_only_a_warning(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform in ("win32", "darwin"):
        pytest.skip("there is always a display")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    found = by_name(data)["Display"]
    assert found.state == "warning"
    assert "hookline serve" in (found.advice or "")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_few_open_files(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    found = by_name(data)["Open files"]
    assert found.state == "warning"
    assert "at most 128 senders" in found.text


def test_a_check_that_fails_is_a_finding_and_ends_no_other() -> None:
    def broken() -> Finding:
        raise ZeroDivisionError("by zero")

    def unusable() -> Finding:
        raise HooklineError("It cannot be used. Repair it.")

    found = list(findings([("A", broken), ("B", unusable), ("C", lambda: ok("fine"))]))
    assert [(one.name, one.state) for one in found] == [("A", "problem"), ("B", "problem"), ("C", "ok")]
    assert found[0].text == "The check failed: ZeroDivisionError: by zero."
    assert found[1].text == "It cannot be used. Repair it."


async def test_a_tunnel_program_that_is_chosen_and_not_installed_is_a_warning(
    data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    assert by_name(data)["Tunnel programs"].state == "ok"
    settings(data, tunnel_program="bore")
    found = by_name(data)["Tunnel programs"]
    assert (found.state, found.text) == ("warning", "bore, which the settings name, is not installed.")
    assert found.advice
    program = programs / ("bore.exe" if os.name == "nt" else "bore")
    program.touch(mode=0o755)
    found = by_name(data)["Tunnel programs"]
    assert found.state == "ok"
    assert "bore" in found.text
    assert "via ssh" not in found.text
    (programs / ("ssh.exe" if os.name == "nt" else "ssh")).touch(mode=0o755)
    installed, via_ssh = by_name(data)["Tunnel programs"].text.split("; ")
    assert "bore" in installed
    assert via_ssh == "via ssh: localhost.run, Pinggy, Serveo, SSH to your own server"
    settings(data, tunnel_program="none")
    assert "'none', which is no tunnel program" in by_name(data)["Tunnel programs"].text
