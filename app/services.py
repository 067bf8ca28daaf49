"""What the window is handed of a running application."""

from __future__ import annotations

from functools import partial

from app import __version__
from app.about import About
from app.application import Application
from app.cli.options import usual_folder
from app.send_test import send_test
from app.system.autostart.autostart import autostart_for
from app.ui.services import Services


def services_of(application: Application) -> Services:
    """`application` must be open."""
    store = application.store

    def listening() -> str | None:
        address = application.listening
        if address is None:
            return None
        host, port = address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    return Services(
        endpoints=store.endpoints,
        captures=store.captures,
        activity=store.activity,
        senders=store.senders,
        deliveries=store.deliveries,
        account=store.account,
        retention=store.retention,
        limits=store.limits,
        refused=application.refused,
        bus=application.bus,
        capture_url=application.capture_url,
        providers=application.catalogue.names,
        provider_marks=application.catalogue.marks,
        own_bases=application.own_bases,
        listening=listening,
        settings=lambda: application.settings,
        apply_settings=application.apply_settings,
        send_test=partial(send_test, application),
        about=About(application),
        autostart=autostart_for(application.folder if application.folder != usual_folder() else None),
        data_folder=application.folder,
        version=__version__,
    )
