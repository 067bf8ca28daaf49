"""The keys that are no commands of the book: each says where it works, what it does, and what to press."""

from __future__ import annotations

from app.core.model import Record
from app.ui.commands.book import Group


class Unnamed(Record, frozen=True):
    """`keys` are ways to press it, as QKeySequence reads them. `span` says that all keys between them do it too."""

    group: Group
    text: str
    keys: tuple[str, ...]
    span: bool = False


UNNAMED = (
    Unnamed(group=Group.LIST, text="Next request", keys=("J", "Down")),
    Unnamed(group=Group.LIST, text="Previous request", keys=("K", "Up")),
    Unnamed(group=Group.LIST, text="Oldest request", keys=("End",)),
    Unnamed(group=Group.LIST, text="Back to the list, then show all", keys=("Esc",)),
    Unnamed(group=Group.REQUEST, text="Decode the value at the cursor", keys=("Ctrl+E",)),
    Unnamed(group=Group.GO_TO, text="Endpoint 1 to 9", keys=("Ctrl+1", "Ctrl+9"), span=True),
    Unnamed(group=Group.ENDPOINT, text="Move the endpoint in the sidebar", keys=("Alt+Up", "Alt+Down")),
    Unnamed(group=Group.ENDPOINT, text="To the endpoint's switch in the sidebar", keys=("Left",)),
    Unnamed(group=Group.ENDPOINT, text="Edit the endpoint in the sidebar", keys=("F2",)),
)
"""Those of the list are handled in `ui/requests/view.py` and `endpoint_page.py`, the numbers in `ui/frame/keys.py`,
those of the sidebar in `ui/frame/endpoint_row.py`, decoding in `ui/detail/value_decoder.py`."""
