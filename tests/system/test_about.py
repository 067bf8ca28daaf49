"""What Hookline tells of itself: diagnostics without a secret, and every licence of what it is made of."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import hookline
from app import __version__
from app.application import Application
from app.core.model import Auth, EndpointDraft, ResponseSettings
from app.core.text import duration_text, report_text
from app.system import installation, licences
from app.system.about import how_it_runs, system_facts, without_home
from app.ui.theme import icons
from app.window_session import services_of
from tests import factories

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def application(tmp_path: Path) -> AsyncIterator[Application]:
    application = Application(tmp_path / "data", {"port": 0, "api_port": 0})
    await application.open()
    await application.listen()
    yield application
    await application.close()


class TestDiagnostics:
    async def test_no_secret_of_a_filled_store_is_in_them(self, application: Application) -> None:
        secrets = await fill(application)
        text = await services_of(application).about.diagnostics([("Qt", "6.11.3")])
        assert [secret for secret in secrets if secret in text] == []

    async def test_they_say_how_much_there_is_and_how_it_is_set(self, application: Application) -> None:
        await fill(application)
        lines = (await services_of(application).about.diagnostics([("Platform plugin", "offscreen")])).splitlines()
        said = dict(line.split(maxsplit=1) for line in lines if line.startswith("  ") and len(line.split()) > 1)
        assert lines[0] == f"Hookline {__version__}"
        assert said["Endpoints"] == "2 (1 active, 1 forwarded)"
        assert said["Requests"] == "1 (1 unread)"
        assert said["Plan"] == "free"
        assert said["Refused"] == "0 since start"
        assert said["Python"] == ".".join(map(str, sys.version_info[:3]))
        assert said["Installation"].startswith("from source, ")
        text = "\n".join(lines)
        assert "Public base URL  set\n" in text
        assert "Platform plugin  offscreen\n" in text
        assert f"listening on {application.addresses.listening[1] if application.addresses.listening else 0}\n" in text

    async def test_the_users_name_is_not_in_a_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Path, "home", lambda: tmp_path)
        application = Application(tmp_path / "data")
        await application.open()
        try:
            text = await services_of(application).about.diagnostics([])
        finally:
            await application.close()
        assert "Folder" in text
        assert f"~{os.sep}data\n" in text
        assert str(tmp_path) not in text

    def test_the_text_is_in_columns_and_each_fact_on_one_line(self) -> None:
        text = report_text("Title", [("One", [("a", "1\n2"), ("long name", "3")]), ("None", [])])
        assert text == "Title\n\nOne\n  a          1 2\n  long name  3\n\nNone\n"
        assert without_home("/home/ann/x", Path("/home/ann")) == "~/x"
        assert without_home("/home/ann/x", Path("/")) == "/home/ann/x"

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [(0.4, "0 s"), (59, "59 s"), (60, "1 min"), (3_900, "1 h 5 min"), (187_000, "2 d 3 h")],
    )
    def test_durations(self, seconds: float, text: str) -> None:
        assert duration_text(seconds) == text

    @pytest.mark.skipif(sys.platform != "linux", reason="other systems have no sessions to tell of")
    def test_the_desktop_is_named(self) -> None:
        facts = dict(system_facts({"XDG_CURRENT_DESKTOP": "GNOME", "XDG_SESSION_TYPE": "wayland"}))
        assert (facts["Desktop"], facts["Session"]) == ("GNOME", "wayland")
        assert dict(system_facts({}))["Desktop"] == "unknown"

    @pytest.mark.parametrize(
        ("host", "reach"),
        [
            ("127.0.0.1", "this machine only"),
            ("localhost", "this machine only"),
            ("::1", "this machine only"),
            ("0.0.0.0", "every address of this machine"),
            ("203.0.113.9", "one address"),
        ],
    )
    async def test_an_address_is_told_by_its_reach(self, tmp_path: Path, host: str, reach: str) -> None:
        application = Application(tmp_path)
        await application.open()
        try:
            application.current_settings.override(host=host)
            text = await services_of(application).about.diagnostics([])
        finally:
            await application.close()
        assert f"Capture address  {reach}\n" in text
        assert "203.0.113.9" not in text


async def fill(application: Application) -> list[str]:
    """Endpoints and a request full of secrets, and those secrets."""
    application.current_settings.override(port=8787, base_url="https://sekret-tunnel.example.org")
    auth = Auth(kind="basic", name="sekret-user", secret="sekret-password")
    draft = EndpointDraft(
        name="Sekret name",
        description="sekret description",
        slug="sekret-slug-123",
        forward_url="https://sekret-host.example.org/sekret-path?token=sekret",
        response=ResponseSettings(body="sekret-response"),
        auth=auth,
    )
    endpoint = await application.store.endpoints.create(draft)
    await application.store.endpoints.create(EndpointDraft(name="Other", active=False))
    body = b"sekret-body"
    capture = factories.capture(
        body,
        endpoint_id=endpoint.id,
        target="/sekret-target?sekret=1",
        headers=(("Authorization", "Bearer sekret-bearer"),),
    )
    await application.store.captures.add(capture, body)
    slugs = [one.slug for one in application.store.endpoints.all()]
    return ["sekret", "Sekret", application.token, application.store.account.instance_id, *slugs, "127.0.0.1"]


class TestHowItRuns:
    def test_each_way_is_told_apart(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert how_it_runs() == f"from source, {ROOT}"
        monkeypatch.setattr(hookline, "__path__", [str(tmp_path / "site-packages" / "hookline")])
        assert how_it_runs() == f"Python package, {tmp_path / 'site-packages'}"
        own = tmp_path / "hookline"
        monkeypatch.setattr(sys, "frozen", True, raising=False)
        monkeypatch.setattr(sys, "executable", str(own))
        monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path / "_internal"), raising=False)
        assert how_it_runs() == f"packaged program, {own}"
        monkeypatch.setattr(sys, "_MEIPASS", "/tmp/_MEI123", raising=False)
        assert how_it_runs() == f"one-file program, {own}"
        (tmp_path / installation.PORTABLE_MARK).touch()
        assert how_it_runs() == f"portable program, {own}"


class TestLicences:
    def test_every_part_has_a_version_a_licence_and_its_text(self) -> None:
        parts = licences.components()
        assert [part.name for part in parts[:3]] == ["Hookline", "Python", "Qt"]
        lacking = [part.name for part in parts if not (part.licence and len(part.text) > 100)]
        assert lacking == []
        assert len({part.name for part in parts}) == len(parts)
        assert [part.name for part in parts if not part.version] == []
        assert Path(icons.FONT).name == f"phosphor-{licences.PHOSPHOR}.ttf"

    def test_qt_comes_with_the_lgpl_and_python_with_its_own(self) -> None:
        parts = {part.name: part for part in licences.components()}
        assert "GNU LESSER GENERAL PUBLIC LICENSE" in parts["Qt"].text
        assert parts["PySide6_Essentials"].text == parts["Qt"].text
        assert "PYTHON SOFTWARE FOUNDATION LICENSE" in parts["Python"].text
        assert parts["Hookline"].text == (ROOT / "LICENSE").read_text("utf-8")

    def test_all_that_is_locked_for_this_system_is_listed(self) -> None:
        lock = (ROOT / "requirements" / "run.txt").read_text("utf-8").splitlines()
        pins = [Requirement(line.rstrip(" \\")) for line in lock if "==" in line]
        locked = {pin.name for pin in pins if pin.marker is None or pin.marker.evaluate()}
        listed = {re.sub("[-_.]+", "-", part.name).lower() for part in licences.components()}
        assert locked - listed == set()

    def test_the_packages_asked_for_are_the_projects(self) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        extras = project["optional-dependencies"]
        lines = [Requirement(line) for line in (*project["dependencies"], *extras["window"], *extras["team"])]
        asked = {line.name for line in lines} | {f"{line.name}-{extra}" for line in lines for extra in line.extras}
        assert set(licences.PACKAGES) == asked
