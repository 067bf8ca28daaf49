"""Which targets of an endpoint are compared, and what is ignored; stored by slug in `window.ini` in the data folder.

Per endpoint, not per pair: what differs between two responses of the same program (IDs, times) is the same whichever of
its versions are compared. Not in the database: scripts name what they ignore in their own call, so that their result
does not change with what somebody clicked.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec
from PySide6.QtCore import QSettings

from app.core.comparison.response_comparison import IGNORED_HEADERS, IgnoredFields
from app.core.model import Endpoint
from app.core.record import Record
from hookline.decoding import decode_json


class ComparisonChoice(Record, frozen=True):
    """The IDs of the targets, and what may differ."""

    first: int
    second: int
    ignored: IgnoredFields = IgnoredFields()


def compare_command(endpoint: Endpoint, choice: ComparisonChoice) -> str:
    """The same comparison as a shell command."""
    ignored = choice.ignored
    usual = set(IGNORED_HEADERS) <= set(ignored.headers)
    names = [name for name in ignored.headers if not (usual and name in IGNORED_HEADERS)]
    words = ["hookline", "compare", endpoint.slug, str(choice.first), str(choice.second)]
    words += [] if usual else ["--all-headers"]
    words += [word for name in names for word in ("--ignore-header", name)]
    words += [word for path in ignored.json_paths for word in ("--ignore-path", path)]
    return shlex.join(words)


class ComparisonChoices:
    """The stored choices."""

    def __init__(self, folder: Path) -> None:
        self._file = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)

    def of(self, endpoint: Endpoint) -> ComparisonChoice:
        """The endpoint's choice; its first two targets if it has none, or if one of those targets was deleted."""
        usual = ComparisonChoice(first=endpoint.targets[0].id, second=endpoint.targets[1].id)
        try:
            stored = decode_json(str(self._file.value(_key(endpoint), "")), ComparisonChoice)
        except msgspec.DecodeError:
            return usual
        ids = {target.id for target in endpoint.targets}
        if stored.first == stored.second or not {stored.first, stored.second} <= ids:
            return msgspec.structs.replace(usual, ignored=stored.ignored)
        return stored

    def save(self, endpoint: Endpoint, choice: ComparisonChoice) -> None:
        self._file.setValue(_key(endpoint), msgspec.json.encode(choice).decode())


def _key(endpoint: Endpoint) -> str:
    return f"comparison/{endpoint.slug}"
