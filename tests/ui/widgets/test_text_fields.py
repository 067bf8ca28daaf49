"""Fields that hold text: what they read from it, long lines in them, and the button that indents JSON."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMargins, QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QKeySequence, QTextOption, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.core.settings import Settings
from app.core.sizes import MIB
from app.core.text import exact_duration
from app.ui.inspector.body.text_style import TextEdit
from app.ui.messages import Messages
from app.ui.settings.dialog import SettingsDialog
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.layout import vbox
from app.ui.widgets.text_fields import (
    LINE_MAX,
    DecimalField,
    DurationField,
    FormatJsonButton,
    NumberField,
    TextArea,
    parse_duration,
    raw_text,
)
from tests.ui.desk import Desk
from tests.ui.endpoint_dialogs import errors_shown, open_dialog
from tests.ui.waiting import settle, until

Mode = QTextOption.WrapMode
LONG = "x" * (LINE_MAX + 1)
TEXT = '{"a":1e400,"a":1.10,"n":[12345678901234567890,{ }],"s":"\\u00e9\\/ \xa0\u200b😀"}\n'
FORMATTED = """{
  "a": 1e400,
  "a": 1.10,
  "n": [
    12345678901234567890,
    {}
  ],
  "s": "\\u00e9\\/ \xa0\u200b😀"
}
"""


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    window = QWidget()
    window.resize(900, 900)
    qtbot.addWidget(window)
    return window


def type_into(field: QWidget, text: str) -> None:
    """Key by key, in place of what is there."""
    QTest.keyClick(field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClicks(field, text)


class TestField:
    @pytest.mark.parametrize(
        ("typed", "value", "problem"),
        [
            ("30", 30, None),
            (" 30 days ", 30, None),
            ("30days", 30, None),
            ("+90", 90, None),
            ("0090", 90, None),
            ("365", 365, "Retention must be 1 to 90 days, not 365."),
            ("0", 0, "Retention must be 1 to 90 days, not 0."),
            ("-5", -5, "Retention must be 1 to 90 days, not -5."),
            ("", 7, "Retention is required: 1 to 90 days."),
            ("a week", 7, "Retention must be a whole number, 1 to 90 days, not “a week”."),
            ("1.5", 7, "Retention must be a whole number, 1 to 90 days, not “1.5”."),
            ("1,5", 7, "Retention must be a whole number, 1 to 90 days, not “1,5”."),
            ("٣", 7, "Retention must be a whole number, 1 to 90 days, not “٣”."),
            (
                "9" * 4400,
                7,
                f"Retention must be a whole number, 1 to 90 days, not “{'9' * 24}…”.",
            ),
        ],
        ids=lambda given: str(given)[:20],
    )
    def test_what_is_typed_stays_and_is_judged(self, qtbot: QtBot, typed: str, value: int, problem: str | None) -> None:
        field = NumberField("Retention", 1, 90, unit="days")
        qtbot.addWidget(field)
        field.set_value(7)
        field.lineEdit().setText(typed)
        assert field.text() == typed
        assert field.value() == value
        assert field.problem() == problem

    def test_leaving_it_keeps_the_text_and_writes_a_number_with_commas(self, qtbot: QtBot) -> None:
        field = NumberField("Delay", 0, 30_000, unit="ms")
        qtbot.addWidget(field)
        for typed, then in (("5000", "5,000"), ("99999", "99999"), ("abc", "abc"), ("", "")):
            type_into(field, typed)
            QTest.keyClick(field, Qt.Key.Key_Return)
            assert field.text() == then

    def test_arrows_and_keys_step_into_and_within_the_range(self, qtbot: QtBot) -> None:
        field = NumberField("Delay", 0, 30_000, unit="ms", step=100)
        qtbot.addWidget(field)
        for typed, key, then in (
            ("250", Qt.Key.Key_Up, "350"),
            ("250", Qt.Key.Key_Down, "150"),
            ("29950", Qt.Key.Key_Up, "30,000"),
            ("99999", Qt.Key.Key_Down, "30,000"),
            ("250", Qt.Key.Key_PageUp, "250"),
            ("0", Qt.Key.Key_Down, "0"),
        ):
            type_into(field, typed)
            QTest.keyClick(field, key)
            assert field.text() == then

    @pytest.mark.parametrize("focused", [False, True])
    def test_the_wheel_steps_only_with_the_keyboard_in_it(self, qtbot: QtBot, focused: bool) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        field = NumberField("Port", 1, 65535, window, grouped=False)
        other = NumberField("Port", 1, 65535, window)
        window.show()
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        (field if focused else other).setFocus()
        field.set_value(8787)
        place, down = QPointF(5, 5), QPoint(0, -120)
        none = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
        QApplication.sendEvent(field, QWheelEvent(place, place, QPoint(), down, *none, False))
        assert field.text() == ("8786" if focused else "8787")

    def test_a_screen_reader_is_told_value_and_range(self, qtbot: QtBot) -> None:
        field = NumberField("Retention", 1, 90, unit="days")
        qtbot.addWidget(field)
        field.set_value(30)
        interface = QAccessible.queryAccessibleInterface(field)
        assert interface.role() == QAccessible.Role.SpinBox
        value = interface.valueInterface()
        assert (value.currentValue(), value.minimumValue(), value.maximumValue()) == (30, 1, 90)

    @pytest.mark.usefixtures("each_font")
    def test_the_text_does_not_run_into_the_unit(self, qtbot: QtBot) -> None:
        field = NumberField("Delay", 0, 30_000, unit="ms")
        qtbot.addWidget(field)
        field.resize(field.sizeHint())
        edit = field.lineEdit()
        room = edit.width() - edit.textMargins().left() - edit.textMargins().right()
        assert room >= edit.fontMetrics().horizontalAdvance("30,000")


FORM = [
    ("retention_days", "365", "Retention must be 1 to 90 days, not 365."),
    ("retention_days", "100", "Retention must be 1 to 90 days, not 100."),
    ("retention_days", "91", "Retention must be 1 to 90 days, not 91."),
    ("response.status", "1000", "Response status must be 200 to 599, not 1000."),
    ("response.delay_ms", "99 s", "Response delay must be 0 s to 30 s, not 99 s."),
    ("forward.timeout_ms", "50 ms", "Forward timeout must be 100 ms to 10 min, not 50 ms."),
    ("storage_limit", "9999999 TiB", "Storage limit must be"),
]
SETTINGS = [
    ("port", "70000", "Capture port must be 1 to 65535, not 70000."),
    ("api_port", "0", "API port must be 1 to 65535, not 0."),
    ("body_limit", "5000 MiB", "Largest body must be 1 KiB to 1 GiB, not 5000 MiB."),
    ("disk_reserve", "", "Disk reserve is required: 16 MiB to 1 TiB."),
    ("response_limit", "1", "Limit of responses must be 16 MiB to 1 TiB, not 1 B."),
    ("storage_limit", "1 MiB", "Storage limit must be 16 MiB to 1024 TiB, not 1 MiB."),
]


class TestInTheForm:
    @pytest.mark.slow
    async def test_out_of_range_is_shown_and_saves_nothing(self, window: QWidget, desk: Desk) -> None:
        for path, typed, message in FORM:
            dialog = open_dialog(desk, window)
            dialog.form.show_more(True)
            QTest.keyClicks(dialog.form["name"], "Orders")
            field = dialog.form.fields[path].control
            field = field.focusProxy() or field
            type_into(field, typed)
            assert field.text() == typed
            assert errors_shown(dialog)[path].startswith(message)
            assert not dialog.submit_button.isEnabled()
            QTest.keyClick(field, Qt.Key.Key_Return)
            dialog.submit()
            await settle()
            assert desk.store.endpoints.all() == ()
            assert field.text() == typed
            dialog.done(0)

    async def test_the_range_is_said_before_anything_is_wrong(self, window: QWidget, desk: Desk) -> None:
        fields = (dialog := open_dialog(desk, window)).form.fields
        for path, words in (
            ("retention_days", "1 to 90 days"),
            ("response.status", "200 to 599"),
            ("response.delay_ms", "0 s to 30 s"),
            ("forward.timeout_ms", "100 ms to 10 min"),
            ("storage_limit", "1 MiB or more"),
        ):
            assert words in fields[path].help_text()
        assert "1 to 90 days" in dialog.form["retention_days"].days.accessibleDescription()
        dialog.done(0)

    async def test_the_slider_follows_as_far_as_it_goes_and_sets_the_number(self, window: QWidget, desk: Desk) -> None:
        retention = (dialog := open_dialog(desk, window)).form["retention_days"]
        for typed, slid in (("45", 45), ("365", 90), ("", 90), ("9", 9), ("0", 1), ("1", 1)):
            type_into(retention.days, typed)
            assert retention.slider.value() == slid
            assert retention.days.text() == typed
        retention.slider.setValue(30)
        assert retention.days.text() == "30"
        assert retention.problem() is None
        dialog.done(0)


class TestInTheSettings:
    @pytest.mark.slow
    async def test_out_of_range_is_shown_and_saves_nothing(self, window: QWidget, desk: Desk) -> None:
        for key, typed, message in SETTINGS:
            dialog = SettingsDialog(desk.services, desk.theme, desk.tasks, window)
            dialog.open()
            field = dialog.form[key]
            type_into(field, typed)
            assert field.text() == typed
            assert dialog.form.rows[key].error() == message
            assert not dialog.save_button.isEnabled()
            QTest.keyClick(field, Qt.Key.Key_Return)
            dialog.submit()
            await settle()
            assert desk.settings == Settings()
            assert field.text() == typed
            dialog.done(0)

    async def test_a_number_put_right_is_saved(self, window: QWidget, desk: Desk) -> None:
        dialog = SettingsDialog(desk.services, desk.theme, desk.tasks, window)
        dialog.open()
        for typed in ("5000 MiB", "500 MiB"):
            type_into(dialog.form["body_limit"], typed)
        assert dialog.form.rows["body_limit"].error() == ""
        assert "1 KiB to 1 GiB" in dialog.form.fields["body_limit"].help_text()
        dialog.save_button.click()
        await until(lambda: desk.settings.body_limit == 500 * MIB)
        dialog.done(0)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("250 ms", 250),
        ("10s", 10_000),
        (" 1.5 s ", 1_500),
        ("5 MIN", 300_000),
        ("2 h", 7_200_000),
        ("7 d", 604_800_000),
        ("1,500 ms", 1_500),
        ("0 s", 0),
        ("0.0005 s", None),
        ("10", None),
        ("ten s", None),
        ("-1 s", None),
        ("1 week", None),
        ("", None),
    ],
)
def test_a_number_with_a_unit_is_understood(text: str, ms: int | None) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 s"),
        (250, "250 ms"),
        (1_000, "1 s"),
        (1_500, "1.5 s"),
        (1_234, "1,234 ms"),
        (90_000, "90 s"),
        (600_000, "10 min"),
        (7_200_000, "2 h"),
    ],
)
def test_what_is_shown_parses_back(ms: int, text: str) -> None:
    assert exact_duration(ms) == text
    assert parse_duration(text) == ms


def test_the_field_keeps_what_was_typed_and_says_what_is_wrong(qtbot: QtBot) -> None:
    field = DurationField("Time limit", 100, 600_000)
    qtbot.addWidget(field)
    field.set_value(10_000)
    assert (field.text(), field.value(), field.problem()) == ("10 s", 10_000, None)
    field.setText("30")
    assert field.value() == 10_000
    assert "with its unit" in (field.problem() or "")
    field.setText("5 ms")
    assert field.problem() == "Time limit must be 100 ms to 10 min, not 5 ms."
    field.setText("")
    assert field.problem() == "Time limit is required: 100 ms to 10 min."


def test_a_long_number_does_not_run_into_its_unit(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    field = DecimalField("Rate", 10**9, parent, unit="per second")
    field.resize(200, 32)
    parent.show()
    field.setText("123456789." * 9)
    field.end(False)
    field.grab()  # scrolls to the end
    (unit,) = field.findChildren(QLabel)
    assert unit.x() - 20 < field.cursorRect().center().x() < unit.x()


@pytest.mark.parametrize("kind", ["decimal", "number"])
def test_the_unit_stands_whole_at_the_end_of_its_field(qtbot: QtBot, kind: str) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    field: DecimalField | NumberField
    field = (
        DecimalField("Gap", 90, parent, unit="s")
        if kind == "decimal"
        else NumberField("Days", 1, 90, parent, unit="days")
    )
    field.resize(field.sizeHint().grownBy(QMargins(0, 0, 60, 0)))
    parent.show()
    (unit,) = (one for one in field.findChildren(QLabel) if one.text())
    assert field.rect().contains(unit.geometry())
    assert unit.x() > field.width() // 2
    assert abs(unit.geometry().center().y() - field.rect().center().y()) <= 1


def paste(edit: TextArea | TextEdit, text: str) -> None:
    data = QMimeData()
    data.setText(text)
    edit.insertFromMimeData(data)


@pytest.mark.parametrize("put", [TextArea.set_value, paste])
def test_a_field_wraps_long_lines_anywhere_and_others_at_words(qtbot, put) -> None:
    area = TextArea(80)
    qtbot.addWidget(area)
    put(area, f"a b\n{LONG[1:]}")
    assert area.wordWrapMode() == Mode.WrapAtWordBoundaryOrAnywhere
    put(area, f"a b\n{LONG}\nc")
    assert area.wordWrapMode() == Mode.WrapAnywhere
    area.set_value("a b")
    assert area.wordWrapMode() == Mode.WrapAtWordBoundaryOrAnywhere


def test_the_editor_of_a_body_wraps_them_only_while_bodies_are_wrapped(qtbot) -> None:
    theme, parent = Theme(), QWidget()
    qtbot.addWidget(parent)
    edit = TextEdit("Body", theme, parent)
    edit.show_text(LONG)
    theme.body_text.toggle_wrap()
    assert edit.wordWrapMode() == Mode.NoWrap
    edit.show_text("short")
    assert edit.wordWrapMode() == Mode.NoWrap
    edit.show_text(LONG)
    theme.body_text.toggle_wrap()
    assert edit.wordWrapMode() == Mode.WrapAnywhere


def test_json_is_coloured_at_its_places_but_for_long_lines(qtbot) -> None:
    theme, parent = Theme(), QWidget()
    qtbot.addWidget(parent)
    edit = TextEdit("Body", theme, parent)
    edit.show_text(f'["\U0001f600", 7,\n"{LONG}"]', coloured_from=0)
    first, second = (edit.document().findBlockByNumber(row).layout().formats() for row in range(2))
    assert [(one.start, one.length) for one in first] == [(0, 1), (1, 4), (5, 1), (7, 1), (8, 1)]
    assert second == []


class Shown:
    def __init__(self, over: QWidget) -> None:
        theme = Theme()
        self.over = over
        self.edit = TextArea(200, over)
        self.button = FormatJsonButton(self.edit, theme, Tasks(Messages()), over)
        self.failures: list[str] = []
        self.button.failed.connect(self.failures.append)
        vbox(self.button, self.edit, inside=over)
        over.show()

    def put_caret(self, place: int) -> None:
        cursor = self.edit.textCursor()
        cursor.setPosition(place)
        self.edit.setTextCursor(cursor)


@pytest.fixture
def button(qtbot: QtBot) -> Shown:
    over = QWidget()
    qtbot.addWidget(over)
    return Shown(over)


async def test_no_value_changes_and_undo_takes_one_step(button: Shown) -> None:
    button.edit.setPlainText(TEXT)
    button.edit.setFocus()
    button.edit.moveCursor(button.edit.textCursor().MoveOperation.End)
    QTest.keyClicks(button.edit, "  ")
    button.button.click()
    await until(lambda: raw_text(button.edit) == FORMATTED + "  ")
    QTest.keySequence(button.edit, QKeySequence("Ctrl+Z"))
    assert raw_text(button.edit) == TEXT + "  "
    assert button.failures == []


async def test_the_caret_stays_behind_its_character(button: Shown) -> None:
    for before in ("", "{", '{"a":1e4', TEXT[: TEXT.index("}") + 1], TEXT.rstrip()[:-2], TEXT.rstrip()):
        button.edit.setPlainText(TEXT)
        button.put_caret(len(before.encode("utf-16-le")) // 2)
        button.button.click()
        await until(lambda: raw_text(button.edit) == FORMATTED)
        place = button.edit.textCursor().position()
        shown = FORMATTED.encode("utf-16-le")[: 2 * place].decode("utf-16-le")
        assert "".join(shown.split()) == "".join(before.split())
        assert shown == shown.rstrip()


async def test_broken_json_is_left_and_its_place_named(button: Shown) -> None:
    button.edit.setPlainText('{"a": 1,\n "b" 2}')
    button.put_caret(4)
    button.button.click()
    await until(lambda: button.failures)
    assert button.failures == ["Not valid JSON at line 2, column 6: a colon was expected."]
    assert button.edit.toPlainText() == '{"a": 1,\n "b" 2}'
    assert button.edit.textCursor().position() == 4
    assert not button.edit.document().isUndoAvailable()


async def test_what_is_formatted_stays_without_a_step_to_undo(button: Shown) -> None:
    button.edit.setPlainText(FORMATTED)
    button.button.click()
    await settle(50)
    assert raw_text(button.edit) == FORMATTED
    assert not button.edit.document().isUndoAvailable()


async def test_what_is_typed_meanwhile_stays(button: Shown) -> None:
    button.edit.setPlainText("[" + "1," * 30_000 + "1]")
    button.button.click()
    await settle(1)
    button.edit.setPlainText("[2]")
    await until(lambda: not button.button._tasks._running)
    assert button.edit.toPlainText() == "[2]"


def test_it_is_for_objects_and_lists(button: Shown) -> None:
    for text, shown in (("", False), (" \n{", True), ("[1", True), ("1", False), ("a=1", False), ("<a/>", False)):
        button.edit.setPlainText(text)
        assert button.button.is_json() is shown
