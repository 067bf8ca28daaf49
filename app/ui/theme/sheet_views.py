"""Style sheet of lists, tables, tabs, scroll bars, menus and tooltips."""

VIEWS = """
QAbstractScrollArea { background: transparent; border: none; }
QScrollArea > QWidget > QWidget[ground="true"] { background: transparent; }
QAbstractItemView {
    background: $surface; border: none; outline: none; color: $text; gridline-color: $border;
    selection-background-color: $selection; selection-color: $text; alternate-background-color: $bg;
}
QAbstractItemView::item:hover { background: $hover; }
QAbstractItemView::item:selected { background: $selection; color: $text; }
QTableView::item, QTreeView::item { padding: 0 8px; border: none; border-bottom: 1px solid $border; }
QTreeView::item { border-bottom: none; padding: 4px; }
QListWidget { background: transparent; }
QListWidget::item { padding: 0 8px; margin: 1px 0; border-radius: ${radius}px; }
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
QStatusBar { background: $bg; color: $text_muted; }
"""
