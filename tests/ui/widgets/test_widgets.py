"""The small widgets: keyboard, plain text, copying, and what they tell screen readers."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import pairwise

import pytest
from PySide6 import QtGui
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QAccessible, QContextMenuEvent, QFont, QGuiApplication, QImage, QPainter, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.ui.dashboard_row import paint_sparkline
from app.ui.messages import MessageAction
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import Meter, MethodBadge, Pill, count_text
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.dialog import ChoiceDialog, DialogOption, Question, QuestionText, ask
from app.ui.widgets.fields import ChoiceField, CopyField, LabeledField, Switch
from app.ui.widgets.labels import ElidedLabel, IconLabel, UrlLabel, label, plain_tooltip
from app.ui.widgets.notices import Toast
from app.ui.widgets.text_fields import NumberField
from tests.ui.waiting import until, wait_for_widget

MARKUP = '<b>bold</b> <img src="http://127.0.0.1:1/x.png"> & co'


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    theme = Theme()
    theme.apply(qapp)
    theme.set_choice("light")
    return theme


class TestText:
    def test_labels_show_markup_literally(self, qtbot: QtBot) -> None:
        for shown in (label(MARKUP), ElidedLabel(MARKUP), Pill(MARKUP)):
            qtbot.addWidget(shown)
            assert shown.textFormat() == Qt.TextFormat.PlainText
            assert shown.text() == MARKUP

    @pytest.mark.parametrize("text", [MARKUP, "a &lt;b&gt; c", "<?xml version='1.0'?><a/>", " <img src=file:///x>"])
    def test_tooltips_show_markup_literally(self, text: str) -> None:
        assert not QtGui.Qt.mightBeRichText(plain_tooltip(text))
        assert plain_tooltip(text).replace("\u2060", "") == text
        assert plain_tooltip("") == ""

    @pytest.mark.parametrize("text", ["x" * 6_000, "abcdefghi/" * 600, "line\n" * 1_000])
    def test_a_tooltip_never_covers_the_screen(self, text: str) -> None:
        lines = plain_tooltip(text).split("\n")
        assert len(lines) <= 25
        assert max(map(len, lines)) <= 90
        assert text[:4] == lines[0][:4]
        assert any("…" in line for line in lines)

    def test_a_tooltip_of_a_few_lines_is_whole(self) -> None:
        text = "  three spaces,   kept\n\n" + "x" * 300
        assert plain_tooltip(text).replace("\n", "") == text.replace("\n", "")

    def test_a_label_can_mean_more_than_it_shows(self, qtbot: QtBot) -> None:
        shown = ElidedLabel("127.0.0.1:8787")
        qtbot.addWidget(shown)
        shown.set_meaning("Listening on 127.0.0.1:8787")
        shown.resize(400, 20)
        shown.grab()
        assert "Listening on" in shown.toolTip()
        assert shown.accessibleName() == "Listening on 127.0.0.1:8787"

    @pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
    def test_an_elided_label_keeps_the_whole_text(self, qtbot: QtBot) -> None:
        text = "a very long line " * 20
        shown = ElidedLabel(text)
        qtbot.addWidget(shown)
        shown.resize(120, 20)
        shown.show()
        assert shown.shown_text().endswith("…")
        assert shown.text() == text
        assert shown.minimumSizeHint().width() < 60
        shown.grab()
        assert text[:40] in shown.toolTip()
        QApplication.sendEvent(
            shown, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, QPoint(5, 5), shown.mapToGlobal(QPoint(5, 5)))
        )
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        (copy,) = menu.actions()
        copy.trigger()
        menu.close()
        assert QGuiApplication.clipboard().text() == text

    @pytest.mark.parametrize(
        ("count", "text"),
        [(0, "0"), (999, "999"), (1000, "1.0k"), (1250, "1.2k"), (9999, "9.9k"), (35_000, "35k"), (2_500_000, "2M")],
    )
    def test_counts_fit_a_badge(self, count: int, text: str) -> None:
        assert count_text(count) == text


class TestSwitch:
    def test_click_space_and_enter_turn_it(self, theme: Theme, qtbot: QtBot) -> None:
        switch = Switch("Stripe active", theme)
        qtbot.addWidget(switch)
        switch.show()
        seen: list[bool] = []
        switch.toggled.connect(seen.append)
        QTest.mouseClick(switch, Qt.MouseButton.LeftButton, pos=QPoint(5, 8))
        QTest.keyClick(switch, Qt.Key.Key_Space)
        QTest.keyClick(switch, Qt.Key.Key_Return)
        QTest.keyClick(switch, Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
        QTest.keyClick(switch, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        assert seen == [True, False, True, False]

    def test_setting_it_is_no_click(self, theme: Theme, qtbot: QtBot) -> None:
        switch = Switch("x", theme)
        qtbot.addWidget(switch)
        switch.show()
        with qtbot.assertNotEmitted(switch.clicked):
            switch.set_value(True)
        assert switch.isChecked()
        assert switch.place == 1.0

    def test_it_glides(self, theme: Theme, qtbot: QtBot) -> None:
        switch = Switch("x", theme)
        qtbot.addWidget(switch)
        switch.show()
        switch.click()
        qtbot.waitUntil(lambda: switch.place == 1.0, timeout=2000)

    def test_screen_readers_hear_a_named_check_box(self, theme: Theme, qtbot: QtBot) -> None:
        switch = Switch("Stripe active", theme)
        qtbot.addWidget(switch)
        switch.setChecked(True)
        told = QAccessible.queryAccessibleInterface(switch)
        assert told.role() == QAccessible.Role.CheckBox
        assert told.text(QAccessible.Text.Name) == "Stripe active"
        assert told.state().checked


class TestButtons:
    def test_an_icon_button_names_itself(self, theme: Theme, qtbot: QtBot) -> None:
        button = IconButton("copy", "Copy URL", theme)
        qtbot.addWidget(button)
        assert button.accessibleName() == "Copy URL"
        assert "Copy URL" in button.toolTip()
        assert button.focusPolicy() & Qt.FocusPolicy.TabFocus

    def test_enter_presses_them(self, theme: Theme, qtbot: QtBot) -> None:
        for button in (Button("New", theme), IconButton("copy", "Copy URL", theme)):
            qtbot.addWidget(button)
            button.show()
            for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
                with qtbot.waitSignal(button.clicked):
                    QTest.keyClick(button, key)

    def test_a_refusal_disables_and_says_why(self, theme: Theme, qtbot: QtBot) -> None:
        button = Button("New", theme)
        qtbot.addWidget(button)
        button.set_refusal("The plan is full.")
        assert not button.isEnabled()
        assert "The plan is full." in button.toolTip()
        button.set_refusal(None)
        assert button.isEnabled()
        assert button.toolTip() == ""

    def test_badges_say_their_method(self, theme: Theme, qtbot: QtBot) -> None:
        badge = MethodBadge("POST", theme)
        qtbot.addWidget(badge)
        badge.set_method("DELETE")
        assert badge.accessibleName() == "DELETE"
        assert not badge.grab().isNull()


class TestCopyField:
    def test_it_copies_the_whole_text_and_says_so(
        self, theme: Theme, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.ui.widgets.buttons.COPIED_MS", 50)
        url = "http://127.0.0.1:8787/catch/" + "x" * 60
        copy = CopyField(url, theme)
        qtbot.addWidget(copy)
        copy.resize(160, 32)
        copy.show()
        copy.copy()
        assert QGuiApplication.clipboard().text() == url
        told = copy.findChild(IconButton)
        assert told is not None
        assert told.accessibleName() == "Copied"
        qtbot.waitUntil(lambda: told.accessibleName() == "Copy URL", timeout=4000)

    def test_a_url_is_drawn_without_ligatures(self, theme: Theme, qtbot: QtBot) -> None:
        copy = CopyField("http://127.0.0.1:8787/", theme)
        qtbot.addWidget(copy)
        shown = copy.findChild(ElidedLabel)
        assert shown is not None
        shown.ensurePolished()
        assert shown.font().families() == mono_font().families()
        tags = [QFont.Tag("liga"), QFont.Tag("calt")]
        assert all(shown.font().isFeatureSet(tag) and not shown.font().featureValue(tag) for tag in tags)

    def test_a_new_text_is_what_it_copies(self, theme: Theme, qtbot: QtBot) -> None:
        copy = CopyField("old", theme)
        qtbot.addWidget(copy)
        copy.set_text("new")
        copy.copy()
        assert QGuiApplication.clipboard().text() == "new"


class TestField:
    def test_the_error_stands_beside_the_control(self, qtbot: QtBot) -> None:
        edit = QLineEdit()
        shown = LabeledField("Name", edit, help_text="Any name.")
        qtbot.addWidget(shown)
        assert edit.accessibleName() == "Name"
        shown.set_error("Name is required.")
        assert shown.error() == "Name is required."
        assert edit.accessibleDescription() == "Name is required."
        assert edit.property("invalid") is True
        (help_label,) = (one for one in shown.findChildren(QLabel) if one.text() == "Any name.")
        assert help_label.isHidden()
        shown.set_error(None)
        assert not help_label.isHidden()
        assert shown.error() == ""
        assert edit.property("invalid") is False

    def test_without_help_there_is_no_room_for_it(self, qtbot: QtBot) -> None:
        heights = []
        for help_text in ("", "Any name."):
            shown = LabeledField("Name", QLineEdit(), help_text=help_text)
            qtbot.addWidget(shown)
            heights.append(shown.sizeHint().height())
            shown.set_help("")
            assert shown.sizeHint().height() == heights[0]
        assert heights[0] < heights[1]

    def test_a_control_that_has_a_name_keeps_it(self, qtbot: QtBot) -> None:
        edit = QLineEdit(accessibleName="Name of the endpoint")  # type: ignore[call-overload]
        shown = LabeledField("Name", edit)
        qtbot.addWidget(shown)
        assert edit.accessibleName() == "Name of the endpoint"


class TestScrollingOver:
    @pytest.mark.parametrize("control", ["choice", "number"])
    def test_the_wheel_changes_nothing_it_passes_over_and_scrolls_on(self, qtbot: QtBot, control: str) -> None:
        field: ChoiceField | NumberField
        field = ChoiceField({"a": "A", "b": "B"}) if control == "choice" else NumberField("Days", 1, 90)
        qtbot.addWidget(field)
        before = field.value()
        place, down = QPointF(5, 5), QPoint(0, -120)
        buttons, keys, phase = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
        event = QWheelEvent(place, place, QPoint(), down, buttons, keys, phase, False)
        QApplication.sendEvent(field, event)
        assert field.value() == before
        assert not event.isAccepted(), "the form scrolls"


class TestQuestion:
    async def test_confirming_and_cancelling(self, theme: Theme, qtbot: QtBot) -> None:
        window = QWidget()
        qtbot.addWidget(window)

        async def answer(button: str) -> bool:
            task = asyncio.create_task(ask(window, theme, "Delete?", "It goes.", "Delete"))
            question = await wait_for_widget(Question, window)
            assert question.isModal()
            getattr(question, button).click()
            return await task

        assert await answer("confirm") is True
        assert await answer("cancel") is False

    async def test_enter_does_not_confirm_what_cannot_be_undone(self, theme: Theme, qtbot: QtBot) -> None:
        window = QWidget()
        qtbot.addWidget(window)

        task = asyncio.create_task(ask(window, theme, "Delete?", "It goes.", "Delete"))
        await until(lambda: window.findChildren(Question))
        QTest.keyClick(window.findChildren(Question)[-1], Qt.Key.Key_Return)
        assert (await task) is False

    def test_what_is_asked_follows_its_option(self, theme: Theme, qtbot: QtBot) -> None:
        question = Question("Delete all?", "All of it.", "Delete all", theme, None)
        qtbot.addWidget(question)
        question.offer("Keep some", QuestionText("Delete the rest?", "The rest of it.", "Delete none", possible=False))
        assert question.option is not None
        for checked, title, confirm in (
            (True, "Delete the rest?", "Delete none"),
            (False, "Delete all?", "Delete all"),
        ):
            question.option.setChecked(checked)
            assert (question.windowTitle(), question.title.text(), question.confirm.text()) == (title, title, confirm)
            assert question.confirm.isEnabled() is not checked
            assert question.option_checked is checked

    @pytest.mark.parametrize("kind", ["question", "choice"])
    def test_a_long_title_and_a_long_text_are_whole(self, theme: Theme, qtbot: QtBot, kind: str) -> None:
        title, text = "Delete all that was received? " * 4, "Nothing of it can be restored. " * 9
        dialog = (
            Question(title, text, "Delete", theme, None)
            if kind == "question"
            else ChoiceDialog(title, text, (DialogOption("Retry"), DialogOption("Quit")), theme, None)
        )
        qtbot.addWidget(dialog)
        dialog.show()
        for shown in (dialog.title, dialog.text):
            assert shown.visibleRegion().boundingRect() == shown.rect()
            assert shown.heightForWidth(shown.width()) <= shown.height()
            assert shown.minimumSizeHint().width() <= shown.width()

    async def test_it_closes_with_who_asked(self, theme: Theme, qtbot: QtBot) -> None:
        window = QWidget()
        qtbot.addWidget(window)

        task = asyncio.create_task(ask(window, theme, "Delete?", "It goes.", "Delete"))
        question = await wait_for_widget(Question, window)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (isValid(question) and question.isVisible()) is False


class TestPainted:
    def test_a_sparkline_shows_where_there_was_traffic(self, theme: Theme) -> None:
        picture = QImage(120, 24, QImage.Format.Format_ARGB32)
        picture.fill(0)
        painter = QPainter(picture)
        paint_sparkline(painter, QRectF(0, 0, 120, 24), [0] * 15 + [5] * 14 + [1], theme.tokens)
        painter.end()
        heights = [sum(picture.pixelColor(x, y).alpha() > 0 for y in range(24)) for x in (1, 61, 117)]
        assert heights[0] < heights[2] < heights[1] == 24

    def test_a_meter_says_its_numbers(self, theme: Theme, qtbot: QtBot) -> None:
        meter = Meter("Endpoints", theme)
        qtbot.addWidget(meter)
        meter.set_use(7, 10)
        assert meter.accessibleName() == "Endpoints: 70% used"
        meter.set_use(200, 0)
        assert "no limit" in meter.accessibleName()

    @pytest.mark.parametrize(("width", "painted"), [(80, True), (12, False)])
    def test_a_meter_too_short_to_be_one_is_not_painted(
        self, theme: Theme, qtbot: QtBot, width: int, painted: bool
    ) -> None:
        meter = Meter("Endpoints", theme)
        qtbot.addWidget(meter)
        meter.set_use(7, 10)
        meter.resize(width, 4)
        image = meter.grab().toImage()
        colours = {image.pixel(x, y) for x in range(width) for y in range(4)}
        assert (len(colours) > 1) is painted

    def test_a_toast_offers_what_to_do(self, theme: Theme, qtbot: QtBot) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        window.resize(600, 400)
        window.show()
        toast = Toast(theme, window)
        done: list[str] = []
        actions = [MessageAction(text, partial(done.append, text)) for text in ("Manage", "Plan")]
        toast.say("Full.", *actions)
        assert toast.isVisible()
        assert window.rect().contains(toast.geometry())
        toast.buttons[1].click()
        assert done == ["Plan"]
        assert not toast.isVisible()


def test_no_label_of_the_kit_guesses_markup(theme: Theme, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    CopyField(MARKUP, theme, window)
    Question(MARKUP, MARKUP, "OK", theme, window)
    LabeledField(MARKUP, QLineEdit(), window, help_text=MARKUP)
    wrong = [shown.text() for shown in window.findChildren(QLabel) if shown.textFormat() != Qt.TextFormat.PlainText]
    assert wrong == []


def test_a_url_is_cut_in_its_host(qtbot: QtBot) -> None:
    path = "/catch/018ow81a0gjmfth7hu92jpbo"
    label = UrlLabel(f"http://127.0.0.1:8787{path}", "", None, Qt.TextElideMode.ElideMiddle)
    qtbot.addWidget(label)
    whole, alone = (label.fontMetrics().horizontalAdvance(text) for text in (label.text(), path))
    for width in range(whole + 10, alone - 20, -1):
        label.resize(width, 20)
        text = label.shown_text()
        assert label.fontMetrics().horizontalAdvance(text) <= width + 1  # widths are rounded
        if text not in (label.text(), path):
            head, _, end = text.partition("…")
            assert label.text().startswith(head)
            assert end == path if width > alone + 2 else path.endswith(end)
    assert text.startswith("…")


def test_an_icon_follows_the_theme_and_what_it_is_about(theme: Theme, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    icon = IconLabel(16, theme, window, "warning", "warning")
    seen = [icon.pixmap().toImage()]
    theme.set_choice("dark")
    seen.append(icon.pixmap().toImage())
    icon.show_icon("failed", "danger")
    seen.append(icon.pixmap().toImage())
    assert not any(one == other for one, other in pairwise(seen))
