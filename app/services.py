"""Connects the window's services to a running application."""

from __future__ import annotations

from collections.abc import Callable

from app import __version__
from app.application import Application
from app.db.sqlite.backup.restore import RestoreStaging
from app.server.send_test import SendTest
from app.system.about import About
from app.system.autostart.autostart import autostart_for
from app.ui.services import Services
from hookline.running import usual_folder


def _keep_running() -> None:
    """The default for `restart_restored`."""


def services_of(application: Application, restart_restored: Callable[[], None] = _keep_running) -> Services:
    """`application` must be open. `restart_restored` restarts the program with the backup that was staged."""
    store, refused = application.store, application.refused

    def listening() -> str | None:
        address = application.addresses.listening
        if address is None:
            return None
        host, port = address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    return Services(
        store=store,
        deletes=store.trash,
        replays=application.replays,
        tunnels=application.tunnels,
        restores=RestoreStaging(application.folder, lambda: application.settings.disk_reserve),
        restart_restored=restart_restored,
        refused=refused,
        bus=application.bus,
        capture_url=application.addresses.capture_url,
        providers=application.catalogue.names,
        provider_marks=application.catalogue.marks,
        own_bases=application.addresses.own_bases,
        listening=listening,
        settings=lambda: application.settings,
        overridden=lambda: application.current_settings.overridden,
        apply_settings=application.apply_settings,
        send_test=SendTest(store.captures, refused, application.bus, application.addresses).send,
        about=About(
            application.folder,
            store=store,
            refused=refused,
            settings=application.current_settings,
            addresses=application.addresses,
            troubles=application.troubles,
            uptime_s=application.uptime_s,
        ),
        autostart=autostart_for(application.folder if application.folder != usual_folder() else None),
        data_folder=application.folder,
        version=__version__,
    )
