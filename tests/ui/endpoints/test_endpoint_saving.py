"""Saving by the endpoint form: everything that was entered arrives, and nothing is lost when it fails."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.core.errors import InvalidFieldsError, StorageUnavailableError
from app.core.model import Auth, Endpoint, EndpointDraft, ResponseSettings
from app.core.rules import FieldError
from tests.ui.desk import open_desk
from tests.ui.endpoint_dialogs import errors_shown, open_dialog
from tests.ui.header_typing import type_header
from tests.ui.waiting import settle, until


class Refusing:
    """The real directory, but for saving, which fails as told."""

    def __init__(self, real: Any, error: Exception, wait_for: asyncio.Event | None = None) -> None:
        self._real, self._error, self._wait_for = real, error, wait_for

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def create(self, draft: EndpointDraft) -> Endpoint:
        if self._wait_for is not None:
            await self._wait_for.wait()
        raise self._error


class TestSaving:
    async def test_what_others_change_meanwhile_stays(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            endpoint = await desk.endpoint(name="Orders", forward_url="http://127.0.0.1:9/")
            dialog = open_dialog(desk, window, endpoint)
            form, endpoints = dialog.form, desk.store.endpoints
            form["name"].setText("Shop")
            form["retention_days"].set_value(0)  # which is none
            changes = {"name": "Payments", "retention_days": 5, "description": "New", "forward_url": None}
            changed = await endpoints.update(endpoint.id, replace(endpoint.draft(), **changes))
            assert (form["description"].toPlainText(), form["forward_url"].text()) == ("New", "")
            assert (form["name"].text(), form["retention_days"].value()) == ("Shop", 0)
            form["retention_days"].set_value(5)
            assert dialog.has_changes()
            dialog.submit_button.click()
            await until(lambda: not isValid(dialog))
            saved = endpoints.by_id(endpoint.id)
            assert saved is not None
            assert saved.draft() == replace(changed.draft(), name="Shop")

    async def test_all_fields_are_saved(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            dialog = open_dialog(desk, window)
            form = dialog.form
            assert form.url_section is not None
            QTest.keyClicks(form["name"], "  Stripe test ")
            form["description"].setPlainText("Payments")
            QTest.keyClicks(form["tags"], " shop, eu  shop")
            form["retention_days"].set_value(30)
            QTest.keyClicks(form["forward_url"], "http://localhost:3000/hook")
            form.show_more(True)
            form["response.status"].set_value(201)
            form["response.delay_ms"].set_value(250)
            type_header(form["response.headers"], "X-One", "1")
            type_header(form["response.headers"], "x-one", "2")
            form["response.body"].default.setChecked(False)
            form["response.body"].text.setPlainText("5\xa0€")
            form["forward.timeout_ms"].set_value(5_000)
            form["auth.kind"].setCurrentIndex(3)
            form["auth.name"].setText("X-Token")
            QTest.keyClicks(form["auth.secret"], "s3cret")
            assert form["auth.secret"].echoMode() is QLineEdit.EchoMode.PasswordEchoOnEdit
            QTest.keyClicks(form["slug"], "stripe-test")
            saved: list[tuple[Endpoint, bool]] = []
            dialog.saved.connect(lambda endpoint, created: saved.append((endpoint, created)))
            dialog.submit_button.click()
            await until(lambda: saved)
            endpoint, created = saved[0]
            assert created
            assert endpoint == desk.store.endpoints.by_slug("stripe-test")
            assert endpoint.draft() == EndpointDraft(
                name="Stripe test",
                description="Payments",
                tags=("shop", "eu"),
                retention_days=30,
                forward_url="http://localhost:3000/hook",
                slug="stripe-test",
                response=ResponseSettings(
                    status=201, headers=(("X-One", "1"), ("x-one", "2")), body="5\xa0€", delay_ms=250
                ),
                forward=endpoint.forward,
                auth=Auth(kind="header", name="X-Token", secret="s3cret"),
            )
            assert endpoint.forward.timeout_ms == 5_000

    @pytest.mark.parametrize("field", ["name", "description"])
    async def test_enter_and_ctrl_enter_submit(self, qtbot: QtBot, tmp_path: Path, field: str) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            window.show()
            dialog = open_dialog(desk, window)
            await settle()
            QTest.keyClicks(dialog.form["name"], "By key")
            if field == "name":
                QTest.keyClick(dialog.form["name"], Qt.Key.Key_Return)
            else:
                dialog.form["description"].setFocus()
                QTest.keyClick(dialog, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
            await until(desk.store.endpoints.all)
            assert [endpoint.name for endpoint in desk.store.endpoints.all()] == ["By key"]

    async def test_enter_with_an_error_shows_it(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            dialog = open_dialog(desk, window)
            QTest.keyClick(dialog.form["name"], Qt.Key.Key_Return)
            assert "required" in errors_shown(dialog)["name"]
            await settle()
            assert desk.store.endpoints.all() == ()
            QTest.keyClick(dialog, Qt.Key.Key_Escape)
            assert not dialog.isVisible()

    async def test_editing_keeps_slug_and_switch(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            made = await desk.endpoint(name="Old", slug="keep-me", active=False, retention_days=3)
            dialog = open_dialog(desk, window, made)
            assert dialog.form.url_section is None
            assert dialog.url.text() == "http://127.0.0.1:8787/catch/keep-me"
            dialog.form["name"].selectAll()
            QTest.keyClicks(dialog.form["name"], "New")
            dialog.submit()
            await until(lambda: desk.store.endpoints.by_id(made.id).name == "New")  # type: ignore[union-attr]
            after = desk.store.endpoints.by_id(made.id)
            assert after is not None
            assert (after.slug, after.active, after.retention_days) == ("keep-me", False, 3)

    async def test_what_the_store_refuses_lands_beside_its_field(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        window.show()
        async with open_desk(tmp_path) as desk:
            error = InvalidFieldsError([FieldError(field="response.status", message="Not today.")])
            desk.services = desk.with_parts(endpoints=Refusing(desk.store.endpoints, error))
            dialog = open_dialog(desk, window)
            QTest.keyClicks(dialog.form["name"], "Kept text")
            dialog.submit()
            await until(lambda: errors_shown(dialog))
            assert errors_shown(dialog) == {"response.status": "Not today."}
            assert dialog.form["name"].text() == "Kept text"
            assert dialog.isVisible()
            assert dialog.form.more_button.isChecked()
            dialog.form["response.status"].set_value(204)
            assert errors_shown(dialog) == {}
            assert dialog.submit_button.isEnabled()
            dialog.reject()

    async def test_trouble_of_the_store_is_said_and_nothing_lost(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            error = StorageUnavailableError("The disk is full.")
            desk.services = desk.with_parts(endpoints=Refusing(desk.store.endpoints, error))
            dialog = open_dialog(desk, window)
            QTest.keyClicks(dialog.form["name"], "Kept text")
            dialog.submit_button.setFocus()
            dialog.submit()
            assert dialog.focusWidget() is None, "no key presses another button meanwhile"
            await until(dialog.problem.text)
            assert dialog.problem.text() == "The disk is full."
            assert dialog.form["name"].text() == "Kept text"
            await settle()
            assert dialog.submit_button.isEnabled()
            assert dialog.focusWidget() is dialog.submit_button
            dialog.reject()

    async def test_closing_while_saving_sends_the_error_to_the_bar(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            error = StorageUnavailableError("The disk is full.")
            closed = asyncio.Event()
            desk.services = desk.with_parts(endpoints=Refusing(desk.store.endpoints, error, closed))
            dialog = open_dialog(desk, window)
            QTest.keyClicks(dialog.form["name"], "x")
            dialog.submit()
            assert not dialog.submit_button.isEnabled()
            dialog.reject()
            await until(lambda: not isValid(dialog))
            closed.set()
            await until(desk.messages.waiting)
            assert [message.text for message in desk.messages.waiting()] == ["The disk is full."]

    async def test_a_full_plan_closes_create_and_says_why(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path, endpoints=10) as desk:
            dialog = open_dialog(desk, window)
            QTest.keyClicks(dialog.form["name"], "Eleventh")
            assert not dialog.submit_button.isEnabled()
            assert "includes up to 10" in dialog.problem.text()
            dialog.submit()
            await settle()
            assert len(desk.store.endpoints.all()) == 10
            dialog.reject()
