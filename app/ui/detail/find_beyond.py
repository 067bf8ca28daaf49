"""Goes on looking where what is shown of a body ends: loads on as far as the view goes, then looks in the bytes."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, Slot

from app.core.bodies.far_search import FarSearch
from app.core.wording import size_text
from app.ui.detail.body_loader import BodyLoader
from app.ui.detail.code_view import SHOWN_MAX, CodeView
from app.ui.detail.find_bar import FindBar
from app.ui.detail.hex_widget import HexWidget
from app.ui.detail.latest import Latest
from app.ui.tasks import Tasks

READ = 1024 * 1024
"""Bytes of the body that are read at once."""
OVERLAP = 8 * 1024
"""Bytes before the end of what was read that are looked through again: they may not be shown yet."""


class FindBeyond(QObject):
    """`bar` asks for it. To be made after the bar itself hears of what `loader` loads."""

    def __init__(self, bar: FindBar, code: CodeView, hexes: HexWidget, loader: BodyLoader, tasks: Tasks) -> None:
        super().__init__(bar)
        self._bar, self._code, self._hex, self._loader = bar, code, hexes, loader
        self._latest = Latest(tasks, "body: find")
        self._looking = False
        self._known = 0
        self._found: int | None = None
        self._go_to: int | None = None
        bar.beyond.connect(self._go_on)
        bar.stop_asked.connect(self.stop)
        bar.hex.clicked.connect(self._open_hex)
        loader.begun.connect(self._begun)
        loader.continued.connect(self._continued)
        loader.failed.connect(self._failed)

    @Slot()
    def stop(self) -> None:
        """Look no further; the next time begins where the view ends."""
        self._latest.stop()
        self._looking, self._found, self._go_to = False, None, None
        self._bar.looking = False

    @Slot()
    def _go_on(self) -> None:
        if not self._looking and self._loader.reader is not None:
            self._looking, self._known = True, self._bar.found()
            self._tell(self._loader.read_bytes)
            if not self._loader.loading:
                self._step()

    def _step(self) -> None:
        reader = self._loader.reader
        if reader is None or reader.done:
            self._end()
        elif self._found is None and (self._code.length() < SHOWN_MAX or reader.behind):
            self._tell(self._loader.read_bytes)
            self._loader.more()
        else:
            self._latest.run(self._look)

    @Slot(object)
    def _continued(self, lines: object) -> None:
        """More is shown: what is wanted may be there."""
        if not self._looking:
            return
        if self._bar.found() > self._known:
            self._looking = self._bar.looking = False
            self._bar.show_place(self._known)
        else:
            self._step()

    async def _look(self) -> None:
        try:
            await self._look_through()
        except Exception:
            if not self._latest.superseded:
                self._failed()
            raise

    async def _look_through(self) -> None:
        source, reader = self._loader.source, self._loader.reader
        if source is None or reader is None:
            return
        begin = max(0, reader.unpacked - OVERLAP) if self._found is None else self._found + 1
        search = FarSearch(reader.codings, reader.charset, self._bar.field.text(), begin, self._bar.written)
        offset = 0 if reader.codings else begin
        loop = asyncio.get_running_loop()
        while offset < source.size and search.possible:
            data = await source.read(offset, READ)
            offset += len(data)
            search.feed(data)
            while not (search.hungry or self._latest.superseded):
                found = await loop.run_in_executor(None, search.look)
                if found is not None and not self._latest.superseded:
                    self._tell_found(found, packed=bool(reader.codings))
                    return
            if self._latest.superseded:
                return
            if not data:
                break
            self._tell(offset)
        self._end()

    def _tell(self, read: int) -> None:
        source = self._loader.source
        if source is not None:
            self._bar.looking = True
            self._bar.tell(f"Looking… {size_text(read)} of {size_text(source.size)}")

    def _tell_found(self, found: int, *, packed: bool) -> None:
        self._looking = self._bar.looking = False
        self._found = found
        place = f"At byte {found:,}"
        self._bar.tell(f"{place} once unpacked, not shown" if packed else place, to_hex=not packed)

    def _end(self) -> None:
        self._looking = self._bar.looking = False
        was, self._found = self._found, None
        self._bar.end_reached(further=was is not None)

    @Slot()
    def _failed(self) -> None:
        """The error bar gives the reason, unless the request was deleted; Enter tries again."""
        self._go_to = None
        if self._looking:
            self._looking = self._bar.looking = False
            self._bar.tell("The rest could not be read")

    @Slot()
    def _open_hex(self) -> None:
        """Once, for this place: the view chosen for bodies of this type stays."""
        source, found = self._loader.source, self._found
        if source is not None and found is not None:
            self._go_to = found
            self._loader.start(source, "hex")

    @Slot(object, object)
    def _begun(self, reader: object, lines: object) -> None:
        found, length = self._go_to, len(self._bar.field.text().encode())
        self.stop()
        if found is not None:
            self._bar.hide()
            self._hex.go_to(found, length)
