"""Style sheet of the window's own parts: cards, sidebar, bars and dialogs, named by the property `part`."""

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
QPushButton[part="pill"] { min-height: 26px; padding: 0 14px 0 10px; border-radius: 14px; }

QListView[part="found"] { background: $surface_raised; border: none; }
QListView[part="sidebar"] { background: transparent; border: none; }
"""
