"""Style sheet of buttons, fields and other controls."""

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
QPushButton:pressed, QPushButton:open { background: $pressed; }
QPushButton:focus { border: 2px solid $accent; padding: 0 11px; min-height: 28px; }
QPushButton:disabled { background: $bg; border-color: $border; color: $text_faint; }
QPushButton::menu-indicator {
    image: url("$controls/chevron-down.svg"); width: 12px; subcontrol-position: right center; right: 8px;
}
QPushButton[menu="true"] { padding-right: 24px; }
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
QPushButton[compact="true"] { min-height: 26px; padding: 0 8px; }
QPushButton[compact="true"]:focus { min-height: 24px; padding: 0 7px; }

QToolButton {
    background: transparent; border: 1px solid transparent; border-radius: ${radius}px; padding: 5px;
    color: $text_muted;
}
QToolButton:hover { background: $hover; color: $text; }
QToolButton:pressed, QToolButton:open { background: $pressed; }
QToolButton:checked { background: $selection; color: $text; }
QToolButton:focus { border-color: $accent; }
QToolButton:disabled { color: $text_disabled; }
QToolButton::menu-indicator { image: none; }

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
QLineEdit[invalid="true"], QPlainTextEdit[invalid="true"], QAbstractSpinBox[invalid="true"] {
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

QCheckBox, QRadioButton { spacing: 8px; background: transparent; }
QCheckBox::indicator, QRadioButton::indicator {
    width: 14px; height: 14px; border: 1px solid $track; background: $surface;
}
QCheckBox::indicator { border-radius: ${radius_small}px; }
QRadioButton::indicator { border-radius: 8px; }
QCheckBox::indicator:hover, QRadioButton::indicator:hover { border-color: $accent; }
QCheckBox::indicator:checked {
    background: $accent; border-color: $accent; image: url("$controls/check.svg");
}
QRadioButton::indicator:checked {
    background: $accent; border-color: $accent; image: url("$controls/dot.svg");
}
QCheckBox::indicator:focus, QRadioButton::indicator:focus {
    border: 2px solid $accent; width: 12px; height: 12px;
}
QCheckBox:disabled, QRadioButton:disabled { color: $text_faint; }

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
