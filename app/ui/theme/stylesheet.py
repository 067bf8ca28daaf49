"""The application's style sheet, made from tokens. Widgets select their style by the dynamic properties used here."""

from __future__ import annotations

from dataclasses import fields
from string import Template

from app.core.files import resource
from app.ui.theme import fonts, metrics
from app.ui.theme.tokens import Tokens

CONTROLS = """
* { outline: none; }
QWidget { color: $text; selection-background-color: $selection; selection-color: $text; }
QMainWindow, QDialog { background: $bg; }
QLabel { background: transparent; }
QLabel:disabled { color: $text_faint; }
QLabel[kind="display"] { font-size: ${display}px; font-weight: 600; }
QLabel[kind="title"] { font-size: ${title}px; font-weight: 600; }
QLabel[alarm="danger"] { color: $danger; }
QLabel[kind="heading"] { font-size: ${large}px; font-weight: 600; }
QLabel[kind="strong"] { font-weight: 600; }
QLabel[kind="muted"] { color: $text_muted; }
QLabel[kind="small"] { color: $text_muted; font-size: ${small}px; }
QLabel[kind="faint"] { color: $text_faint; font-size: ${small}px; }
QLabel[kind="section"] { color: $text_faint; font-size: 11px; font-weight: 600; letter-spacing: 0.5px; }
QLabel[kind="error"] { color: $danger; font-size: ${small}px; }
QLabel[kind="success"] { color: $success; font-size: ${small}px; }

QLabel[tone] { font-size: 11px; font-weight: 600; padding: 1px 7px; border-radius: 9px; min-height: 16px; }
QLabel[tone="neutral"] { background: $pressed; color: $text_muted; }
QLabel[tone="accent"] { background: $accent_soft; color: $accent_text; }
QLabel[tone="success"] { background: $success_soft; color: $success; }
QLabel[tone="warning"] { background: $warning_soft; color: $warning; }
QLabel[tone="danger"] { background: $danger_soft; color: $danger; }

QPushButton {
    min-height: ${inner}px; padding: 0 12px; border-radius: ${radius}px; font-weight: 500;
    background: $surface; border: 1px solid $border_strong; color: $text;
}
QPushButton:hover { background: $hover; }
QPushButton:pressed { background: $pressed; }
QPushButton:focus { border: 2px solid $accent; padding: 0 11px; min-height: 28px; }
QPushButton:disabled { background: $bg; border-color: $border; color: $text_faint; }
QPushButton[kind="primary"] {
    background: $accent; border-color: $accent; color: $on_accent; font-weight: 600;
}
QPushButton[kind="primary"]:hover { background: $accent_hover; border-color: $accent_hover; }
QPushButton[kind="primary"]:focus { border-color: $text; }
QPushButton[kind="primary"]:disabled { background: $pressed; border-color: $pressed; color: $text_faint; }
QPushButton[kind="danger"] {
    background: $danger_fill; border-color: $danger_fill; color: $on_danger; font-weight: 600;
}
QPushButton[kind="danger"]:hover { background: $danger_fill_hover; border-color: $danger_fill_hover; }
QPushButton[kind="danger"]:focus { border-color: $text; }
QPushButton[kind="ghost"] { background: transparent; border-color: transparent; color: $text_muted; }
QPushButton[kind="ghost"]:hover { background: $hover; color: $text; }
QPushButton[kind="ghost"]:pressed { background: $pressed; }
QPushButton[kind="ghost"]:focus { border-color: $accent; }
QPushButton[kind="ghost"]:disabled { color: $text_disabled; }
QPushButton[kind="link"] {
    background: transparent; border-color: transparent; color: $accent_text; padding: 0 4px; min-height: 22px;
}
QPushButton[kind="link"]:hover { text-decoration: underline; }
QPushButton[kind="link"]:focus { border: 1px solid $accent; padding: 0 4px; min-height: 22px; }
QPushButton[flush="true"], QPushButton[flush="true"]:focus {
    padding: 0 4px 0 0; border-left: none; border-radius: 0; text-align: left;
}
QPushButton[flush="true"]:focus { border-color: transparent; border-bottom-color: $accent; }
QPushButton[compact="true"] { min-height: 26px; padding: 0 8px; }
QPushButton[compact="true"]:focus { min-height: 24px; padding: 0 7px; }

QToolButton {
    background: transparent; border: 1px solid transparent; border-radius: ${radius}px; padding: 5px;
    color: $text_muted;
}
QToolButton:hover { background: $hover; color: $text; }
QToolButton:pressed { background: $pressed; }
QToolButton:checked { background: $selection; color: $text; }
QToolButton:focus { border-color: $accent; }
QToolButton:disabled { color: $text_disabled; }
QToolButton::menu-indicator { image: none; } /* of a button that has actions */

QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox, QComboBox {
    background: $surface; border: 1px solid $border_strong; border-radius: ${radius}px; color: $text;
    padding: 0 8px;
}
QLineEdit, QAbstractSpinBox, QComboBox { min-height: ${inner}px; }
QPlainTextEdit, QTextEdit { padding: 4px; }
QLineEdit, QPlainTextEdit, QTextEdit { placeholder-text-color: $text_faint; }
QLineEdit:hover, QAbstractSpinBox:hover, QComboBox:hover { border-color: $track; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QAbstractSpinBox:focus, QComboBox:focus, QComboBox:on {
    border: 2px solid $accent; padding: 0 7px;
}
QLineEdit:focus, QAbstractSpinBox:focus, QComboBox:focus, QComboBox:on { min-height: 28px; }
QPlainTextEdit:focus, QTextEdit:focus { padding: 3px; }
QLineEdit[invalid="true"], QPlainTextEdit[invalid="true"], QAbstractSpinBox[invalid="true"], QComboBox[invalid="true"] {
    border-color: $danger;
}
QLineEdit:disabled, QPlainTextEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled {
    background: $bg; border-color: $border; color: $text_faint;
}
QLineEdit[frameless="true"], QPlainTextEdit[frameless="true"], QTextEdit[frameless="true"] {
    border: none; background: transparent;
}
QLineEdit > QToolButton { padding: 2px; border: none; background: transparent; }

QAbstractSpinBox { padding: 0; }
QAbstractSpinBox:focus { padding: 0; }
QAbstractSpinBox > QLineEdit, QComboBox > QLineEdit {
    border: none; background: transparent; padding: 0 0 0 6px; min-height: 0;
}
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {
    border: none; width: 20px; background: transparent; border-radius: ${radius_small}px; margin: 1px;
}
QAbstractSpinBox::up-button { subcontrol-position: top right; }
QAbstractSpinBox::down-button { subcontrol-position: bottom right; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: $hover; }
QAbstractSpinBox::up-arrow { image: url("$controls/chevron-up.svg"); width: 12px; height: 12px; }
QAbstractSpinBox::down-arrow { image: url("$controls/chevron-down.svg"); width: 12px; height: 12px; }

QComboBox::drop-down { border: none; width: 24px; }
QComboBox::down-arrow { image: url("$controls/chevron-down.svg"); width: 12px; height: 12px; }
QComboBox QAbstractItemView {
    background: $surface_raised; border: 1px solid $border_strong; border-radius: ${radius}px; padding: 4px;
    outline: none;
}
QComboBox QAbstractItemView::item {
    min-height: 28px; padding: 0 8px; border-radius: ${radius_small}px; color: $text;
}
QComboBox QAbstractItemView::item:hover, QComboBox QAbstractItemView::item:selected {
    background: $selection; color: $text;
}

QCheckBox { spacing: 8px; background: transparent; }
QCheckBox::indicator {
    width: 14px; height: 14px; border: 1px solid $track; border-radius: ${radius_small}px; background: $surface;
}
QCheckBox::indicator:hover { border-color: $accent; }
QCheckBox::indicator:checked {
    background: $accent; border-color: $accent; image: url("$controls/check.svg");
}
QCheckBox::indicator:focus { border: 2px solid $accent; width: 12px; height: 12px; }
QCheckBox:disabled { color: $text_faint; }

QSlider { min-height: 20px; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: $border_strong; }
QSlider::sub-page:horizontal { height: 4px; border-radius: 2px; background: $accent; }
QSlider::handle:horizontal {
    width: 14px; height: 14px; margin: -6px 0; border-radius: 8px; background: $surface;
    border: 1px solid $track;
}
QSlider::handle:horizontal:hover { border-color: $accent; }
QSlider::handle:horizontal:focus {
    border: 2px solid $accent; width: 12px; height: 12px;
}

QProgressBar {
    background: $pressed; border: none; border-radius: 3px; min-height: 6px; max-height: 6px;
    text-align: center; color: transparent;
}
QProgressBar::chunk { background: $accent; border-radius: 3px; }
"""
"""Labels, buttons, fields and other controls."""


