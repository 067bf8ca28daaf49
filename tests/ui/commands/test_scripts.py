"""Whatever the window can do, a script can do: each command of the window has a call of the API and a command of the
command line, or a reason why neither is needed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import pytest

from app.cli.parser import build_parser
from app.ui.commands.command import Command
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import REFUSED
from tests.ui.desk import shown

DOCUMENT = Path(__file__).parents[3] / "resources" / "openapi.json"


class Script(NamedTuple):
    """Method and path as in the API's table; the words of the command, without what it is applied to."""

    call: str
    command: str


REQUEST, ENDPOINT = "/requests/{id}", "/endpoints/{slug}"
SCRIPTS = {
    # Requests
    "Open": Script(f"GET {REQUEST}", "show"),
    "Replay": Script(f"POST {REQUEST}/replay", "replay"),
    "Edit and replay…": Script(f"POST {REQUEST}/replay", "replay --method --header --body"),
    "Replay many…": Script("POST /replays", "replay --endpoint -q --rate --gaps"),
    "Copy as curl": Script(f"GET {REQUEST}", "show --curl"),
    "Star": Script(f"PATCH {REQUEST}", "mark --star --unstar"),
    "Add note…": Script(f"PATCH {REQUEST}", "mark --note --no-note"),
    "Mark as read": Script(f"PATCH {REQUEST}", "mark --read"),
    "Mark as unread": Script(f"PATCH {REQUEST}", "mark --unread"),
    "Delete": Script(f"DELETE {REQUEST}", "rm"),
    "Save body as…": Script(f"GET {REQUEST}/body", "show --body"),
    "Filter": Script("GET /requests", "requests -q"),
    "All requests": Script("GET /requests", "requests"),
    # Endpoints
    "Dashboard": Script("GET /endpoints", "endpoint list"),
    "New endpoint": Script("POST /endpoints", "endpoint add"),
    "Create endpoint with this slug…": Script("POST /endpoints", "endpoint add --slug"),
    "Edit endpoint…": Script(f"PATCH {ENDPOINT}", "endpoint edit"),
    "Switch endpoint off": Script(f"PATCH {ENDPOINT}", "endpoint off"),
    "Move endpoint up": Script(f"PATCH {ENDPOINT}", "endpoint edit --position"),
    "Move endpoint down": Script(f"PATCH {ENDPOINT}", "endpoint edit --position"),
    "Delete endpoint…": Script(f"DELETE {ENDPOINT}", "endpoint rm"),
    "Copy endpoint URL": Script(f"GET {ENDPOINT}", "endpoint show"),
    "Mark all as read": Script(f"POST {ENDPOINT}/read", "mark --endpoint --read"),
    "Delete all requests…": Script(f"DELETE {ENDPOINT}/requests", "clear --keep-starred --keep-noted"),
    # Targets and deliveries
    "Edit targets…": Script(f"PATCH {ENDPOINT}/targets/{{id}}", "target edit"),
    "Pause forwarding": Script(f"POST {ENDPOINT}/targets/{{id}}/pause", "target pause"),
    "Resume forwarding": Script(f"POST {ENDPOINT}/targets/{{id}}/resume", "target resume"),
    "Compare targets…": Script(f"GET {ENDPOINT}/compare", "compare"),
    "Deliveries": Script("GET /deliveries", "deliveries"),
    "Send now": Script("POST /deliveries/{id}/send-now", "send-now"),
    "Retry": Script("POST /deliveries/{id}/retry", "retry"),
    "Retry all failed deliveries…": Script("POST /deliveries/retry", "retry --all"),
    # The tunnel
    "Tunnel": Script("GET /tunnel", "tunnel status"),
    "Start tunnel": Script("POST /tunnel/start", "tunnel start --set"),
    "Stop tunnel": Script("POST /tunnel/stop", "tunnel stop"),
    "Check tunnel": Script("POST /tunnel/probe", "tunnel probe"),
    # Replays
    "Replays": Script("GET /replays", "replays"),
    "Pause replay": Script("POST /replays/{id}/pause", "replays --pause"),
    "Cancel replay": Script("POST /replays/{id}/cancel", "replays --cancel"),
    "Repeat replay": Script("POST /replays", "replay --endpoint --before --seed"),
    "Repeat replay with changes…": Script("POST /replays", "replay --endpoint --before --seed"),
    "Replay failed requests…": Script("POST /replays", "replay"),
    # Refused requests
    "Refused requests": Script("GET /refused", "refused"),
    "Show as received": Script("GET /refused/{id}/raw", "refused --raw"),
    # The program
    "Settings": Script("PATCH /settings", "settings"),
    "Open team store…": Script("PATCH /settings", "settings"),
    "Use my own store": Script("PATCH /settings", "settings"),
    "Stop capturing on this machine": Script("PATCH /settings", "settings"),
    "Back up…": Script("POST /backup", "backup"),
    "Copy diagnostics": Script("GET /status", "doctor"),
    "About Hookline": Script("GET /status", "version"),
}
"""By the commands' names in a window with one endpoint and no requests."""

