"""The form of one target in the dialog: its state, its words, and its keys."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.core.target import PausedBy
from app.ui.endpoints.targets_dialog import TargetsDialog
from tests.ui.drawn import drawn
from tests.ui.targets_dialogs import A, B, C, dialog_of
from tests.ui.waiting import until

ALT = Qt.KeyboardModifier.AltModifier


class TestState:
    async def test_a_paused_target_is_resumed_with_one_click(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A, B) as shown:
            await shown.desk.capture(shown.endpoint)
            await until(lambda: "1 queued" in shown.rows()[0][1])
            shown.type_url(C)
            shown.form.state.pause.click()
            await until(lambda: shown.endpoint.targets[0].paused is PausedBy.USER)
            await until(shown.form.state.notice.isVisible)
            assert shown.rows()[0] == (C, "Paused by you · 1 queued · not saved")
            assert shown.form.state.effect.text() == "New requests are queued for it."
            assert shown.form.state.notice.text.text() == f"Forwarding to {A} is paused. 1 delivery is waiting."
            shown.form.state.resume.click()
            await until(lambda: shown.endpoint.targets[0].paused is None)
            await until(shown.form.state.pause.isVisible)
            assert shown.form["url"].text() == C

    async def test_the_switch_is_saved_with_the_rest(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A) as shown:
            shown.form.state.switch.click()
            assert shown.rows() == [(A, "Off · not saved")]
            await shown.save()
            assert not shown.endpoint.targets[0].active

    async def test_a_row_of_the_list_shows_its_state_by_icon_and_colour(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A) as shown:
            rows, tokens = shown.dialog.column.list.viewport(), shown.desk.theme.tokens
            muted, faint, danger = tokens.text_muted, tokens.text_faint, tokens.danger
            for change, icon, words, title, below in (
                (lambda: None, ("check-circle", tokens.success), "On", tokens.text, muted),
                (shown.form.state.switch.click, ("off", faint), "Off", muted, faint),
                (partial(shown.type_url, "x"), ("warning", danger), "Target", muted, danger),
            ):
                change()
                seen = drawn(rows)
                assert [(one.text, one.colour) for one in seen.icons] == [icon]
                name, facts = seen.texts
                assert facts.text.startswith(words)
                assert (name.bold, name.colour, facts.bold, facts.colour) == (True, title, False, below)
                assert seen.icons[0].at.x() < name.at.x() == facts.at.x()
                assert name.at.y() < facts.at.y()

    async def test_the_preview_and_the_rule_follow_the_fields(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A) as shown:
            form = shown.form
            assert form.preview.text().replace("\u200b", "").endswith(f"{A}/orders?id=7")
            form["keep_query"].click()
            assert form.preview.text().replace("\u200b", "").endswith(f"{A}/orders")
            shown.form["retry.retries"].set_value(1)
            assert shown.form.rule.text().startswith("Retries connection errors once,")
            shown.form["retry.retries"].set_value(0)
            assert shown.form.rule.text() == "Never retries a failed delivery."
            assert not shown.form["retry.first_delay_ms"].isEnabled()
            shown.type_url("nowhere")
            assert form.preview.text() == "Enter a URL to see where a request is sent."
            shown.type_url(B)
            assert form.preview.text().replace("\u200b", "").endswith(f"{B}/orders")
            assert form.preview.accessibleDescription() == form.preview.text().replace("\u200b", "")

    async def test_it_closes_with_its_endpoint(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A) as shown:
            shown.type_url(B)
            await shown.desk.store.endpoints.delete(shown.number)
            await until(lambda: not shown.window.findChildren(TargetsDialog))

    async def test_every_control_has_a_name_and_can_be_reached(self, tmp_path: Path) -> None:
        async with dialog_of(tmp_path, A) as shown:
            for headers in (shown.form["set_headers"], shown.form["add_headers"]):
                end, views_end = (one.mapTo(shown.form, QPoint(one.width(), 0)) for one in (headers, headers.views))
                assert (views_end.x(), views_end.y() < end.y()) == (end.x(), True), "above the table, at its end"
            reached = set()
            start = at = QApplication.focusWidget()
            for _ in range(80):
                assert at is not None
                QTest.keyClick(at, Qt.Key.Key_Tab)
                at = QApplication.focusWidget()
                assert at is not None
                reached.add(at)
                if at is start:
                    break
                place = at.mapTo(shown.dialog, QPoint(0, 0))
                assert shown.dialog.rect().contains(place), at
            controls = set(shown.form["retry.on"].boxes.values()) | {
                shown.form["url"],
                shown.form["host"],
                shown.form["client_key"].browse,
                shown.dialog.column.add,
            }
            assert controls <= reached
            for widget in reached:
                named = widget.accessibleName() or getattr(widget, "text", str)()
                assert named, widget
