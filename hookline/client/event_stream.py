"""Reads Server-Sent Events of bytes, however they are split."""

from __future__ import annotations

from typing import NamedTuple


class ServerEvent(NamedTuple):
    """`id` is that of the last event that had one, `data` its JSON."""

    id: str
    type: str
    data: bytes


class EventParser:
    """Reads one stream after the other. `last_id` continues after what was read."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self._rest = b""
        self._fields: dict[bytes, bytes] = {}

    def feed(self, data: bytes) -> list[ServerEvent]:
        """The events that are now complete."""
        # Only line feeds end a line: JSON may contain what str.splitlines takes for one, such as U+2028.
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [event for line in lines if (event := self._line(line)) is not None]

    def restart(self) -> None:
        """Another stream begins."""
        self._rest = b""
        self._fields = {}

    def _line(self, line: bytes) -> ServerEvent | None:
        if line:
            name, _, value = line.partition(b": ")
            self._fields[name] = value
            return None
        fields, self._fields = self._fields, {}
        self.last_id = fields.get(b"id", self.last_id.encode()).decode()
        if b"data" not in fields:  # a comment
            return None
        return ServerEvent(self.last_id, fields.get(b"event", b"").decode(), fields[b"data"])