FRAME = """
QFrame[part="card"] { background: $surface; border: 1px solid $border; border-radius: ${radius_card}px; }
QFrame[part="field"] { background: $bg; border: 1px solid $border; border-radius: ${radius}px; }
QFrame[part="surface"], QWidget[part="surface"] { background: $surface; }
QWidget[part="page"] { background: $bg; }
QFrame[part="line"] { background: $border; border: none; }
QFrame[part="header"] { background: $surface; border: none; border-bottom: 1px solid $border; }
QFrame[part="footer"] { background: $bg; border: none; border-top: 1px solid $border; }
QFrame[part="footer"][tone="warning"] { background: $warning_soft; }
QFrame[part="note"] { background: $warning_soft; border: none; border-radius: ${radius}px; }
QFrame[part="note"][writing="true"] { background: transparent; }
QFrame[part="selection"] { background: $accent_soft; border: none; border-top: 1px solid $border; }
QFrame[part="undo"] { background: $surface_raised; border: none; border-top: 1px solid $border_strong; }
QFrame[part="sidebar"] { background: $sidebar; border: none; }
QFrame[part="toast"], QFrame[part="popup"] {
    background: $surface_raised; border: 1px solid $border_strong; border-radius: ${radius_card}px;
}
QFrame[part="tile"] { background: $accent_soft; border: none; border-radius: 12px; }
QDialog { background: $surface; }

QFrame[part="bar"] { border: none; border-bottom: 1px solid $border; }
QFrame[part="bar"][tone="danger"] { background: $danger_soft; }
QFrame[part="bar"][tone="warning"] { background: $warning_soft; }
QFrame[part="bar"][tone="info"] { background: $accent_soft; }
QFrame[part="bar"] QPushButton { background: $surface; min-height: 26px; }
QFrame[part="bar"] QPushButton:hover { background: $hover; }
QFrame[part="bar"] QPushButton[kind="link"] { background: transparent; min-height: 22px; }

QFrame[part="notice"] { border: 1px solid $border; border-radius: ${radius}px; }
QFrame[part="notice"][tone="danger"] { background: $danger_soft; }
QFrame[part="notice"][tone="warning"] { background: $warning_soft; }
QFrame[part="notice"] QPushButton { background: $surface; min-height: 26px; }
QFrame[part="notice"] QPushButton:hover { background: $hover; }

QAbstractScrollArea[part="edited"] { border: 1px solid $border_strong; border-radius: ${radius}px; padding: 1px; }
QAbstractScrollArea[part="edited"]:focus { border-color: $accent; }
QAbstractScrollArea[part="edited"][invalid="true"] { border-color: $danger; }
QAbstractScrollArea[part="edited"]:disabled { background: $bg; border-color: $border; color: $text_faint; }
QTableView[part="edited"] QLineEdit, QTableView[part="edited"] QLineEdit:focus {
    min-height: 0; padding: 0 8px 1px 8px; border: 1px solid $accent; border-radius: 0;
}
QTableView[part="edited"] QLineEdit[invalid="true"] { border-color: $danger; }
QFrame[part="segmented"] { background: $pressed; border: none; border-radius: 6px; }
QFrame[part="segmented"] QToolButton {
    background: transparent; color: $text_muted; border: 1px solid transparent; border-radius: 4px;
    padding: 2px 7px; min-height: 18px; font-size: 12px; font-weight: 500;
}
QFrame[part="segmented"][compact="true"] QToolButton { padding: 1px 3px; min-height: 16px; }
QFrame[part="segmented"] QToolButton:hover { color: $text; }
QFrame[part="segmented"] QToolButton:checked {
    background: $surface_raised; color: $text; border-color: $border_strong;
}
QFrame[part="segmented"] QToolButton:focus { border-color: $accent; }
QFrame[part="segmented"] QToolButton:disabled { color: $text_disabled; }

QPlainTextEdit[part="code"], QPlainTextEdit[part="code"]:focus { border: none; padding: 0; }
QTableView[part="pairs"] QHeaderView::section { padding: 0 12px; }
QTableView[part="pairs"] QHeaderView::section:first { padding-left: 16px; }
QTableView[part="cells"]::item { border: none; padding: 0 8px; }
QTableView[part="cells"] QHeaderView::section { padding: 0 11px; }
QTableView[part="cells"] QHeaderView::section:vertical { min-height: 0; }
QTreeView[part="form"]::item { padding: 4px 13px; }
QTreeView[part="form"] QHeaderView::section { padding: 0 16px; }
QSplitter[part="gap"]::handle, QSplitter[part="gap"]::handle:hover { background: transparent; }

QPushButton[part="chip"] { min-height: 20px; padding: 0 8px; border-radius: 11px; }
QPushButton[part="term"], QPushButton[part="term"]:focus {
    background: $accent_soft; border: 1px solid $accent_soft; border-radius: 10px; color: $accent_text;
    min-height: 18px; padding: 0 6px; font-weight: 400;
}
QPushButton[part="term"]:hover { color: $text; text-decoration: none; }
QPushButton[part="term"]:focus { border-color: $accent; }
QPushButton[part="pill"] { min-height: 26px; padding: 0 14px 0 10px; border-radius: 14px; }

QListView[part="choices"] { background: $surface_raised; border: 1px solid $border_strong; padding: 4px; }
QListView[part="choices"]::item { min-height: 24px; padding: 0 6px; border-radius: ${radius_small}px; }
QListView[part="found"] { background: $surface_raised; border: none; }
"""
"""The window's own parts: cards, sidebar, bars and dialogs, named by the property `part`."""


