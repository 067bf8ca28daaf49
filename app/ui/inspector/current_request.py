"""Keeps the open request up to date with changes made since it was opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal, Slot

from app.core.events import Bus, RequestNoted, RequestsChanged, RequestsStarred, Subscriptions
from app.core.model import Summary
from app.ui.inspector.request_pane import RequestPane


class CurrentRequest(QObject):
    """`summary` is the request that `detail` shows, None if there is none; its note is shown below the header."""

    changed = Signal()

    def __init__(self, detail: RequestPane, bus: Bus, parent: QObject) -> None:
        super().__init__(parent)
        self.summary: Summary | None = None
        self._detail = detail
        detail.was_deleted.connect(self._deleted)
        detail.opened.connect(self._opened)
        detail.closed.connect(self._closed)
        self._subscriptions = Subscriptions(bus)
        self._subscriptions.add(RequestsChanged, self._read_changed)
        self._subscriptions.add(RequestsStarred, self._starred)
        self._subscriptions.add(RequestNoted, self._noted)

    @property
    def deleted(self) -> str:
        """Why it is no longer stored; empty while it is."""
        return self._detail.deleted

    def stop(self) -> None:
        """Unsubscribe from the bus."""
        self._subscriptions.end()

    @Slot()
    def _opened(self) -> None:
        capture = self._detail.capture
        self._set_summary(capture.summary() if capture else None)

    @Slot()
    def _deleted(self) -> None:
        self._detail.header.note.keep_unsaved(self._detail.deleted)
        self.changed.emit()

    @Slot()
    def _closed(self) -> None:
        self._set_summary(None)

    def _read_changed(self, event: RequestsChanged) -> None:
        current = self.summary
        if event.ids is not None:
            self._change(event.ids, read=event.read)
        elif current is not None and event.has(current):
            self._set_summary(replace(current, read=event.read))

    def _starred(self, event: RequestsStarred) -> None:
        self._change(event.ids, starred=event.starred, starred_by=event.by)

    def _noted(self, event: RequestNoted) -> None:
        self._change((event.id,), note=event.note, noted_by=event.by)

    def _change(self, ids: Sequence[str], **fields: Any) -> None:
        if self.summary is not None and self.summary.id in ids:
            self._set_summary(replace(self.summary, **fields))

    def _set_summary(self, summary: Summary | None) -> None:
        if summary != self.summary:
            self.summary = summary
            self._detail.header.note.show_note(
                *((summary.id, summary.note, summary.noted_by) if summary else (None, None, None))
            )
            self._detail.header.note.keep_unsaved(self._detail.deleted)
            self.changed.emit()
