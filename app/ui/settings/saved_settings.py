"""What the settings dialog saves and shows, and what the window can ask of it."""

from __future__ import annotations

from typing import Annotated

from app.core.fields import Field
from app.core.model import Plan
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
_SHOWN = (
    "theme",
    "start_at_sign_in",
    "on_close",
    "port",
    "host",
    "base_url",
    "proxies",
    "tunnel_program",
    "tunnel_autostart",
    "api_port",
    "body_limit",
)
_SHOWN_STORAGE = ("storage_limit", "when_full", "response_limit", "disk_reserve")


def shown_settings(services: Services) -> tuple[str, ...]:
    """Those with a row in the dialog; a team's server has limits of its own."""
    storage = _SHOWN_STORAGE if services.store.file is not None else ("response_limit",)
    return (*_SHOWN, "plan", *storage)
