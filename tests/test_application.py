"""The whole program in one process: settings in force, own URLs refused, failed starts that leave nothing behind."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from app.application import Application
from app.core.errors import DataFolderError, FolderInUseError, InvalidFieldsError, PortInUseError
from app.core.events import DatabaseDamaged, FileTrouble, SettingsChanged, StorageTrouble
from app.core.settings import Settings
from app.data_folder.private_files import SETTINGS_NAME, load_settings, save_settings
from app.db.sqlite.store import Store
from tests.e2e.senders import post
from tests.factories import capture, draft
from tests.support import free_port, until

pytestmark = pytest.mark.smoke

ANY_PORT = {"port": 0, "api_port": 0}


@pytest.fixture
async def application(tmp_path: Path) -> AsyncIterator[Application]:
    running = Application(tmp_path, ANY_PORT)
    await running.open()
    await running.listen()
    yield running
    await running.close()


async def test_a_new_port_is_taken_and_the_old_one_let_go(application: Application) -> None:
    endpoint = await application.store.endpoints.create(draft())
    old_url, told = application.addresses.capture_url(endpoint), []
    application.bus.subscribe(SettingsChanged, told.append)
    changes = {"port": free_port(), "api_port": free_port()}
    new = msgspec.structs.replace(application.settings, **changes)
    await application.change_settings(changes)
    new_url = application.addresses.capture_url(endpoint)
    assert f":{new.port}/" in new_url
    assert (await asyncio.to_thread(post, new_url, b"{}")).status == 200
    with pytest.raises(ConnectionRefusedError):
        await asyncio.to_thread(post, old_url, b"{}")
    assert told == [SettingsChanged(settings=new)]
    assert load_settings(application.folder).port == new.port
    runtime = json.loads((application.folder / "runtime.json").read_text())
    assert runtime["capture_url"].endswith(f":{new.port}")
    assert runtime["api_url"].endswith(f":{new.api_port}")


async def test_settings_that_are_changed_at_once_are_all_changed(application: Application) -> None:
    changes: list[dict[str, Any]] = [{"port": free_port()}, {"theme": "dark"}, {"body_limit": 2_000_000}]
    await asyncio.gather(*map(application.change_settings, changes))
    wanted = changes[0] | changes[1] | changes[2]
    for settings in (application.settings, load_settings(application.folder)):
        assert {key: getattr(settings, key) for key in wanted} == wanted


async def test_a_port_that_is_taken_changes_nothing(application: Application) -> None:
    endpoint = await application.store.endpoints.create(draft())
    before, saved = application.settings, load_settings(application.folder)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for change in ({"port": port, "api_port": free_port()}, {"port": free_port(), "api_port": port}):
            with pytest.raises(PortInUseError) as refused:
                await application.change_settings(change)
            assert refused.value.port == port
    assert application.settings == before
    assert (await asyncio.to_thread(post, application.addresses.capture_url(endpoint), b"{}")).status == 200
    assert load_settings(application.folder) == saved


async def test_settings_that_cannot_be_saved_change_nothing(application: Application) -> None:
    before = application.settings
    file = application.folder / SETTINGS_NAME
    file.unlink()
    (file / "in the way").mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        port, api_port = one.getsockname()[1], other.getsockname()[1]
    with pytest.raises(DataFolderError):
        await application.change_settings({"port": port, "api_port": api_port, "theme": "dark"})
    assert application.settings == before
    for free in (port, api_port):
        socket.create_server(("127.0.0.1", free)).close()
    (file / "in the way").rmdir()
    file.rmdir()
    await application.change_settings({"body_limit": 2_000_000})
    assert load_settings(application.folder).theme == before.theme


async def test_values_out_of_bounds_change_nothing(application: Application) -> None:
    before = application.settings
    with pytest.raises(InvalidFieldsError):
        await application.change_settings({"port": 9000, "api_port": 9001, "body_limit": 1})
    assert application.settings == before


async def test_the_body_limit_is_in_force_at_once(application: Application) -> None:
    endpoint = await application.store.endpoints.create(draft())
    url = application.addresses.capture_url(endpoint)
    assert (await asyncio.to_thread(post, url, b"x" * 2000)).status == 200
    await application.change_settings({"body_limit": 1024, "port": free_port(), "api_port": free_port()})
    answer = await asyncio.to_thread(post, application.addresses.capture_url(endpoint), b"x" * 2000)
    assert (answer.status, json.loads(answer.body)) == (413, {"error": "body_too_large", "limit": 1024})


async def test_a_proxy_names_the_sender_as_soon_as_it_is_listed(application: Application) -> None:
    endpoint = await application.store.endpoints.create(draft())
    headers = ("X-Forwarded-For: 203.0.113.7", "X-Forwarded-Proto: https")
    sources = []
    for proxies in (None, "127.0.0.1"):
        changes = {"proxies": proxies, "port": free_port(), "api_port": free_port()}
        await application.change_settings(changes)
        url = application.addresses.capture_url(endpoint)
        assert (await asyncio.to_thread(post, url, b"{}", *headers)).status == 200
        newest = (await application.store.captures.page(endpoint.id))[0]
        request = await application.store.captures.get(newest.id)
        assert request is not None
        sources.append((request.source_address, request.scheme))
    assert sources == [("127.0.0.1", "http"), ("203.0.113.7", "https")]


async def test_command_line_values_are_of_this_run_alone(tmp_path: Path) -> None:
    save_settings(tmp_path, Settings(port=9100, base_url="https://saved.example.org"))
    application = Application(tmp_path, {"port": 0, "api_port": 0, "base_url": "https://run.example.org"})
    await application.open()
    assert application.settings.base_url == "https://run.example.org"
    await application.change_settings({"port": 9101, "api_port": 9102, "theme": "dark"})
    await application.close()
    saved = load_settings(tmp_path)
    assert (saved.theme, saved.port, saved.base_url) == ("dark", 9101, "https://saved.example.org")


async def test_after_a_start_on_any_free_port_other_settings_can_be_saved(application: Application) -> None:
    assert application.addresses.listening == ("127.0.0.1", application.settings.port)
    assert application.addresses.api_url.endswith(f":{application.settings.api_port}")
    await application.change_settings({"theme": "dark"})
    saved = load_settings(application.folder)
    assert (saved.theme, saved.port, saved.api_port) == ("dark", Settings().port, Settings().api_port)


async def test_a_forward_url_to_any_of_hooklines_own_addresses_is_refused(application: Application) -> None:
    endpoint = await application.store.endpoints.create(draft())
    own = application.addresses.local_url(endpoint.slug)
    for url in (own, own.replace("127.0.0.1", "localhost")):
        with pytest.raises(InvalidFieldsError, match="loop forever"):
            await application.store.endpoints.create(draft(forward_url=url))


async def test_a_forward_url_to_hooklines_own_api_is_refused(application: Application) -> None:
    port = application.settings.api_port
    for url in (
        application.addresses.api_url,
        f"http://localhost:{port}/x",
        f"http://127.1:{port}/",
        f"http://[::1]:{port}",
    ):
        with pytest.raises(InvalidFieldsError, match="own API"):
            await application.store.endpoints.create(draft(forward_url=url))


async def test_a_start_that_fails_lets_everything_go(tmp_path: Path) -> None:
    first = Application(tmp_path, ANY_PORT)
    await first.open()
    second = Application(tmp_path, ANY_PORT)
    with pytest.raises(FolderInUseError):
        await second.open()
    await second.close()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        first.current_settings.override(port=taken.getsockname()[1])
        with pytest.raises(PortInUseError):
            await first.listen()
    await first.listen()
    await first.close()
    await first.close()
    third = Application(tmp_path, ANY_PORT)
    await third.open()
    await third.close()


async def test_a_start_that_fails_after_the_store_was_opened_closes_it(tmp_path: Path) -> None:
    (tmp_path / "tunnels.json").write_text("{")
    application = Application(tmp_path, ANY_PORT)
    with pytest.raises(DataFolderError, match=r"tunnels\.json is damaged"):
        await application.open()
    assert not [name for name in os.listdir(tmp_path) if name.startswith("hookline.db-")]
    (tmp_path / "tunnels.json").unlink()
    await application.open()
    await application.close()


async def test_it_can_be_opened_and_closed_again_and_again(tmp_path: Path) -> None:
    for _ in range(10):
        application = Application(tmp_path, ANY_PORT)
        await application.open()
        await application.listen()
        await application.close()
    assert not (tmp_path / "runtime.json").exists()


async def test_an_address_file_that_cannot_be_written_is_said_and_keeps_nobody_from_starting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "runtime.json.part").mkdir()
    application, heard = Application(tmp_path, ANY_PORT), list[FileTrouble]()
    await application.open()
    await application.listen()
    application.bus.subscribe(FileTrouble, heard.append)
    application.troubles.repeat()
    assert "runtime.json cannot be written" in str(heard[0].reason)
    assert caplog.text.count("runtime.json cannot be written") == 1
    (tmp_path / "runtime.json.part").rmdir()
    application.bus.publish(StorageTrouble(reason=None))
    assert heard[-1].reason is None
    assert json.loads((tmp_path / "runtime.json").read_text())["api_url"] == application.addresses.api_url
    await application.close()


async def test_an_address_file_that_a_killed_program_left_is_used_where_no_other_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "runtime.json.part").mkdir()
    (tmp_path / "runtime.json").write_text('{"pid": 1, "capture_url": "http://127.0.0.1:1", "api_url": "' + "x" * 500)
    application = Application(tmp_path, ANY_PORT)
    await application.open()
    await application.listen()
    assert json.loads((tmp_path / "runtime.json").read_text())["api_url"] == application.addresses.api_url
    assert application.troubles.file is None
    await application.close()


async def test_damage_is_looked_for_after_an_unclean_stop_until_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[DatabaseDamaged] = []
    monkeypatch.setattr("app.db.sqlite.damage.PAUSE_S", 0.0)

    async def run(*, delay_s: float = 0.0) -> None:
        monkeypatch.setattr("app.db.sqlite.damage.DELAY_S", delay_s)
        application = Application(tmp_path, ANY_PORT)
        application.bus.subscribe(DatabaseDamaged, told.append)
        await application.open()
        await application.listen()
        if application.folder_lock.was_unclean and not delay_s:
            await until(lambda: application.store.integrity.finished)
            assert application.troubles.damage == told[-1].reason
        await application.close()

    await run()
    with closing(sqlite3.connect(tmp_path / "hookline.db")) as database:
        (page,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'delivery_capture'").fetchone()
    with (tmp_path / "hookline.db").open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(bytes(4096))
    await run()
    assert told == []
    (tmp_path / "hookline.pid").write_text("1")
    await run(delay_s=60)
    assert told == []
    await run()
    await run()
    assert len(told) == 2


async def test_the_first_storage_limit_deletes_nothing_that_an_older_version_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With little room beside it, as on a small or full disk."""
    store = await Store.open(tmp_path, lambda _: None)
    made = await store.endpoints.create(draft())
    for _ in range(40):
        body = bytes(1_000_000)
        await store.captures.add(capture(body, endpoint_id=made.id), body)
    await store.close()
    monkeypatch.setattr("app.data_folder.private_files.disk_usage", lambda _: SimpleNamespace(free=5_000_000))
    application = Application(tmp_path, ANY_PORT)
    await application.open()
    limit = application.settings.storage_limit
    assert limit is not None
    assert limit > 42_000_000
    assert load_settings(tmp_path).storage_limit == limit
    await asyncio.sleep(0)
    assert application.store.captures.counts(made.id).total == 40
    assert application.store.limits.reached() == []
    await application.close()


async def test_a_start_that_fails_leaves_the_sign_of_an_unclean_stop(tmp_path: Path) -> None:
    first = Application(tmp_path, ANY_PORT)
    await first.open()
    await first.close()
    (tmp_path / "hookline.pid").write_text("1")
    (tmp_path / "settings.json").write_text("{")
    with pytest.raises(DataFolderError):
        await Application(tmp_path, ANY_PORT).open()
    (tmp_path / "settings.json").unlink()
    again = Application(tmp_path, ANY_PORT)
    await again.open()
    assert again.folder_lock.was_unclean
    await again.close()
