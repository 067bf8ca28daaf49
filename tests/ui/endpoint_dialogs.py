"""The endpoint form over a window, and what it says is wrong."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.core.model import Endpoint
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from tests.ui.desk import Desk


def open_dialog(desk: Desk, window: QWidget, endpoint: Endpoint | None = None) -> EndpointDialog:
    """The form of a new endpoint, or of this one."""
    window.resize(900, 700)
    dialog = EndpointDialog(desk.services, desk.theme, desk.tasks, window, endpoint)
    dialog.open()
    return dialog


def errors_shown(dialog: EndpointDialog) -> dict[str, str]:
    """By the paths of the fields."""
    return {path: field.error() for path, field in dialog.form.fields.items() if field.error()}
