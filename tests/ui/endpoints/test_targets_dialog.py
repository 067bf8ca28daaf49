"""The dialog of an endpoint's targets over a real store."""

from __future__ import annotations

import asyncio
import gc
import shutil
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

from app.core.errors import InvalidFieldsError, StorageUnavailableError
from app.core.rules import FieldError
from app.core.target import RetryRule, TargetDraft
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.widgets.dialog import Question
from app.ui.widgets.headers_field import NAME
from tests import deliveries
from tests.ui.desk import Desk
from tests.ui.header_typing import type_header
from tests.ui.targets_dialogs import A, B, C, dialog_of
from tests.ui.waiting import until, wait_for_widget

ON_ERROR = (
    "Retry on: '204' is not a result. Use connection, timeout, tls, protocol, 3xx, 4xx, 5xx, or a status from 300 to"
    " 599."
)
RATE_ERROR = "Rate limit must be a number of requests a second, not '2,5'."
ALT, CTRL = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ControlModifier


class TestSaving:
    async def test_all_fields_are_saved(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path) as shown:
            for name in ("c.pem", "k.pem", "a.pem"):
                shutil.copy(deliveries.CLIENT_CERTIFICATE, tmp_path / name)
            assert shown.dialog.empty.isVisible()
            assert not shown.dialog.save_button.isEnabled()
            assert shown.dialog.empty.button is not None
            shown.dialog.empty.button.click()
            form = shown.form
            assert form["url"].hasFocus()
            QTest.keyClicks(form["url"], "https://example.org/hook")
            form["append_path"].click()
            form["keep_query"].click()
            form["timeout_ms"].setText("2.5 s")
            form["parallel"].in_order.click()
            form["parallel"].number.set_value(8)
            form["pause_after"].set_value(0)
            form["follow_redirects"].click()
            form["auto_resume"].click()
            QTest.keyClicks(form["rate_limit"], "2,5")
            assert shown.errors() == {"rate_limit": RATE_ERROR}
            form["rate_limit"].clear()
            QTest.keyClicks(form["rate_limit"], "2.5")
            QTest.keyClicks(form["attempt_header"], "X-Attempt")
            form["retry.retries"].set_value(2)
            form["retry.first_delay_ms"].setText("500 ms")
            form["retry.longest_delay_ms"].setText("1 min")
            form["retry.total_ms"].setText("1 h")
            form["retry.on"].boxes["4xx"].click()
            QTest.keyClicks(form["retry.on"].statuses, "503, 204")
            assert shown.errors() == {"retry.on": ON_ERROR}
            form["retry.on"].statuses.clear()
            QTest.keyClicks(form["retry.on"].statuses, "503, 502")
            type_header(form["set_headers"], "X-One", "1")
            type_header(form["set_headers"], "Host", "other")
            type_header(form["add_headers"], "Via", "1.1 hookline")
            form["remove_headers"].setPlainText("Authorization\n\n Cookie ")
            form["host"].setCurrentIndex(1)
            form["verify_tls"].click()
            form["client_certificate"].path.setText(str(tmp_path / "c.pem"))
            form["client_key"].path.setText(str(tmp_path / "k.pem"))
            form["ca_certificate"].path.setText(str(tmp_path / "a.pem"))
            await shown.save()
            (made,) = shown.endpoint.targets
            assert made.draft() == TargetDraft(
                url="https://example.org/hook",
                append_path=False,
                keep_query=False,
                set_headers=(("X-One", "1"), ("Host", "other")),
                add_headers=(("Via", "1.1 hookline"),),
                remove_headers=("Authorization", "Cookie"),
                host="sender",
                timeout_ms=2_500,
                verify_tls=False,
                client_certificate=str(tmp_path / "c.pem"),
                client_key=str(tmp_path / "k.pem"),
                ca_certificate=str(tmp_path / "a.pem"),
                follow_redirects=True,
                retry=RetryRule(
                    retries=2,
                    on=("connection", "4xx", "503", "502"),
                    first_delay_ms=500,
                    longest_delay_ms=60_000,
                    total_ms=3_600_000,
                ),
                parallel=8,
                pause_after=0,
                rate_limit=2.5,
                attempt_header="X-Attempt",
                auto_resume=True,
            )

    async def test_one_that_keeps_the_order_sends_none_in_parallel(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A) as shown:
            parallel = shown.form["parallel"]
            assert parallel.in_order.isChecked()
            assert not parallel.number.isEnabled()
            parallel.in_order.click()
            assert parallel.number.isEnabled()
            parallel.number.selectAll()
            QTest.keyClicks(parallel.number, "0")
            assert shown.errors() == {"parallel": "Parallel must be 1 to 64, not 0."}
            parallel.in_order.click()
            assert shown.errors() == {}
            assert not shown.dialog.has_changes()
            parallel.in_order.click()
            parallel.number.selectAll()
            QTest.keyClicks(parallel.number, "1")
            await shown.save()
            assert [target.parallel for target in shown.endpoint.targets] == [1]

    async def test_what_is_shown_is_saved_as_it_was(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A, B) as shown:
            before = shown.endpoint.targets
            for place in (1, 0):
                shown.dialog.column.list.select_row(place)
                form = shown.form
                assert form.draft() == before[place].draft()
            assert not shown.dialog.has_changes()
            assert shown.dialog.save_button.toolTip() == "Nothing has changed."

    async def test_the_forms_outlive_a_collection_of_garbage(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A, B) as shown:
            for row in (0, 1):
                shown.dialog.column.list.select_row(row)
                for _ in range(2):
                    await asyncio.sleep(0.05)
                    gc.collect()
                form = shown.dialog.forms.current()
                assert form is not None
                assert isValid(form)
                assert form.isVisible()

    async def test_the_list_is_edited_by_keys_and_saved_at_once(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A, B, C) as shown:
            rows = shown.dialog.column.list
            assert rows.hasFocus()
            QTest.keyClick(rows, Qt.Key.Key_Down, ALT)
            assert [url for url, _ in shown.rows()] == [B, A, C]
            column = shown.dialog.column
            for button, urls in ((column.up, [A, B, C]), (column.down, [B, A, C])):
                button.click()
                assert [url for url, _ in shown.rows()] == urls
            QTest.keyClick(rows, Qt.Key.Key_Down)
            QTest.keyClick(rows, Qt.Key.Key_Delete)
            assert [url for url, _ in shown.rows()] == [B, A]
            shown.dialog.column.duplicate.click()
            assert shown.rows()[2] == (A, "Off · not saved")
            QTest.keyClicks(QApplication.focusWidget(), C)  # in place of the URL, which is selected
            assert shown.rows()[2] == (C, "Off · not saved")
            assert rows.model().index(2, 0).data() == f"{C}, Off · not saved, 3 of 3 targets", "to a screen reader"
            assert rows.model().index(2, 0).data(Qt.ItemDataRole.ToolTipRole) == C
            assert shown.stored == [A, B, C]
            await shown.save()
            assert shown.stored == [B, A, C]
            assert [target.active for target in shown.endpoint.targets] == [True, True, False]

    async def test_a_dragged_target_is_moved(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A, B, C) as shown:
            shown.type_url("http://127.0.0.1:1/new")
            for start, before, urls in (
                (0, 3, [B, C, "http://127.0.0.1:1/new"]),
                (2, 1, [B, "http://127.0.0.1:1/new", C]),
            ):
                rows = shown.dialog.column.list
                assert rows.model().moveRow(QModelIndex(), start, QModelIndex(), before)  # As Qt does on a drop.
                assert [url for url, _ in shown.rows()] == urls
                assert rows.current_row() == urls.index("http://127.0.0.1:1/new")
            await shown.save()
            assert shown.stored == [B, "http://127.0.0.1:1/new", C]

    async def test_a_removed_target_comes_back_with_what_was_typed(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A, B) as shown:
            shown.form["timeout_ms"].setText("soon")
            shown.dialog.column.remove.click()
            assert shown.dialog.removed.text() == f"Removed {A}."
            assert shown.dialog.removed.isVisible()
            shown.dialog.undo_button.click()
            assert [url for url, _ in shown.rows()] == [A, B]
            assert shown.form["timeout_ms"].text() == "soon"
            assert "timeout_ms" in shown.errors()
            assert not shown.dialog.undo_button.isVisible()

    async def test_removing_what_has_queued_deliveries_asks(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A) as shown:
            for _ in range(3):
                await shown.desk.capture(shown.endpoint)
            shown.dialog.column.remove.click()
            shown.dialog.save_button.click()
            question = await wait_for_widget(Question, shown.window)
            assert question.title.text() == f"Remove {A}?"
            assert question.text.text().startswith("3 queued deliveries to it will not be sent")
            question.cancel.click()
            await until(shown.dialog.save_button.isEnabled)
            await until(lambda: not shown.window.findChildren(Question))
            assert shown.stored == [A]
            shown.dialog.save_button.click()
            await until(lambda: shown.window.findChildren(Question))
            shown.window.findChildren(Question)[-1].confirm.click()
            await until(lambda: shown.stored == [])

    @pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
    async def test_a_header_that_is_being_typed_is_part_of_what_is_saved(self, tmp_path: Path) -> None:
        """Although its cell no longer exists after saving has begun."""
        async with dialog_of(tmp_path, A, B) as shown:
            await shown.desk.capture(shown.endpoint)
            shown.dialog.column.remove.click()
            grid = shown.form["set_headers"].grid
            grid.setFocus()
            grid.setCurrentIndex(grid.rows.index(0, NAME))
            QTest.keyClick(grid, Qt.Key.Key_F2)
            QTest.keyClicks(QApplication.focusWidget(), "X")
            QTest.keyClick(shown.dialog, Qt.Key.Key_Return, CTRL)
            question = await wait_for_widget(Question, shown.window)
            question.cancel.click()
            await until(shown.dialog.save_button.isEnabled)
            await until(lambda: not shown.window.findChildren(Question))
            shown.dialog.save_button.click()
            await until(lambda: shown.window.findChildren(Question))
            shown.window.findChildren(Question)[-1].confirm.click()
            await until(lambda: [target.set_headers for target in shown.endpoint.targets] == [(("X", ""),)])