VIEWS = """
QAbstractScrollArea { background: transparent; border: none; }
QScrollArea > QWidget > QWidget[transparent="true"] { background: transparent; }
QAbstractItemView {
    background: $surface; border: none; outline: none; color: $text; gridline-color: $border;
    selection-background-color: $selection; selection-color: $text; alternate-background-color: $bg;
}
QAbstractItemView::item:hover { background: $hover; }
QTableView::item:hover { background: transparent; } /* it would be one cell of a row */
QAbstractItemView::item:selected { background: $selection; color: $text; }
QTableView::item, QTreeView::item { padding: 0 8px; border: none; border-bottom: 1px solid $border; }
QTreeView::item { border-bottom: none; padding: 4px; }
QListWidget, QListView[part="rounded"] { background: transparent; }
QListWidget::item, QListView[part="rounded"]::item { padding: 0 8px; margin: 1px 0; border-radius: ${radius}px; }
QListWidget::item { border: 2px solid transparent; padding: 0 6px; }
QListWidget::item:focus { border-color: $accent; }
QTreeView::branch { background: transparent; }
QTreeView::branch:has-children:closed { image: url("$controls/chevron-right.svg"); }
QTreeView::branch:has-children:open { image: url("$controls/chevron-down.svg"); }
QHeaderView { background: $surface; border: none; }
QHeaderView::section {
    background: $surface; color: $text_faint; border: none; border-bottom: 1px solid $border;
    padding: 0 11px; min-height: 35px; font-size: ${small}px; font-weight: 500; text-align: left;
}
QHeaderView::up-arrow { image: url("$controls/chevron-up.svg"); width: 12px; }
QHeaderView::down-arrow { image: url("$controls/chevron-down.svg"); width: 12px; }
QTableCornerButton::section { background: $surface; border: none; }

QTabWidget::pane { border: none; border-top: 1px solid $border; }
QTabWidget[part="card"]::tab-bar { left: 9px; }
QTabBar { background: transparent; qproperty-drawBase: 0; border: none; }
QTabBar::tab {
    background: transparent; color: $text_muted; padding: 0 6px; margin: 2px 3px 0 0; min-height: 32px;
    border: 1px solid transparent; border-bottom: 2px solid transparent; font-weight: 500;
}
QTabBar::tab:hover { color: $text; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabBar::tab:focus {
    border: 1px solid $accent; border-bottom-width: 2px; border-top-left-radius: ${radius_small}px;
    border-top-right-radius: ${radius_small}px;
}
QTabBar::tab:disabled { color: $text_disabled; }
QTabBar::scroller { width: 48px; }
QTabBar QToolButton { background: $surface; border: none; padding: 0; }
QTabBar QToolButton::left-arrow { image: url("$controls/chevron-left.svg"); }
QTabBar QToolButton::right-arrow { image: url("$controls/chevron-right.svg"); }

QSplitter::handle { background: $border; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QSplitter::handle:hover { background: $accent; }

QScrollBar { background: transparent; border: none; margin: 0; }
QScrollBar:vertical { width: 12px; }
QScrollBar:horizontal { height: 12px; }
QScrollBar::handle { background: $border_strong; border-radius: 3px; margin: 3px; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::handle:hover, QScrollBar::handle:pressed { background: $track; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; border: none; background: none; }
QScrollBar::add-page, QScrollBar::sub-page { background: none; }
QAbstractScrollArea::corner { background: transparent; border: none; }

QMenu {
    background: $surface_raised; border: 1px solid $border_strong; border-radius: ${radius_card}px;
    padding: 4px;
}
QMenu::item { min-height: 28px; padding: 0 24px 0 12px; border-radius: ${radius_small}px; color: $text; }
QMenu::item:selected { background: $selection; }
QMenu::item:disabled { color: $text_faint; background: transparent; }
QMenu::icon { padding-left: 8px; }
QMenu::separator { height: 1px; background: $border; margin: 4px 8px; }
QMenu::indicator { width: 12px; height: 12px; left: 6px; }
QMenu::right-arrow { image: url("$controls/chevron-right.svg"); width: 12px; margin-right: 8px; }

QToolTip {
    background: $surface_raised; color: $text; border: 1px solid $border_strong; padding: 4px 8px;
    font-size: ${small}px;
}
QMessageBox { background: $surface; }
"""
"""Lists, tables, tabs, scroll bars, menus and tooltips."""


def style_sheet(tokens: Tokens) -> str:
    """The style sheet for `tokens`."""
    colours = {field.name: getattr(tokens, field.name) for field in fields(tokens)}
    return Template(VIEWS + CONTROLS + FRAME).substitute(
        colours,
        small=fonts.SMALL,
        large=fonts.LARGE,
        title=fonts.TITLE,
        display=fonts.DISPLAY,
        radius=metrics.RADIUS,
        radius_small=metrics.RADIUS_SMALL,
        radius_card=metrics.RADIUS_CARD,
        inner=metrics.CONTROL - 2,
        controls=resource("icons/controls").as_posix(),
    )
