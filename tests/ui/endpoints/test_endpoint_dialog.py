"""The endpoint form: errors beside their field once touched, Create open exactly when it would succeed."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from app.ui.widgets.headers_field import TEXT
from tests.ui.desk import open_desk
from tests.ui.endpoint_dialogs import errors_shown, open_dialog
from tests.ui.header_typing import choose_view, type_header
from tests.ui.waiting import activate, settle, until


def end_of(widget: QWidget) -> int:
    """The right edge on the screen."""
    return widget.mapToGlobal(widget.rect().topRight()).x()


class TestChecking:
    async def test_it_opens_without_errors_and_with_create_closed(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            dialog = open_dialog(desk, window)
            assert errors_shown(dialog) == {}
            assert not dialog.submit_button.isEnabled()
            assert "Name is required" in dialog.submit_button.toolTip()
            QTest.keyClicks(dialog.form["name"], "Stripe")
            assert dialog.submit_button.isEnabled()
            dialog.reject()

    async def test_one_that_is_edited_has_its_url_between_title_and_fields(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path, endpoints=1) as desk:
            dialog = open_dialog(desk, window, desk.store.endpoints.all()[0])
            await settle()
            tops = [part.mapTo(dialog, QPoint(0, 0)).y() for part in (dialog.title, dialog.url, dialog.form)]
            assert tops[0] + dialog.title.height() <= tops[1]
            assert tops[1] + dialog.url.height() <= tops[2]
            dialog.reject()

    async def test_fields_keep_their_width_when_the_form_scrolls(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            dialog = open_dialog(desk, window)
            area = next(one for one in dialog.findChildren(QScrollArea) if one.widget() is dialog.form)
            bar = area.verticalScrollBar()
            await settle()
            assert not bar.isVisible()
            end = end_of(dialog.submit_button)
            assert end_of(dialog.form["name"]) == end
            dialog.form.show_more(True)
            await until(bar.isVisible)
            await settle()
            assert end_of(dialog.form["name"]) == end
            headers, body = dialog.form["response.headers"], dialog.form["response.body"]
            for button, field in ((headers.views, headers), (body.format, body)):
                assert end_of(button) == end_of(field), "at its end, above it"
                assert button.mapTo(dialog, QPoint()).y() < field.mapTo(dialog, QPoint()).y()
            dialog.form.show_more(False)
            await until(lambda: not bar.isVisible())
            await settle()
            assert end_of(dialog.form["name"]) == end
            dialog.reject()

    async def test_tab_goes_from_more_into_what_it_opens(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            dialog = open_dialog(desk, window)
            await activate(dialog)
            dialog.form.show_more(True)
            dialog.form["forward_url"].setFocus()
            for expected in (dialog.form.more_button, dialog.form["storage_limit"]):
                QTest.keyClick(dialog.focusWidget(), Qt.Key.Key_Tab)
                assert dialog.focusWidget() is expected
            dialog.reject()

    async def test_errors_stand_beside_touched_fields_alone(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            form = (dialog := open_dialog(desk, window)).form
            QTest.keyClicks(form["forward_url"], "ftp://x")
            assert list(errors_shown(dialog)) == ["forward_url"]
            QTest.keyClicks(form["name"], "x")
            QTest.keyClick(form["name"], Qt.Key.Key_Backspace)
            assert set(errors_shown(dialog)) == {"name", "forward_url"}
            form["forward_url"].selectAll()
            QTest.keyClicks(form["forward_url"], "http://localhost:3000/hook")
            assert set(errors_shown(dialog)) == {"name"}
            dialog.reject()

    async def test_a_forward_url_of_our_own_is_refused_while_typing(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            dialog = open_dialog(desk, window)
            QTest.keyClicks(dialog.form["name"], "Loop")
            QTest.keyClicks(dialog.form["forward_url"], "http://localhost:8787/catch/abc")
            assert "own capture URLs" in errors_shown(dialog)["forward_url"]
            assert not dialog.submit_button.isEnabled()
            dialog.reject()

    async def test_a_taken_or_bad_slug_is_refused_while_typing(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            await desk.endpoint(slug="taken-one")
            dialog = open_dialog(desk, window)
            assert dialog.form.url_section is not None
            QTest.keyClicks(dialog.form["name"], "Mine")
            QTest.keyClicks(dialog.form["slug"], "taken-one")
            assert "taken" in errors_shown(dialog)["slug"]
            QTest.keyClicks(dialog.form["slug"], "-")
            assert "hyphen" in errors_shown(dialog)["slug"]
            QTest.keyClicks(dialog.form["slug"], "2")
            assert errors_shown(dialog) == {}
            assert dialog.url.text() == "http://127.0.0.1:8787/catch/taken-one-2"
            assert not dialog.url.isHidden()
            dialog.form["slug"].setText("Not a slug!")
            dialog.form["slug"].textEdited.emit("")
            assert dialog.url.isHidden(), "no URL is offered that cannot be"
            dialog.reject()

    async def test_a_response_body_of_json_is_formatted_or_its_fault_named(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            dialog = open_dialog(desk, window)
            dialog.form.show_more(True)
            QTest.keyClicks(dialog.form["name"], "x")
            body = dialog.form["response.body"]
            assert body.format.isHidden(), "the default body is not edited"
            body.default.click()
            assert body.format.isHidden()
            body.text.setPlainText('{"paid":1.10,}')
            assert not body.format.isHidden()
            await settle()
            height = dialog.form.fields["response.body"].height()
            body.format.click()
            await until(lambda: "column 14" in errors_shown(dialog).get("response.body", ""))
            assert body.value() == '{"paid":1.10,}'
            assert dialog.submit_button.isEnabled(), "it can be sent as it is"
            await settle()
            assert dialog.form.fields["response.body"].height() == height
            body.text.setPlainText('{"paid":1.10}')
            assert errors_shown(dialog) == {}
            body.format.click()
            await until(lambda: body.value() == '{\n  "paid": 1.10\n}')
            dialog.done(0)

    async def test_lines_that_are_no_headers_close_create(self, qtbot: QtBot, tmp_path: Path) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        async with open_desk(tmp_path) as desk:
            dialog = open_dialog(desk, window)
            QTest.keyClicks(dialog.form["name"], "x")
            headers = dialog.form["response.headers"]
            type_header(headers, "Content-Length", "5")
            assert (
                errors_shown(dialog)["response.headers"]
                == "Response headers: Content-Length is set by Hookline itself."
            )
            assert headers.grid.property("invalid")
            assert not dialog.submit_button.isEnabled()
            headers.set_value(())
            choose_view(headers, TEXT)
            headers.text.setPlainText("Content-Type: text/plain\nnonsense")
            assert "line 2" in errors_shown(dialog)["response.headers"]
            assert not dialog.submit_button.isEnabled()
            dialog.reject()