CLIPBOARD = "Copies a value that the API and the command line return."
VIEW = "Changes only how the window shows a body."
FIND = "Searches only in the body that is shown."
SELECTION = "Selects rows for other commands; scripts name what they mean."
FOCUS = "Only moves to another place in the window."
NOTIFY = "Notifications are shown by the window; scripts use `wait`."
LOOK = "How the window looks; it is no setting of a script."
REASONS = {
    "Back to list": FOCUS,
    "Open in new window": "Opens the same request in another window.",
    "Open request": "Shows the request of a delivery; scripts have its ID in the delivery.",
    "Open endpoint": FOCUS,
    "Show the request’s menu": FOCUS,
    "Copy link": "A link opens the window; scripts build hookline://request/ID from the ID.",
    "Copy link to endpoint": "A link opens the window; scripts build hookline://endpoint/SLUG from the slug.",
    "Copy sample curl command": "A request to the endpoint's URL; `endpoint show` returns the URL.",
    "Send test request": "A script sends any request to the endpoint's URL, which `endpoint show` returns.",
    "Show QR code": "Shows the endpoint's URL to a camera; `endpoint show` returns the URL.",
    "Copy target": CLIPBOARD,
    "Copy target URL": CLIPBOARD,
    "Copy source address": CLIPBOARD,
    "Copy row": CLIPBOARD,
    "Find in body": FIND,
    "Next match in body": FIND,
    "Previous match in body": FIND,
    "Fold in body": VIEW,
    "Unfold in body": VIEW,
    "Fold all in body": VIEW,
    "Unfold all in body": VIEW,
    "Zoom in": VIEW,
    "Zoom out": VIEW,
    "Reset zoom": VIEW,
    "Wrap long lines": VIEW,
    "Go to newest": FOCUS,
    "Pause list": "Only the list stands still; Hookline keeps capturing.",
    "Compare two requests": "Shows them beside each other; `show --json` returns each, for a script to compare.",
    "Select all": SELECTION,
    "Select all, loaded or not": SELECTION,
    "Clear selection": SELECTION,
    "Hide activity chart": LOOK,
    "Undo delete": "The API and the command line delete at once, so there is nothing to undo.",
    "Next endpoint": FOCUS,
    "Previous endpoint": FOCUS,
    "Endpoint 1 to 9": FOCUS,
    "Command palette": FOCUS,
    "Keyboard shortcuts": "Shows the keys of the window.",
    "Notify: off": NOTIFY,
    "Notify: while Hookline is in the background": NOTIFY,
    "Notify: always": NOTIFY,
    "Theme: light": LOOK,
    "Theme: dark": LOOK,
    "Theme: match system": LOOK,
    "Restore a backup…": "Replaces the store that answers a script; `restore` does it while Hookline is not running.",
    "Quit Hookline": "A script that started Hookline ends it with SIGTERM.",
}
"""Why a command needs neither: a sentence."""


def names(window: MainWindow) -> set[str]:
    """Of all commands, on every page and in every menu, each series as one."""
    registry = window.commands.registry
    numbered = {id(one) for series in registry.series for one in series.commands}
    commands = [*registry.all(), *window.findChildren(Command)]
    single = {one.name.partition("\t")[0] for one in commands if id(one) not in numbered}
    return single | {series.text for series in registry.series}


async def test_every_command_can_be_scripted_or_has_a_reason(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (_, window):
        window.show_page(REFUSED)  # its commands are made with it
        there = names(window)
        missing = there - set(SCRIPTS) - set(REASONS)
        assert not missing, f"name a call and a command, or a reason, for {sorted(missing)}"
        assert set(SCRIPTS) | set(REASONS) == there


def test_no_command_has_both() -> None:
    assert not set(SCRIPTS) & set(REASONS)
    assert all(reason.endswith(".") and " " in reason for reason in REASONS.values())


def test_the_calls_are_in_the_api() -> None:
    paths = json.loads(DOCUMENT.read_text("utf-8"))["paths"]
    calls = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert {script.call for script in SCRIPTS.values()} <= calls


@pytest.mark.parametrize("command", sorted({script.command for script in SCRIPTS.values()}))
def test_the_commands_are_in_the_command_line(command: str) -> None:
    parser: argparse.ArgumentParser = build_parser()
    for word in command.split():
        if word.startswith("-"):
            assert word in parser._option_string_actions
        else:
            parser = next(one.choices for one in parser._actions if isinstance(one, argparse._SubParsersAction))[word]
