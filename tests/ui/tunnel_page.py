"""The tunnel's page in a shown window, and what a user does on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from PySide6.QtTest import QTest

from app.core.tunnel_program import FoundProgram
from app.ui.shell.sidebar import TUNNEL
from app.ui.tunnel.page import TunnelPage
from app.ui.tunnel.programs_view import OptionField, ProgramPane
from tests.ui.desk import Desk, open_desk
from tests.ui.tunnels import FakeTunnels
from tests.ui.waiting import activate, settle, until


@asynccontextmanager
async def page_of(folder: Path, *programs: FoundProgram) -> AsyncIterator[tuple[Desk, TunnelPage]]:
    """Once its programs are listed: these, or two without options."""
    async with open_desk(folder, endpoints=1) as desk:
        if programs:
            desk.tunnels.found = list(programs)
        window = desk.window()
        window.show()
        await activate(window)
        window.show_page(TUNNEL)
        page = window.tunnel_page
        await until(page.programs.list.rows.rowCount)
        try:
            yield desk, page
        finally:
            window.close()
            await desk.tasks.cancel_all()
            window.deleteLater()
            await settle()


def pane_of(page: TunnelPage, program_id: str) -> ProgramPane:
    """The pane of a program, selected."""
    assert page.programs.list.select(program_id)
    return page.programs.panes[program_id]


def field_of(page: TunnelPage, program_id: str, name: str) -> OptionField:
    return pane_of(page, program_id).form.fields[name]


def type_into(field: OptionField, text: str) -> None:
    """Replace its text by typing."""
    field.editor.selectAll()
    QTest.keyClicks(field.editor, text)


def called(tunnels: FakeTunnels, *names: str) -> list[tuple[object, ...]]:
    """The calls of these names, in order."""
    return [call for call in tunnels.calls if call[0] in names]
