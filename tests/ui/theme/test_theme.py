"""The themes: text is legible on every ground in both, and a change reaches everything at once."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from PySide6 import QtWidgets
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QFont, QPalette, QRawFont
from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.core.files import resource
from app.core.model import METHODS
from app.ui.commands.command import add_view_action
from app.ui.requests.activity_chart import colours
from app.ui.theme.icons import app_icon, characters, family, mark
from app.ui.theme.theme import Theme, style_sheet
from app.ui.theme.tokens import DARK, LIGHT, Tokens, contrast, mix
from app.ui.widgets.badge import pill_colours
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import label

AA = 4.5
NON_TEXT = 3.0
THEMES = pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
GROUNDS = ("bg", "surface", "surface_raised", "sidebar", "hover", "selection")
TEXTS = ("text", "text_muted", "text_faint", "accent_text")
CODE = ("code_key", "code_string", "code_number", "code_literal", "code_punctuation")


def test_contrast_is_the_wcag_formula() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1


@THEMES
@pytest.mark.parametrize("ground", GROUNDS)
def test_text_is_legible_on_every_ground(tokens: Tokens, ground: str) -> None:
    weak = {text: contrast(getattr(tokens, text), getattr(tokens, ground)) for text in TEXTS}
    assert min(weak.values()) >= AA, weak


@THEMES
def test_code_colours_are_legible_where_code_stands(tokens: Tokens) -> None:
    for ground in ("surface", "bg", "selection"):
        weak = {code: contrast(getattr(tokens, code), getattr(tokens, ground)) for code in CODE}
        assert min(weak.values()) >= AA, (ground, weak)


@THEMES
@pytest.mark.parametrize("tone", ["neutral", "accent", "success", "warning", "danger"])
def test_pills_are_legible(tokens: Tokens, tone: str) -> None:
    ground, text = pill_colours(tokens, tone)  # type: ignore[arg-type]
    assert contrast(text, ground) >= AA


@THEMES
def test_states_are_legible_on_plain_grounds(tokens: Tokens) -> None:
    for state in ("success", "warning", "danger"):
        for ground in ("surface", "bg", "sidebar"):
            assert contrast(getattr(tokens, state), getattr(tokens, ground)) >= AA, (state, ground)


@THEMES
def test_text_on_filled_buttons_is_legible(tokens: Tokens) -> None:
    for fill in (tokens.accent, tokens.accent_hover):
        assert contrast(tokens.on_accent, fill) >= AA
    for fill in (tokens.danger_fill, tokens.danger_fill_hover):
        assert contrast(tokens.on_danger, fill) >= AA


@THEMES
def test_every_method_has_a_legible_badge_of_its_own(tokens: Tokens) -> None:
    assert set(tokens.methods) == set(METHODS)
    assert len(set(tokens.methods.values())) == len(METHODS)
    for method in (*METHODS, "PROPFIND"):
        colour = tokens.method(method)
        for ground in (tokens.surface, tokens.selection):
            assert contrast(colour, mix(colour, ground, 0.12)) >= AA, method


@THEMES
def test_switches_stand_out_in_both_positions(tokens: Tokens) -> None:
    for ground in (tokens.surface, tokens.sidebar):
        for track in (tokens.track, tokens.accent):
            assert contrast(track, ground) >= NON_TEXT, (track, ground)


@THEMES
@pytest.mark.parametrize("ground", ["surface", "accent_soft"])
def test_bars_of_the_chart_stand_out_where_they_are_drawn(tokens: Tokens, ground: str) -> None:
    weak = {colour: contrast(colour, getattr(tokens, ground)) for colour in (*colours(tokens), tokens.accent)}
    assert min(weak.values()) >= NON_TEXT, weak


@THEMES
def test_the_style_sheet_is_complete(tokens: Tokens, qapp: QApplication) -> None:
    sheet = style_sheet(tokens)
    assert "$" not in sheet
    assert sheet.count("{") == sheet.count("}")
    for part in ("QScrollBar", "QComboBox", "QAbstractSpinBox", "QToolTip", "QMenu", "QSlider", "QTabBar"):
        assert part in sheet


def test_every_picture_the_style_sheet_names_exists() -> None:
    names = [part.split('")')[0] for part in style_sheet(LIGHT).split('url("')[1:]]
    assert names
    for name in names:
        assert resource(f"icons/controls/{name.rsplit('/', 1)[1]}").is_file(), name


def test_a_change_reaches_application_and_widgets(qapp: QApplication, qtbot: QtBot) -> None:
    theme = Theme()
    theme.apply(qapp)
    theme.set_choice("light")
    button = IconButton("copy", "Copy", theme)
    qtbot.addWidget(button)
    before = button.icon().pixmap(16, 16).toImage()
    with qtbot.waitSignal(theme.changed):
        theme.set_choice("dark")
    assert theme.is_dark
    assert qapp.palette().color(QPalette.ColorRole.Window) == QColor(DARK.bg)
    assert DARK.bg in qapp.styleSheet()
    assert button.icon().pixmap(16, 16).toImage() != before
    theme.set_choice("light")
    assert qapp.palette().color(QPalette.ColorRole.Window) == QColor(LIGHT.bg)


@pytest.mark.parametrize("choice", ["light", "dark"])
def test_a_window_put_together_undressed_looks_like_any_other(
    choice: Literal["light", "dark"], qapp: QApplication, qtbot: QtBot
) -> None:
    theme = Theme()
    theme.apply(qapp)
    theme.set_choice(choice)

    def window() -> QWidget:
        made = QWidget()
        qtbot.addWidget(made)
        rows = QVBoxLayout(made)
        for widget in (
            label("Ledger", "title"),
            Button("Save", theme, kind="primary"),
            IconButton("copy", "Copy", theme),
        ):
            rows.addWidget(widget)
        return made

    as_any_other = window().grab().toImage()
    with theme.deferred_styling():
        assert not qapp.styleSheet()
        deferred_styling = window()
    assert deferred_styling.grab().toImage() == as_any_other
    theme.set_choice("light")


def test_an_error_in_a_window_leaves_the_application_dressed(qapp: QApplication) -> None:
    theme = Theme()
    theme.apply(qapp)
    dress = qapp.styleSheet()
    with pytest.raises(ZeroDivisionError), theme.deferred_styling():
        _ = 1 / 0
    assert qapp.styleSheet() == dress


def test_system_is_light_where_the_system_does_not_say(qapp: QApplication) -> None:
    theme = Theme()
    theme.apply(qapp)
    assert theme.choice == "system"
    dark = qapp.styleHints().colorScheme() == Qt.ColorScheme.Dark
    assert theme.is_dark is dark


def test_choosing_what_is_in_force_tells_nobody(qapp: QApplication, qtbot: QtBot) -> None:
    theme = Theme()
    theme.apply(qapp)
    theme.set_choice("light")
    with qtbot.assertNotEmitted(theme.changed):
        theme.set_choice("light")


def test_every_icon_is_in_the_font_of_icons(qapp: QApplication) -> None:
    """The characters are for private use: another font would show a box for each."""
    font = QRawFont.fromFont(QFont(family()))
    assert font.familyName() == family()
    assert [name for name, character in characters().items() if not font.supportsCharacter(ord(character))] == []


def test_every_icon_can_be_drawn(qapp: QApplication) -> None:
    theme = Theme()
    for name in characters():
        image = theme.icon(name).pixmap(16, 16).toImage()
        assert any(image.pixelColor(x, y).alpha() for x in range(16) for y in range(16)), name


def test_a_window_is_offered_the_mark_sharp_in_every_size(qapp: QApplication) -> None:
    icon = app_icon()
    assert [size.width() for size in icon.availableSizes()] == [16, 24, 32, 48, 64, 128, 256]
    for size in icon.availableSizes():
        image = icon.pixmap(size, 1.0).toImage()
        centre, corner = image.pixelColor(size.width() // 2, size.height() * 9 // 16), image.pixelColor(0, 0)
        assert centre.name() == "#ffd166"
        assert corner.alpha() < 255


def test_small_icons_leave_no_margin_large_ones_do(qapp: QApplication) -> None:
    """Two drawings: 32 pixels are too few for a margin and the line."""
    sizes = (16, 32, 48, 64, 256)
    pictures = [app_icon().pixmap(QSize(size, size), 1.0).toImage() for size in sizes]
    assert [picture.pixelColor(0, picture.height() // 2).alpha() for picture in pictures] == [255, 255, 0, 0, 0]


@pytest.mark.parametrize("size", [16, 32, 52, 104])
def test_the_mark_in_the_window_fills_its_size(qapp: QApplication, size: int) -> None:
    picture = mark(size).toImage()
    assert picture.size() == QSize(size, size) * picture.devicePixelRatio()
    middle, last = picture.width() // 2, picture.width() - 1
    edges = [(0, middle), (last, middle), (middle, 0), (middle, last)]
    assert [picture.pixelColor(x, y).alpha() for x, y in edges] == [255] * 4


def test_a_button_with_an_action_looks_like_any_other(qapp: QApplication, qtbot: QtBot) -> None:
    """Qt would mark it as one that opens a menu."""
    theme, window = Theme(), QWidget()
    theme.apply(qapp)
    qtbot.addWidget(window)
    plain, with_action = (IconButton("expand", "Open", theme, window) for _ in range(2))
    add_view_action(with_action, "Copy", window.update)
    window.show()
    assert plain.grab().toImage() == with_action.grab().toImage()


def test_text_keeps_the_theme_of_a_widget_made_before(qapp: QApplication, qtbot: QtBot) -> None:
    theme = Theme()
    theme.apply(qapp)
    theme.set_choice("light")
    text = QLabel("Hookline")
    qtbot.addWidget(text)
    text.show()
    theme.set_choice("dark")
    text.ensurePolished()
    assert text.palette().color(QPalette.ColorRole.WindowText) == QColor(DARK.text)
    theme.set_choice("light")


def test_no_rule_of_the_style_sheet_asks_for_a_property_that_qt_itself_has() -> None:
    """Such a property takes no word, so that the rule would never apply."""
    rules = re.findall(r"(Q[A-Za-z]+)((?:\[\w+=\"[^\"]*\"\])+)", style_sheet(LIGHT))
    asked = {(widget, name) for widget, tests in rules for name in re.findall(r"\[(\w+)=", tests)}
    assert len(asked) > 10
    for widget, name in asked:
        meta = getattr(QtWidgets, widget).staticMetaObject
        number = meta.indexOfProperty(name)
        assert number < 0 or meta.property(number).typeName() in ("QString", "bool"), (widget, name)


@THEMES
def test_a_link_is_legible_on_a_bar(tokens: Tokens) -> None:
    assert contrast(tokens.accent_text, tokens.warning_soft) >= AA
