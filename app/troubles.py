"""What is wrong at the moment, for whoever asks later: a window that opens, the API, diagnostics."""

from __future__ import annotations

import logging

from app.core.events import Bus, DatabaseDamaged, FileTrouble, StorageTrouble

log = logging.getLogger(__name__)


class Troubles:
    """Each is a reason in words, None where nothing is wrong. `storage`: nothing can be stored; `file`: the file by
    which commands find this process cannot be written; `damage`: the database is damaged."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.storage: str | None = None
        self.file: str | None = None
        self.damage: str | None = None
        bus.subscribe(StorageTrouble, self._storage_changed)
        bus.subscribe(DatabaseDamaged, self._damaged)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those with which requests are still stored."""
        return tuple(filter(None, (self.file, self.damage)))

    def report_file(self, trouble: str | None, works_again: str) -> None:
        """Publish and log a change; `works_again` is what the log says when it is over."""
        if trouble == self.file:
            return
        self.file = trouble
        log.warning("%s", trouble or works_again)
        self._bus.publish(FileTrouble(reason=trouble))

    def repeat(self) -> None:
        """Publish the current ones again, for a window that opened after they began."""
        self._bus.publish(StorageTrouble(reason=self.storage))
        self._bus.publish(FileTrouble(reason=self.file))
        if self.damage is not None:
            self._bus.publish(DatabaseDamaged(reason=self.damage))

    def _storage_changed(self, event: StorageTrouble) -> None:
        self.storage = event.reason

    def _damaged(self, event: DatabaseDamaged) -> None:
        self.damage = event.reason
