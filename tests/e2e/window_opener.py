"""Runs the real window with its form and its settings open: `window_opener.py FOLDER`, until SIGTERM.

Prints a JSON line when they are shown, with a request opened behind them.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from app.cli.options import WindowOptions
from app.gui import Ready, run_window
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.settings.dialog import SettingsDialog
from tests import factories
from tests.e2e.senders import post
from tests.support import until


async def show(ready: Ready) -> None:
    """An endpoint with a request that is open, the form of that endpoint, and the settings."""
    window = ready.window
    endpoint = await ready.application.store.endpoints.create(factories.draft(name="Orders", slug="orders"))
    url = f"{ready.application.addresses.local_base()}/catch/orders/paid?attempt=2"
    await asyncio.to_thread(post, url, b'{"id": 1, "type": "invoice.paid"}', "Content-Type: application/json")
    window.show_endpoint(endpoint.id)
    page = window.requests
    await until(page.feed.model.rowCount)
    page.open_request(page.feed.model.summary(0).id)
    await until(lambda: page.detail.capture)
    window.endpoint_actions.edit(endpoint)
    window.dialogs.open_settings()
    form, settings = window.findChildren(EndpointDialog)[0], window.findChildren(SettingsDialog)[0]
    await until(lambda: form.isVisible() and settings.isVisible())
    form.form.more_button.setChecked(True)
    print(json.dumps({"shown": endpoint.slug}), flush=True)


def main() -> int:
    """The window's exit code."""
    tasks: list[asyncio.Task[None]] = []

    def ready(told: Ready) -> None:
        tasks.append(asyncio.get_running_loop().create_task(show(told)))

    return run_window(WindowOptions(data_dir=Path(sys.argv[1]), port=0, api_port=0), ready)


if __name__ == "__main__":
    sys.exit(main())
