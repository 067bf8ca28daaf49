"""The settings dialog; and what it saves and shows, and what the window can ask of it."""

from __future__ import annotations

from typing import Annotated

from app.core.model import Plan
from app.core.record import Field, fields_of
from app.core.settings import Settings
from app.ui.services import Services


class SavedSettings(Settings, frozen=True):
    """What the dialog saves: the settings, the account's plan, and the start at sign-in."""

    plan: Annotated[Plan, Field(title="Plan")] = Plan.FREE
    start_at_sign_in: Annotated[
        bool, Field(title="Start Hookline when I sign in", help="It starts minimized, ready to catch requests.")
    ] = False


def saved_settings(services: Services, *, starts: bool) -> SavedSettings:
    """Those that are in force; `starts` is the start at sign-in, which the system has to be asked for."""
    now = services.settings()
    values = {name: getattr(now, name) for name in Settings.__struct_fields__}
    return SavedSettings(**values, plan=services.store.account.plan, start_at_sign_in=starts)


BACKUP, RESTORE = "backup", "restore"
"""What the window can ask the dialog to begin."""
_NOT_SHOWN = {"api_host", "store", "window_captures"}
_OF_FILE = {"storage_limit", "when_full", "disk_reserve"}
"""A team's server has limits of its own."""


def shown_settings(services: Services) -> list[str]:
    """Those with a row in the dialog."""
    left_out = _NOT_SHOWN if services.store.file is not None else _NOT_SHOWN | _OF_FILE
    return [key for key in fields_of(SavedSettings) if key not in left_out]