class TestErrors:
    async def test_errors_stand_beside_edited_fields_and_close_save(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A) as shown:
            shown.dialog.column.add.click()
            assert shown.errors() == {}
            assert not shown.dialog.save_button.isEnabled()
            shown.type_url("http://127.0.0.1:8787/catch/x")
            assert "own capture URLs" in shown.errors()["url"]
            assert "own capture URLs" in shown.rows()[1][1]
            type_header(shown.form["set_headers"], "no name", "")
            assert shown.errors()["set_headers"] == "Set headers: 'no name' is not a header name."
            shown.form["client_key"].path.setText("/k.pem")
            assert shown.errors()["client_key"] == "Client key needs a client certificate."
            shown.type_url(B)
            shown.form["set_headers"].set_value((("A", "b"),))
            shown.form["client_key"].path.setText("")
            assert shown.errors() == {}
            assert shown.dialog.save_button.isEnabled()

    async def test_enter_shows_the_first_error_of_any_target(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A, B) as shown:
            shown.form["retry.retries"].lineEdit().setText("99")
            shown.dialog.column.list.select_row(1)
            QTest.keyClick(shown.dialog, Qt.Key.Key_Return)
            assert shown.dialog.column.list.current_row() == 0
            assert shown.errors() == {"retry.retries": "Retries must be 0 to 50, not 99."}
            assert "Correct the numbers" in shown.form.rule.text()
            assert shown.stored == [A, B]

    async def test_what_the_store_refuses_is_said_and_nothing_lost(self, tmp_path: Path) -> None:
        class Refusing:
            def __init__(self, desk: Desk) -> None:
                self._desk = desk
                self.error: Exception = InvalidFieldsError([FieldError(field="url", message="Not today.")])

            def __getattr__(self, name: str) -> Any:
                return getattr(self._desk.store.targets, name)

            async def update(self, target_id: int, draft: TargetDraft) -> Any:
                raise self.error

        async with dialog_of(tmp_path, A, targets=Refusing) as shown:
            shown.type_url(B)
            shown.form["url"].setFocus()
            QTest.keyClick(shown.form["url"], Qt.Key.Key_Return)
            await until(shown.errors)
            assert shown.form["url"].hasFocus()
            assert shown.errors() == {"url": "Not today."}
            assert not shown.dialog.save_button.isEnabled()
            shown.type_url(C)
            assert shown.errors() == {}
            shown.desk.services.store.targets.error = StorageUnavailableError("The disk is full.")  # type: ignore[attr-defined]
            shown.dialog.save_button.setFocus()
            shown.dialog.save_button.click()
            assert shown.dialog.focusWidget() is None, "no key presses another button meanwhile"
            assert shown.dialog.removed.isHidden()
            await until(shown.dialog.problem.text)
            assert shown.dialog.problem.text() == "The disk is full."
            assert shown.form["url"].text() == C
            await until(shown.dialog.save_button.isEnabled)
            assert shown.dialog.focusWidget() is shown.dialog.save_button, "Return tries again"

    async def test_a_missing_certificate_is_said_at_its_target(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A, B) as shown:
            shown.dialog.column.list.select_row(1)
            missing = str(tmp_path / "gone.pem")
            shown.form["client_certificate"].path.setText(missing)
            shown.dialog.column.list.select_row(0)
            shown.dialog.save_button.click()
            await until(shown.errors)
            assert shown.dialog.column.list.current_row() == 1
            text = f"The client certificate {missing} cannot be read: No such file or directory."
            assert shown.errors() == {"client_certificate": text}
            assert shown.form["client_certificate"].path.hasFocus()
            shown.form["client_certificate"].path.setText("")
            shown.type_url(C)
            await shown.save()
            assert shown.stored == [A, C]

    @pytest.mark.parametrize("change", ["typed", "removed", "moved"])
    async def test_unsaved_changes_are_asked_about(self, tmp_path: Path, change: str) -> None:
        async with dialog_of(tmp_path, A, B) as shown:
            if change == "typed":
                shown.form["timeout_ms"].setText("x")
            elif change == "removed":
                shown.dialog.column.remove.click()
            else:
                shown.dialog.column.down.click()
            QTest.keyClick(shown.dialog, Qt.Key.Key_Escape)
            (question,) = shown.window.findChildren(Question)
            assert "targets of “Stripe”" in question.text.text()
            question.confirm.click()
            assert not shown.dialog.isVisible()
            assert shown.stored == [A, B]


async def test_saving_waits_for_no_one_twice(tmp_path: Path) -> None:
    """A second Enter while it is being saved saves nothing again."""

    class Slow:
        def __init__(self, desk: Desk) -> None:
            self._desk, self.creates, self.go = desk, 0, asyncio.Event()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._desk.store.targets, name)

        async def create(self, endpoint_id: int, draft: TargetDraft) -> Any:
            self.creates += 1
            await self.go.wait()
            return await self._desk.store.targets.create(endpoint_id, draft)

    async with dialog_of(tmp_path, targets=Slow) as shown:
        shown.dialog.column.add.click()
        shown.type_url(A)
        shown.dialog.submit()
        shown.dialog.submit()
        assert not shown.dialog.has_changes()
        slow: Any = shown.desk.services.store.targets
        await until(lambda: slow.creates)
        slow.go.set()
        await until(lambda: shown.stored == [A])
        await until(lambda: not shown.window.findChildren(TargetsDialog))
        assert slow.creates == 1
