"""Editing a field of headers."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractButton

from app.ui.widgets.headers_field import NAME, VALUE, HeadersField


def type_header(field: HeadersField, name: str, value: str) -> None:
    """Into the empty row."""
    rows = field.grid.rows
    row = rows.rowCount() - 1
    rows.setData(rows.index(row, NAME), name)
    rows.setData(rows.index(row, VALUE), value)


def choose_view(field: HeadersField, view: str) -> None:
    buttons = field.views.findChildren(QAbstractButton)
    next(one for one in buttons if one.property("key") == view).click()
