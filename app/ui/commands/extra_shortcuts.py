"""Keys that are no commands, for the shortcuts dialog: each with the group it is listed in, and what it does."""

from __future__ import annotations

from app.core.model import Record
from app.ui.commands.command import CommandGroup


class ExtraShortcut(Record, frozen=True):
    """Each of `keys` does it, as QKeySequence reads them; with `span` also all keys between them."""

    group: CommandGroup
    text: str
    keys: tuple[str, ...]
    span: bool = False


EXTRA_SHORTCUTS = (
    ExtraShortcut(group=CommandGroup.LIST, text="Next request", keys=("J", "Down")),
    ExtraShortcut(group=CommandGroup.LIST, text="Previous request", keys=("K", "Up")),
    ExtraShortcut(group=CommandGroup.LIST, text="Oldest request", keys=("End",)),
    ExtraShortcut(group=CommandGroup.LIST, text="Back to the list, then clear its filter", keys=("Esc",)),
    ExtraShortcut(group=CommandGroup.REQUEST, text="Decode the value at the cursor", keys=("Ctrl+E",)),
    ExtraShortcut(group=CommandGroup.GO_TO, text="Endpoint 1 to 9", keys=("Ctrl+1", "Ctrl+9"), span=True),
    ExtraShortcut(group=CommandGroup.ENDPOINT, text="Move the endpoint in the sidebar", keys=("Alt+Up", "Alt+Down")),
    ExtraShortcut(group=CommandGroup.ENDPOINT, text="Go to the endpoint’s switch in the sidebar", keys=("Left",)),
    ExtraShortcut(group=CommandGroup.ENDPOINT, text="Edit the endpoint in the sidebar", keys=("F2",)),
)
"""The list's keys are handled in `ui/requests/list/view.py` and `ui/requests/page/requests_page.py`, the numbers in
`ui/shell/window_commands.py`, the sidebar's in `ui/shell/endpoint_row.py`, decoding in
`ui/request/body/value_decoder.py`."""
